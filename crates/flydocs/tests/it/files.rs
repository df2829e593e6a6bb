//! Files without an end, and places where nothing can be written.

use std::os::unix::fs::symlink;

use crate::{
    desk::{Desk, Run},
    paper,
};

/// A gibibyte of memory, however much the machine has.
const LITTLE_MEMORY: &str = "ulimit -d 1048576; exec \"$0\" \"$@\"";

fn with_little_memory(desk: &Desk, args: &[&str]) -> Run {
    let binary = assert_cmd::cargo::cargo_bin("flydocs");
    let output = assert_cmd::Command::new("/bin/sh")
        .arg("-c")
        .arg(LITTLE_MEMORY)
        .arg(binary)
        .args(args)
        .current_dir(desk.path())
        .env_clear()
        .env("HOME", desk.path())
        .env("PATH", "/nowhere")
        .env("FLYDOCS_WEBHOOK_HMAC_SECRET", "s")
        .env("FLYDOCS_MAX_BYTES", "3MiB")
        .output()
        .unwrap();
    Run {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn sparse(desk: &Desk, name: &str) {
    let file = std::fs::File::create(desk.path().join(name)).unwrap();
    file.set_len(5 << 30).unwrap();
}

#[test]
fn a_file_without_an_end_is_read_to_its_limit() {
    let desk = Desk::new();
    sparse(&desk, "sparse.pdf");
    for file in ["sparse.pdf", "/dev/zero"] {
        for args in [
            &["extract", file, "-t", "types.json"][..],
            &["inspect", file],
            &["types", "infer", file],
        ] {
            let run = with_little_memory(&desk, args);
            assert_eq!(run.code, 5, "{args:?}: {}", run.shown());
            for said in [
                "error[file_too_large]",
                file,
                "3145728 bytes",
                "FLYDOCS_MAX_BYTES",
            ] {
                assert!(run.stderr.contains(said), "{args:?}: {}", run.stderr);
            }
        }
    }
    let run = with_little_memory(&desk, &["submit", "/dev/zero", "-t", "types.json"]);
    assert_eq!(run.code, 5, "{}", run.shown());
    assert!(
        run.stderr.contains("error[file_too_large]"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_file_that_is_no_document_has_a_limit_of_its_own() {
    let desk = Desk::new();
    sparse(&desk, "sparse.json");
    for file in ["sparse.json", "/dev/zero"] {
        for (args, code) in [
            (&["extract", "invoice.pdf", "-t", file][..], 2),
            (&["submit", "invoice.pdf", "-t", file], 2),
            (
                &["webhooks", "verify", file, "-H", "X-Flydocs-Signature: x"],
                5,
            ),
        ] {
            let run = with_little_memory(&desk, args);
            assert_eq!(run.code, code, "{args:?}: {}", run.shown());
            for said in ["error[file_too_large]", file, "16MiB"] {
                assert!(run.stderr.contains(said), "{args:?}: {}", run.stderr);
            }
        }
    }
}

#[test]
fn a_result_that_cannot_be_written_fails_its_document_alone() {
    let desk = Desk::new();
    for name in ["full.pdf", "taken.pdf", "fine.pdf"] {
        desk.put(name, paper::invoice());
    }
    let results = desk.path().join("results");
    std::fs::create_dir_all(results.join("taken.pdf.json")).unwrap();
    symlink("/dev/full", results.join("full.pdf.json")).unwrap();
    let run = desk.run(&[
        "extract",
        "full.pdf",
        "taken.pdf",
        "fine.pdf",
        "-t",
        "types.json",
        "--out",
        "results",
    ]);
    assert_eq!(run.code, 5, "{}", run.shown());
    for said in [
        "error[file_unwritable]: results/full.pdf.json cannot be written: the disk is full",
        "error[file_unwritable]: results/taken.pdf.json cannot be written: it is a directory",
        "2 of 3 documents failed",
    ] {
        assert!(run.stderr.contains(said), "{}", run.stderr);
    }
    let text = std::fs::read_to_string(results.join("fine.pdf.json")).unwrap();
    let result: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(result["documents"][0]["type"], "invoice");
    let left = std::fs::read_dir(&results).unwrap().count();
    assert_eq!(left, 3, "nothing stays beside the results");
}

#[test]
fn half_a_result_is_never_left_and_the_one_before_stays() {
    let desk = Desk::new();
    std::fs::create_dir(desk.path().join("results")).unwrap();
    desk.put("results/invoice.pdf.json", "before");
    let output = assert_cmd::Command::new("/bin/sh")
        .arg("-c")
        // a file may have 512 bytes; writing more is an error and no signal
        .arg("trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\"")
        .arg(assert_cmd::cargo::cargo_bin("flydocs"))
        .args([
            "extract",
            "invoice.pdf",
            "-t",
            "types.json",
            "--out",
            "results",
        ])
        .current_dir(desk.path())
        .env_clear()
        .env("HOME", desk.path())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert!(said.contains("error[file_unwritable]"), "{said}");
    let kept = std::fs::read_to_string(desk.path().join("results/invoice.pdf.json")).unwrap();
    assert_eq!(kept, "before");
    let left = std::fs::read_dir(desk.path().join("results")).unwrap();
    assert_eq!(left.count(), 1, "nothing stays beside it");
}

#[test]
fn a_folder_for_results_that_cannot_be_made_is_refused_before_any_work() {
    let desk = Desk::new();
    desk.put("file", "");
    let run = desk.run(&[
        "extract",
        "invoice.pdf",
        "-t",
        "types.json",
        "--out",
        "file",
    ]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{}", run.shown());
    assert!(
        run.stderr
            .contains("error[file_unwritable]: file cannot be written"),
        "{}",
        run.stderr
    );
}
