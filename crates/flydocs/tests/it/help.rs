//! `--help` of every command, and what a wrong command line is told.

use crate::desk::{Desk, still};

#[test]
fn every_command_explains_itself() {
    let desk = Desk::new();
    let mut settings = still();
    settings.set_snapshot_suffix("help");
    for command in [
        "",
        "extract",
        "up",
        "serve",
        "worker",
        "bbox-worker",
        "migrate",
        "submit",
        "get",
        "wait",
        "result",
        "list",
        "cancel",
        "inspect",
        "types",
        "types infer",
        "explain",
        "config",
        "ops",
        "ops orphans",
        "ops reclaim",
        "ops dead-letters",
        "ops dead-letters list",
        "ops dead-letters requeue",
        "ops drain-lock",
        "ops bus status",
        "webhooks",
        "webhooks list",
        "webhooks redeliver",
        "webhooks listen",
        "webhooks verify",
        "doctor",
        "openapi",
    ] {
        let mut args: Vec<&str> = command.split_whitespace().collect();
        args.push("--help");
        let run = desk.run(&args);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{command}");
        let name = if command.is_empty() {
            "flydocs".to_owned()
        } else {
            command.replace(' ', "-")
        };
        settings.bind(|| insta::assert_snapshot!(name, run.stdout));
    }
}

#[test]
fn a_wrong_command_line_ends_with_2_and_says_nothing_on_stdout() {
    let desk = Desk::new();
    for args in [
        &["extracct"][..],
        &["extract"],
        &["extract", "invoice.pdf"],
        &[
            "extract",
            "invoice.pdf",
            "--types",
            "types.json",
            "-o",
            "xml",
        ],
        &["list", "--limit", "many"],
        &["--set", "novalue", "doctor"],
    ] {
        let run = desk.run(args);
        assert_eq!(run.code, 2, "{args:?}: {}", run.stderr);
        assert_eq!(run.stdout, "", "{args:?}");
        assert!(!run.stderr.is_empty());
    }
}

#[test]
fn a_code_is_explained_out_of_the_binary() {
    let desk = Desk::new();
    let run = desk.run(&["explain", "encrypted_pdf"]);
    assert_eq!(run.code, 0);
    assert!(run.stdout.contains("encrypted_pdf"), "{}", run.stdout);
    let all = desk.run(&["explain"]);
    for code in flydocs_contract::ErrorCode::ALL {
        assert!(all.stdout.contains(code.as_str()), "{code}");
    }
    let run = desk.run(&["explain", "encripted"]);
    assert_eq!(run.code, 2);
    insta::assert_snapshot!(run.shown());
}

#[test]
fn the_openapi_document_goes_into_a_closed_pipe_without_an_error() {
    let desk = Desk::new();
    let binary = assert_cmd::cargo::cargo_bin("flydocs");
    let output = std::process::Command::new("/bin/sh")
        .arg("-c")
        .arg(format!(
            "{{ {} openapi; echo code $? >&2; }} | head -n 1",
            binary.display()
        ))
        .current_dir(desk.path())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "{\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "code 0\n");
}
