//! kill -9 in the middle of an extraction: another worker finishes it.

use std::{fs::File, io::Read as _, os::unix::fs::PermissionsExt as _, process::Command};

use crate::house::{House, example};

/// Stands in for tesseract: says through a pipe that the page is being read, then reads for ever (until its
/// worker is dead). Questions about languages go to the real one.
const NEVER_DONE: &str = "#!/bin/sh
case \"$*\" in *--list-langs*|*--version*) exec tesseract \"$@\";; esac
echo reading > \"$PIPE\"
exec tail --pid=$PPID -f /dev/null
";

#[test]
fn an_extraction_whose_worker_is_killed_is_finished_by_another() {
    let mut house = House::new();
    let pipe = house.folder().join("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let script = house.folder().join("never-done");
    std::fs::write(&script, NEVER_DONE).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let victim = house.start(
        "worker",
        &[
            ("FLYDOCS_TESSERACT_PATH", script.to_str().unwrap()),
            ("PIPE", pipe.to_str().unwrap()),
        ],
    );
    let submitted = house.ask(&[
        "submit",
        &example("receipt.png"),
        "--types",
        &example("receipt.types.json"),
    ]);
    let id = submitted["id"].as_str().unwrap();

    // Opening the pipe returns when the victim is in the middle of the page.
    let mut said = String::new();
    File::open(&pipe)
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    assert_eq!(said.trim(), "reading");
    assert_eq!(house.ask(&["get", id])["status"], "running");
    house.start("worker", &[]);
    house.kill(victim);

    house.ask(&["wait", id]);
    let extraction = house.ask(&["get", id]);
    assert_eq!(extraction["status"], "succeeded", "{extraction}");
    assert_eq!(extraction["attempts"], 2, "{extraction}");
}
