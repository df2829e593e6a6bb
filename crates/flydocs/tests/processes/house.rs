//! A house of processes in a folder of its own; every process is killed when the house goes.

use std::{
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

/// The folder, the server and whoever was started beside it.
pub(crate) struct House {
    folder: TempDir,
    database: String,
    address: String,
    children: Vec<Child>,
}

impl House {
    /// On an embedded store of its own.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = format!("sqlite://{}/flydocs.db", folder.path().display());
        Self::at(folder, database)
    }

    /// On a database that is there.
    pub(crate) fn on(database: String) -> Self {
        Self::at(tempfile::tempdir().unwrap(), database)
    }

    /// Migrates the database and starts `serve` on a free port.
    fn at(folder: TempDir, database: String) -> Self {
        let mut serve = flydocs(folder.path(), &database)
            .args(["serve", "--port", "0"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut address = String::new();
        BufReader::new(serve.stdout.take().unwrap())
            .read_line(&mut address)
            .unwrap();
        assert!(
            address.starts_with("http://"),
            "serve did not come up: {address:?}"
        );
        Self {
            folder,
            database,
            address: address.trim().to_owned(),
            children: vec![serve],
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Starts a role; its place in the house is what `kill` takes.
    pub(crate) fn start(&mut self, role: &str, settings: &[(&str, &str)]) -> usize {
        let child = flydocs(self.folder.path(), &self.database)
            .arg(role)
            .envs(settings.iter().copied())
            .spawn()
            .unwrap();
        self.children.push(child);
        self.children.len() - 1
    }

    /// kill -9.
    pub(crate) fn kill(&mut self, place: usize) {
        self.children[place].kill().unwrap();
        self.children[place].wait().unwrap();
    }

    /// Runs a client command against the server.
    pub(crate) fn client(&self, args: &[&str]) -> Output {
        flydocs(self.folder.path(), &self.database)
            .args(args)
            .args(["--server", &self.address, "-o", "json"])
            .output()
            .unwrap()
    }

    /// The same, and its answer; the command must succeed.
    pub(crate) fn ask(&self, args: &[&str]) -> Value {
        let output = self.client(args);
        assert!(
            output.status.success(),
            "{args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

impl Drop for House {
    fn drop(&mut self) {
        for child in &mut self.children {
            // Already dead is as good.
            drop(child.kill());
            drop(child.wait());
        }
    }
}

fn flydocs(folder: &Path, database: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flydocs"));
    command
        .env("FLYDOCS_DATABASE_URL", database)
        .env("FLYDOCS_DATA_DIR", folder)
        .env("FLYDOCS_HEALTH_ADDRESS", "127.0.0.1:0")
        .stdin(Stdio::null());
    command
}

/// A document of `examples/`.
pub(crate) fn example(name: &str) -> String {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../examples", name]
        .iter()
        .collect();
    path.to_str().unwrap().to_owned()
}
