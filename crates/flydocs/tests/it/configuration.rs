//! Settings as an operator meets them.

use std::path::Path;

use crate::desk::{Desk, still};

#[test]
fn a_wrong_setting_ends_with_3_and_names_it() {
    let desk = Desk::new();
    for command in [
        "doctor",
        "up",
        "serve",
        "worker",
        "bbox-worker",
        "migrate",
        "list",
    ] {
        let run = desk.run_with(
            &[("FLYDOCS_PORT", "many"), ("FLYDOCS_MAX_BYTES", "1 acre")],
            &[command],
        );
        assert_eq!(run.code, 3, "{command}: {}", run.shown());
        assert!(
            run.stderr.contains("FLYDOCS_PORT") && run.stderr.contains("FLYDOCS_MAX_BYTES"),
            "{}",
            run.stderr
        );
    }
    let run = desk.run_with(&[("FLYDOCS_ASYNC_TIMEOUT_S", "1300")], &["config", "check"]);
    assert_eq!(run.code, 3);
    insta::assert_snapshot!(run.shown());
}

#[test]
fn names_that_are_none_and_older_names_warn() {
    let desk = Desk::new();
    let run = desk.run_with(
        &[
            ("FLYDOCS_DATABSE_URL", "x"),
            ("FLYDOCS_JOB_RUN_LEASE_S", "1300"),
        ],
        &["config", "check"],
    );
    assert_eq!(run.code, 0);
    insta::assert_snapshot!(run.shown());
}

#[test]
fn a_number_out_of_range_is_refused_with_its_range() {
    let desk = Desk::new();
    let run = desk.run_with(&[("FLYDOCS_PORT", "99999")], &["config", "check"]);
    assert_eq!(run.code, 3, "{}", run.shown());
    assert!(
        run.stderr.contains("99999 is out of range: 0 to 65535"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_name_that_is_near_no_setting_gets_no_suggestion() {
    let desk = Desk::new();
    let run = desk.run_with(&[("FLYDOCS_NOPE", "1")], &["config", "check"]);
    assert_eq!(run.code, 0, "{}", run.shown());
    assert!(
        run.stderr.contains("FLYDOCS_NOPE is no setting") && !run.stderr.contains("did you mean"),
        "{}",
        run.stderr
    );
    assert!(run.stdout.contains("1 warning)"), "{}", run.stdout);
    let near = desk.run_with(&[("FLYDOCS_PRT", "1")], &["config", "check"]);
    assert!(
        near.stderr.contains("did you mean FLYDOCS_PORT?"),
        "{}",
        near.stderr
    );
}

#[test]
fn a_database_in_a_folder_that_is_not_there_makes_none() {
    let desk = Desk::new();
    let folder = desk.path().join("slip");
    let url = format!("sqlite://{}", folder.join("a.db").display());
    for command in ["migrate", "worker"] {
        let run = desk.run_with(&[("FLYDOCS_DATABASE_URL", &url)], &[command]);
        assert_eq!(run.code, 3, "{}", run.shown());
        assert!(
            run.stderr.contains("there is no such folder") && run.stderr.contains("slip"),
            "{}",
            run.stderr
        );
        assert!(!folder.exists());
    }
    let run = desk.run_with(
        &[("FLYDOCS_DATABASE_URL", "sqlite://here.db")],
        &["migrate"],
    );
    assert_eq!(run.code, 0, "{}", run.shown());
}

#[test]
fn secrets_are_never_shown() {
    let desk = Desk::new();
    let secrets = [
        ("FLYDOCS_API_KEYS", "hunter2"),
        ("FLYDOCS_API_KEY", "hunter2"),
        ("FLYDOCS_WEBHOOK_HMAC_SECRET", "hunter2"),
        ("FLYDOCS_DATABASE_URL", "postgres://u:hunter2@h/d"),
    ];
    let run = desk.run_with(
        &secrets,
        &["config", "show", "--set", "FLYDOCS_MAX_PAGES=7"],
    );
    assert_eq!(run.code, 0);
    assert!(!run.stdout.contains("hunter2"), "{}", run.stdout);
    let line = run
        .stdout
        .lines()
        .find(|line| line.contains("FLYDOCS_MAX_PAGES"))
        .unwrap();
    assert!(line.contains('7') && line.contains("flag"), "{line}");
    let run = desk.run_with(&secrets, &["doctor"]);
    assert!(
        !run.stdout.contains("hunter2") && !run.stderr.contains("hunter2"),
        "{}",
        run.shown()
    );
}

/// `FLYDOCS_TEST_UPDATE=1 cargo test -p flydocs configuration` writes it anew.
#[test]
fn the_page_of_settings_is_made_from_the_settings() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let run = Desk::new().run(&["config", "markdown"]);
    assert_eq!(run.code, 0);
    if std::env::var_os("FLYDOCS_TEST_UPDATE").is_some() {
        std::fs::write(&page, &run.stdout).unwrap();
    }
    let kept = std::fs::read_to_string(&page).unwrap_or_default();
    assert!(
        kept == run.stdout,
        "docs/configuration.md drifted: FLYDOCS_TEST_UPDATE=1 cargo test -p flydocs configuration"
    );
}

#[test]
fn the_schema_is_made_in_the_data_directory() {
    let desk = Desk::new();
    let run = desk.run_with(&[("FLYDOCS_DATA_DIR", "data")], &["migrate"]);
    assert_eq!(run.code, 0, "{}", run.shown());
    assert!(desk.path().join("data/flydocs.db").exists());
    let again = desk.run_with(&[("FLYDOCS_DATA_DIR", "data")], &["migrate", "--quiet"]);
    still().bind(|| insta::assert_snapshot!(again.shown()));
}

#[test]
fn the_doctor_says_what_is_lacking_and_what_to_do() {
    let desk = Desk::new();
    let run = desk.run_with(&[("FLYDOCS_DATA_DIR", "data")], &["doctor"]);
    assert_eq!(run.code, 0, "{}", run.shown());
    assert!(run.stdout.contains("tesseract"), "{}", run.stdout);
}
