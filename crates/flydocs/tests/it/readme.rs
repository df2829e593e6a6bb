//! The README shows what its first command prints.

use std::path::Path;

use crate::desk::Desk;

/// Where the README leaves out rows.
const SHORTENED: &str = "          ... 19 more rows (shortened here) ...";

#[test]
fn the_readme_shows_what_the_first_command_prints() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let (_, after) = readme
        .split_once("What the first one prints:\n\n```\n")
        .unwrap();
    let (shown, _) = after.split_once("\n```").unwrap();
    let desk = Desk::new();
    let output = desk
        .command()
        .current_dir(&root)
        .args(["extract", "examples/invoice.pdf"])
        .args(["--types", "examples/invoice.types.json"])
        .output()
        .unwrap();
    let printed =
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();

    let (head, tail) = shown.split_once(SHORTENED).unwrap();
    // The last line ends with the time it took.
    let (tail, took) = tail.trim_start_matches('\n').rsplit_once(" · ").unwrap();
    assert!(took.ends_with(" s"), "{took}");
    assert!(
        printed.starts_with(head),
        "the README shows\n{head}\nand printed is\n{printed}"
    );
    assert!(
        printed.contains(tail),
        "the README shows\n{tail}\nand printed is\n{printed}"
    );
}
