//! Running other programs, with their name in every error.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use anyhow::{Context as _, bail};

/// The root of the project: the folder above xtask's own.
pub(crate) fn project_root() -> anyhow::Result<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    Ok(here
        .parent()
        .context("xtask has no parent folder")?
        .to_path_buf())
}

/// Where cargo builds.
pub(crate) fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |dir| root.join(dir))
}

/// Says what is done next, on stderr.
#[expect(
    clippy::print_stderr,
    reason = "xtask talks to the person who called it"
)]
pub(crate) fn say(line: &str) {
    eprintln!("xtask: {line}");
}

/// Runs cargo in the project; its exit code decides.
pub(crate) fn cargo(root: &Path, args: &[&str]) -> anyhow::Result<()> {
    check(Command::new(cargo_program()).args(args).current_dir(root))
}

/// The cargo that runs us.
pub(crate) fn cargo_program() -> &'static str {
    option_env!("CARGO").unwrap_or("cargo")
}

/// Runs a command with our own output and says how long it took; fails when it does.
pub(crate) fn check(command: &mut Command) -> anyhow::Result<()> {
    say(&shown(command));
    forget_package(command);
    let began = Instant::now();
    let status = command
        .status()
        .with_context(|| format!("cannot run {}", shown(command)))?;
    say(&format!("that took {:.0} s", began.elapsed().as_secs_f64()));
    if !status.success() {
        bail!("{} failed: {status}", shown(command));
    }
    Ok(())
}

/// Takes away what `cargo run` told us about xtask itself: build scripts (that of ring) watch these names, and a
/// build started from here would compile again what a build started by hand has just made.
fn forget_package(command: &mut Command) {
    const TOLD: [&str; 4] = [
        "CARGO_PKG_",
        "CARGO_MANIFEST_",
        "CARGO_BIN_",
        "CARGO_CRATE_",
    ];
    for (name, _) in std::env::vars_os() {
        if let Some(text) = name.to_str()
            && TOLD.iter().any(|prefix| text.starts_with(prefix))
        {
            command.env_remove(&name);
        }
    }
}

/// Runs a command and gives its standard output; fails when it does.
pub(crate) fn output(command: &mut Command) -> anyhow::Result<String> {
    forget_package(command);
    let output = command
        .output()
        .with_context(|| format!("cannot run {}", shown(command)))?;
    if !output.status.success() {
        bail!(
            "{} failed: {}\n{}",
            shown(command),
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// True when a program of this name is on the path.
pub(crate) fn on_path(program: &str) -> bool {
    std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
    })
}

fn shown(command: &Command) -> String {
    let mut text = command.get_program().to_string_lossy().into_owned();
    for arg in command.get_args() {
        text.push(' ');
        text.push_str(&arg.to_string_lossy());
    }
    text
}
