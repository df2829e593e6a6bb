//! The Python client and schemathesis against the built binary, in a virtual environment under `target/clients`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Context as _;

use crate::run;

/// Builds the binary and tests it; `args` go to pytest.
pub(crate) fn check(root: &Path, args: &[String]) -> anyhow::Result<()> {
    run::cargo(root, &["build", "--package", "flydocs", "--locked"])?;
    test(root, &run::target(root).join("debug/flydocs"), args)
}

/// Installs what is pinned and tests this binary.
pub(crate) fn test(root: &Path, binary: &Path, args: &[String]) -> anyhow::Result<()> {
    let folder = root.join("tests/clients/python");
    let requirements = folder.join("requirements.txt");
    let python = environment(&run::target(root).join("clients"), &requirements)?;
    run::check(
        Command::new(python)
            .args(["-m", "pytest", "-q", "-p", "no:cacheprovider"])
            .args(args)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("FLYDOCS_TEST_BINARY", binary)
            .current_dir(&folder),
    )
}

/// A virtual environment with exactly these packages; made anew when the list changed.
fn environment(folder: &Path, requirements: &Path) -> anyhow::Result<PathBuf> {
    let wanted = fs::read_to_string(requirements)
        .with_context(|| format!("{} cannot be read", requirements.display()))?;
    let (python, stamp) = (folder.join("bin/python"), folder.join("installed.txt"));
    if python.is_file() && fs::read_to_string(&stamp).is_ok_and(|have| have == wanted) {
        return Ok(python);
    }
    run::check(
        Command::new("python3")
            .args(["-m", "venv", "--clear"])
            .arg(folder),
    )?;
    run::check(
        Command::new(&python)
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
            ])
            .arg("--requirement")
            .arg(requirements),
    )?;
    fs::write(&stamp, wanted).with_context(|| format!("{} cannot be written", stamp.display()))?;
    Ok(python)
}
