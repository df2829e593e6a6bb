//! What CI runs: every check, then every test.

use std::{path::Path, process::Command};

use crate::{arrows, clients, deny, run, setup};

/// What `cargo build` leaves out (it takes make, or is for developers), checked and tested all the same. The same for
/// every step: another set would compile half the house once more.
const FEATURES: &str =
    "flydocs/kafka-tls,flydocs-bus/kafka-tls,xtask/measure,xtask/chaos,xtask/queue";

/// Installs what is needed, checks, tests, and calls the service as a stranger's client does.
pub(crate) fn everything(root: &Path) -> anyhow::Result<()> {
    setup::install(root)?;
    checks(root)?;
    build(root)?;
    tests(root)?;
    let built = run::target(root).join("debug");
    clients::test(root, &built.join("flydocs"), &[])?;
    chaos(root, &built)
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
            FEATURES,
            "--all-targets",
            "--locked",
            "--",
            "-D",
            "warnings",
        ],
    )?;
    run::check(
        Command::new(run::cargo_program())
            .args(["doc", "--workspace", "--features", FEATURES])
            .args(["--no-deps", "--locked", "--quiet"])
            .env("RUSTDOCFLAGS", "-D warnings")
            .current_dir(root),
    )
}

/// Tests and programs together, so that dependencies are compiled with one set of features for both.
fn build(root: &Path) -> anyhow::Result<()> {
    let words = ["build", "--workspace", "--features", FEATURES];
    run::cargo(root, &[&words[..], &["--all-targets", "--locked"]].concat())
}

/// Unit, integration and doc tests of every crate. FLYDOCS_ settings of the caller do not reach them.
fn tests(root: &Path) -> anyhow::Result<()> {
    let mut command = Command::new(run::cargo_program());
    command
        .args(["test", "--workspace", "--features", FEATURES])
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

/// Twenty seconds of kill -9 over PostgreSQL. That its audit can fail is tested with the others.
fn chaos(root: &Path, built: &Path) -> anyhow::Result<()> {
    run::check(
        Command::new(built.join("xtask"))
            .args(["chaos", "--seconds", "20", "--binary"])
            .arg(built.join("flydocs"))
            .current_dir(root),
    )
}
