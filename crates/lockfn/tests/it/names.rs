//! Names: no collisions, always valid file names, the same in every release.

use std::collections::HashMap;

use lockfn::{LockError, lock_file_name, lock_function};
use proptest::prelude::*;

use crate::calls;

proptest! {
    #[test]
    fn two_identities_never_share_a_file(
        one in (".{0,300}", proptest::option::of(".{0,300}")),
        two in (".{0,300}", proptest::option::of(".{0,300}")),
    ) {
        let name = |(name, key): &(String, Option<String>)| lock_file_name(name, key.as_deref());
        prop_assert_eq!(one == two, name(&one) == name(&two));
    }

    #[test]
    fn moving_text_between_name_and_key_changes_the_file(text in "[a-c@:\0/.-]{1,6}") {
        let mut seen = HashMap::new();
        for (cut, _) in text.char_indices() {
            let (name, key) = text.split_at(cut);
            seen.insert(lock_file_name(name, Some(key)), cut);
        }
        seen.insert(lock_file_name(&text, None), text.len());
        seen.insert(lock_file_name(&text, Some("")), text.len() + 1);
        prop_assert_eq!(seen.len(), text.chars().count() + 2);
    }

    #[test]
    fn any_name_and_key_make_a_harmless_file_name(name in "(?s).*", key in "(?s).*") {
        for file in [lock_file_name(&name, None), lock_file_name(&name, Some(&key))] {
            prop_assert!(file.len() < 200, "{}", file);
            prop_assert!(file.strip_suffix(".lock").is_some() && !file.starts_with(['.', '-']));
            let harmless = |c: char| c.is_ascii_alphanumeric() || "._-@".contains(c);
            prop_assert!(file.chars().all(harmless), "{}", file);
        }
    }
}

#[test]
fn file_names_are_the_same_in_every_release() {
    // Changing one of these splits old and new releases: they would not exclude each other.
    for (name, key, file) in [
        ("demo", None, DEMO),
        ("app::cache::refresh", None, REFRESH),
        ("app::bill", Some("../../etc/passwd\0"), BILL),
    ] {
        assert_eq!(lock_file_name(name, key), file);
    }
}

const DEMO: &str = "demo-176b07668cd43adcdc30d7b0bcc9c523.lock";
const REFRESH: &str = "app.cache.refresh-d85eb2c2f5f4e72a3b7d331e7349e697.lock";
const BILL: &str = "app.bill@..-..-etc-passwd--d47ad968e75ad8585c752f2808913c35.lock";

type R = Result<String, LockError>;

#[expect(clippy::unnecessary_wraps, reason = "what the functions return")]
fn own_name() -> R {
    Ok(lockfn::current().unwrap().name)
}

struct A;
struct B;
struct G<T>(T);
struct N<const SIZE: usize>;
trait Job {
    fn run(&self) -> R;
    #[lock_function(mode = "wait")]
    fn by_default(&self) -> R {
        own_name()
    }
}
impl A {
    #[lock_function(mode = "wait")]
    fn run(&self) -> R {
        own_name()
    }
}
impl B {
    #[lock_function(mode = "wait")]
    fn run(&self) -> R {
        own_name()
    }
}
impl<T: Clone> G<T> {
    #[lock_function(mode = "wait")]
    fn run(&self) -> Result<(String, T), LockError> {
        Ok((own_name()?, self.0.clone()))
    }
}
impl G<u8> {
    #[lock_function(mode = "wait")]
    fn only(&self) -> R {
        own_name()
    }
}
impl G<u16> {
    #[lock_function(mode = "wait")]
    fn only(&self) -> R {
        own_name()
    }
}
impl<const SIZE: usize> N<SIZE> {
    #[lock_function(mode = "wait")]
    fn run() -> R {
        own_name()
    }
}
impl Job for Vec<u8> {
    #[lock_function(mode = "wait")]
    fn run(&self) -> R {
        own_name()
    }
}
impl Job for Vec<u16> {
    #[lock_function(mode = "wait")]
    fn run(&self) -> R {
        own_name()
    }
}
impl Job for &str {
    #[lock_function(mode = "wait")]
    fn run(&self) -> R {
        own_name()
    }
}
mod inner {
    use super::{LockError, R, lock_function, own_name};
    #[lock_function(mode = "wait")]
    pub(crate) fn run() -> R {
        own_name()
    }
    impl super::G<i8> {
        #[lock_function(mode = "wait")]
        pub(crate) fn elsewhere(&self) -> R {
            own_name()
        }
    }
    #[lock_function(mode = "wait")]
    pub(crate) async fn in_task() -> Result<String, LockError> {
        own_name()
    }
}

#[test]
fn every_function_has_a_name_of_its_own_and_it_does_not_change() {
    fn one() -> R {
        #[lock_function(mode = "wait")]
        fn nested() -> R {
            own_name()
        }
        nested()
    }
    fn two() -> R {
        #[lock_function(mode = "wait")]
        fn nested() -> R {
            own_name()
        }
        nested()
    }
    calls::locks();
    let names = [
        (A.run(), "it::names::A::run"),
        (B.run(), "it::names::B::run"),
        (G(1_u8).only(), "it::names::G<u8>::only"),
        (G(1_u16).only(), "it::names::G<u16>::only"),
        (
            G(1_i8).elsewhere(),
            "it::names::inner::<impl it::names::G<i8>>::elsewhere",
        ),
        (
            vec![1_u8].run(),
            "<alloc::vec::Vec<u8> as it::names::Job>::run",
        ),
        (
            vec![1_u16].run(),
            "<alloc::vec::Vec<u16> as it::names::Job>::run",
        ),
        ("x".run(), "<&str as it::names::Job>::run"),
        (vec![1_u8].by_default(), "it::names::Job::by_default"),
        (inner::run(), "it::names::inner::run"),
        (
            crate::actor::futures_lite(inner::in_task()),
            "it::names::inner::in_task",
        ),
        (
            one(),
            "it::names::every_function_has_a_name_of_its_own_and_it_does_not_change::one::nested",
        ),
        (
            two(),
            "it::names::every_function_has_a_name_of_its_own_and_it_does_not_change::two::nested",
        ),
    ];
    for (name, expected) in names {
        assert_eq!(name.unwrap(), expected);
    }
    // All instances of a generic are one function, and so one lock.
    assert_eq!(G(1).run().unwrap().0, G("x").run().unwrap().0);
    assert_eq!(N::<1>::run().unwrap(), N::<2>::run().unwrap());
}
