//! The PostgreSQL that all share, with production's durability, and what it and its clients cost.

use std::{net::TcpListener, path::PathBuf, process::Command};

use anyhow::{Context as _, Result};
use flydocs_testkit::postgres::Server;

use crate::run::output;

/// `getconf CLK_TCK`, which Linux fixes for programs.
const TICKS_A_SECOND: f64 = 100.0;

/// The server.
#[derive(Debug)]
pub(super) struct Machine {
    server: Server,
    port: u16,
}

impl Machine {
    pub(super) fn start() -> Result<Self> {
        // Free a moment ago: the peers take a host and a port.
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let server = Server::start_with(&[
            "fsync=on",
            "full_page_writes=on",
            "listen_addresses=127.0.0.1",
            &format!("port={port}"),
        ])?;
        Ok(Self { server, port })
    }

    pub(super) fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    /// A new, empty database with this name.
    pub(super) fn fresh(&self, database: &str) -> Result<String> {
        for statement in [
            format!("drop database if exists {database} with (force)"),
            format!("create database {database}"),
            "checkpoint".to_owned(),
        ] {
            self.ask("postgres", &statement)?;
        }
        Ok(self.url(database))
    }

    /// What a statement answers.
    pub(super) fn ask(&self, database: &str, statement: &str) -> Result<String> {
        let mut psql = Command::new(self.server.programs().join("psql"));
        psql.args(["-XqAt", &self.url(database), "-c", statement]);
        Ok(output(&mut psql)?.trim().to_owned())
    }

    /// Seconds of processor time that the server and every program we waited for have used.
    pub(super) fn spent(&self) -> Result<f64> {
        let file = self.server.socket_folder().join("data/postmaster.pid");
        let text = std::fs::read_to_string(&file)
            .with_context(|| format!("cannot read {}", file.display()))?;
        let postmaster: u32 = text.lines().next().context("no pid")?.trim().parse()?;
        let mut ticks = 0.0;
        for entry in std::fs::read_dir("/proc")?.flatten() {
            let Some(pid) = entry
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok())
            else {
                continue;
            };
            let Some(stat) = Stat::of(pid) else { continue };
            if pid == postmaster {
                ticks += stat.own + stat.children;
            } else if stat.parent == postmaster {
                ticks += stat.own;
            } else if pid == std::process::id() {
                ticks += stat.children;
            }
        }
        Ok(ticks / TICKS_A_SECOND)
    }
}

/// Of `/proc/PID/stat`.
struct Stat {
    parent: u32,
    own: f64,
    /// Of those that ended and were waited for.
    children: f64,
}

impl Stat {
    fn of(pid: u32) -> Option<Self> {
        let path = PathBuf::from(format!("/proc/{pid}/stat"));
        let text = std::fs::read_to_string(path).ok()?;
        // The name may hold anything, so what is counted begins behind it.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<f64>().ok();
        Some(Self {
            parent: fields.get(1)?.parse().ok()?,
            own: number(11)? + number(12)?,
            children: number(13)? + number(14)?,
        })
    }
}

/// The load averages of 1, 5 and 15 minutes.
pub(super) fn load() -> String {
    std::fs::read_to_string("/proc/loadavg")
        .unwrap_or_default()
        .split_whitespace()
        .take(3)
        .collect::<Vec<_>>()
        .join(" ")
}
