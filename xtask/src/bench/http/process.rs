//! The service under measurement.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use anyhow::{Context as _, Result};

use super::Plan;

/// A process of flydocs on a database of its own; gone with it.
pub(super) struct Process {
    child: Child,
    pub(super) url: String,
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Process {
    pub(super) fn start(plan: &Plan, role: &str, database: &str) -> Result<Self> {
        let mut child = Command::new(&plan.binary)
            .args([role, "--quiet"])
            .env("FLYDOCS_DATABASE_URL", database)
            .env("FLYDOCS_PORT", "0")
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot run {}", plan.binary.display()))?;
        let mut url = String::new();
        if role == "serve" {
            let stdout = child.stdout.take().context("no stdout")?;
            BufReader::new(stdout).read_line(&mut url)?;
        }
        Ok(Self {
            child,
            url: url.trim().to_owned(),
        })
    }

    /// A figure of the kernel, such as `VmRSS` in kB.
    pub(super) fn figure(&self, name: &str) -> Result<u64> {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|rest| rest.trim_start_matches(':').split_whitespace().next());
        Ok(number.context("no such figure")?.parse()?)
    }

    /// How many sockets it holds open.
    pub(super) fn sockets(&self) -> Result<usize> {
        let folder = format!("/proc/{}/fd", self.child.id());
        let open = std::fs::read_dir(folder)?.flatten();
        let names = open.filter_map(|entry| std::fs::read_link(entry.path()).ok());
        Ok(names
            .filter(|name| name.to_string_lossy().starts_with("socket:"))
            .count())
    }

    pub(super) fn resident_mib(&self) -> Result<f64> {
        Ok(self.figure("VmRSS")? as f64 / 1024.0)
    }
}

/// A database in a file of this folder.
pub(super) fn sqlite(folder: &Path) -> String {
    format!("sqlite://{}", folder.join("flydocs.db").display())
}

pub(super) fn client() -> Result<reqwest::Client> {
    Ok(reqwest::Client::builder().no_proxy().build()?)
}
