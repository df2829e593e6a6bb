//! What CI runs: every check, then every test.

use std::{path::Path, process::Command};

use crate::{arrows, clients, deny, run, setup};

/// What `cargo build` leaves out, because it takes make: checked and tested all the same.
const KAFKA: &str = "flydocs/kafka,flydocs-bus/kafka";

/// The same with every command of xtask's own, so that none is linted less than the rest.
const LINTED: &str = "flydocs/kafka,flydocs-bus/kafka,xtask/measure,xtask/chaos";

/// Installs what is needed, checks, tests, and calls the service as a stranger's client does.
pub(crate) fn everything(root: &Path) -> anyhow::Result<()> {
    setup::install(root)?;
    checks(root)?;
    tests(root)?;
    clients::check(root, &[])?;
    chaos(root)
}

/// Everything that is no test, cheapest first.
pub(crate) fn checks(root: &Path) -> anyhow::Result<()> {
    run::cargo(root, &["fmt", "--all", "--check"])?;
    arrows::check(root)?;
    deny::check(root)?;
    run::cargo(
        root,
        &[
            "clippy",
            "--workspace",
            "--features",
            LINTED,
            "--all-targets",
            "--locked",
            "--",
            "-D",
            "warnings",
        ],
    )?;
    run::check(
        Command::new(run::cargo_program())
            .args(["doc", "--workspace", "--features", KAFKA])
            .args(["--no-deps", "--locked", "--quiet"])
            .env("RUSTDOCFLAGS", "-D warnings")
            .current_dir(root),
    )
}

/// Unit, integration and doc tests of every crate. FLYDOCS_ settings of the caller do not reach them.
fn tests(root: &Path) -> anyhow::Result<()> {
    let mut command = Command::new(run::cargo_program());
    command
        .args(["test", "--workspace", "--features", KAFKA])
        .args(["--locked", "--no-fail-fast"])
        .current_dir(root);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("FLYDOCS_") && !text.starts_with("FLYDOCS_TEST_") {
            command.env_remove(&name);
        }
    }
    run::check(&mut command)
}

/// Twenty seconds of kill -9 over PostgreSQL, and first whether its audit can fail.
fn chaos(root: &Path) -> anyhow::Result<()> {
    const XTASK: [&str; 5] = ["--package", "xtask", "--features", "chaos", "--locked"];
    let with = |command: &'static str, rest: &[&'static str]| {
        let mut words = vec![command];
        words.extend(XTASK);
        words.extend(rest);
        run::cargo(root, &words)
    };
    with("test", &["chaos"])?;
    with("run", &["--quiet", "--", "chaos", "--seconds", "20"])
}
