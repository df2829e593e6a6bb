//! Programs of the system: where they are, as whom they run, and how they end with the test.

use std::{
    io::ErrorKind,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
};

use anyhow::{Context as _, Result, bail, ensure};

/// The user that servers run as when the test is root, which they refuse to be.
const SERVICE_USER: &str = "postgres";

/// The command, as the service user when the test is root.
pub(crate) fn unprivileged(program: &Path) -> Command {
    if is_root() {
        let mut command = Command::new("runuser");
        command.args(["-u", SERVICE_USER, "--"]).arg(program);
        command
    } else {
        Command::new(program)
    }
}

/// Gives a path to the service user when the test is root.
pub(crate) fn hand_over(path: &Path) -> Result<()> {
    if !is_root() {
        return Ok(());
    }
    let users = std::fs::read_to_string("/etc/passwd").context("reading /etc/passwd")?;
    let (uid, gid) = users
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>())
        .find(|fields| fields.first() == Some(&SERVICE_USER))
        .and_then(|fields| Some((fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?)))
        .with_context(|| format!("no user {SERVICE_USER} on this machine"))?;
    std::os::unix::fs::chown(path, Some(uid), Some(gid))
        .with_context(|| format!("giving {} to {SERVICE_USER}", path.display()))
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0)
}

/// Runs to the end; what it said is the error.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let output = command
        .current_dir("/")
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("starting {}", command.get_program().display()))?;
    ensure!(
        output.status.success(),
        "{command:?} failed: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    Ok(())
}

/// Between two looks at a server that says nowhere that it is there, or gone.
#[expect(clippy::disallowed_methods, reason = "there is no signal to wait for")]
pub(crate) fn look_again_soon() {
    std::thread::sleep(std::time::Duration::from_millis(5));
}

/// The first of these that exists, or the name alone when it is on the path.
pub(crate) fn find(name: &str, places: &[PathBuf]) -> Result<PathBuf> {
    if let Some(place) = places
        .iter()
        .map(|place| place.join(name))
        .find(|path| path.is_file())
    {
        return Ok(place);
    }
    match Command::new(name)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
    {
        Ok(_) => Ok(name.into()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!("{name} is not installed (looked in {places:?} and on the path)")
        }
        Err(error) => Err(error).with_context(|| format!("starting {name}")),
    }
}

/// A shell that runs `clean_up` as soon as this process is gone or drops it, also after a kill -9: it waits
/// for the end of a pipe that only this process can write to.
#[derive(Debug)]
pub(crate) struct LastWill {
    shell: Child,
    pipe: Option<ChildStdin>,
}

impl LastWill {
    pub(crate) fn new(clean_up: &str) -> Result<Self> {
        let mut shell = Command::new("sh")
            .arg("-c")
            .arg(format!("read -r _; {clean_up}"))
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("starting sh")?;
        let pipe = shell.stdin.take();
        Ok(Self { shell, pipe })
    }
}

impl Drop for LastWill {
    fn drop(&mut self) {
        drop(self.pipe.take());
        if let Err(error) = self.shell.wait() {
            std::io::Write::write_all(&mut std::io::stderr(), format!("{error}\n").as_bytes())
                .unwrap_or_default();
        }
    }
}
