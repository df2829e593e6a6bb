//! Misuse is a compile error, in a sentence.

#[test]
fn misuse_does_not_compile_and_says_why() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    cases.compile_fail("tests/ui/fail/*.rs");
}
