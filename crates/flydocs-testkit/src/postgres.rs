//! A throwaway PostgreSQL: one server per test binary, one database per test.
//!
//! With `FLYDOCS_TEST_PG` (a URL of a superuser) tests use that server instead of starting one.

use std::{
    fmt::Write as _,
    path::PathBuf,
    process::Command,
    sync::{Mutex, OnceLock, PoisonError},
};

use anyhow::{Context as _, Result};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};
use tempfile::TempDir;
use uuid::Uuid;

use crate::program::{LastWill, find, hand_over, run, unprivileged};

/// Fast: what was committed survives a crash of the server, not one of the machine.
const SETTINGS: [&str; 5] = [
    "fsync=off",
    "full_page_writes=off",
    "listen_addresses=",
    "max_connections=200",
    "log_min_messages=warning",
];

/// A server of this process, stopped and removed with it.
#[derive(Debug)]
pub struct Server {
    programs: PathBuf,
    folder: PathBuf,
    settings: Vec<String>,
    // Field order: the server stops before its folder goes.
    _last_will: LastWill,
    _folder: TempDir,
}

/// A database of one test on the shared server.
#[derive(Debug, Clone)]
pub struct Database {
    /// `postgres://...`, good for sqlx and for a child process.
    pub url: String,
    /// Its name on the server.
    pub name: String,
}

impl Server {
    /// Makes a cluster in a temporary folder and starts it.
    pub fn start() -> Result<Self> {
        Self::start_with(&[])
    }

    /// The same with further settings, for example `log_statement=all`.
    pub fn start_with(settings: &[&str]) -> Result<Self> {
        let programs = programs()?;
        let temporary = tempfile::Builder::new().prefix("flydocs-pg-").tempdir()?;
        let folder = temporary.path().to_owned();
        hand_over(&folder)?;
        run(unprivileged(&programs.join("initdb"))
            .arg("-D")
            .arg(folder.join("data"))
            .args([
                "-U",
                "postgres",
                "-A",
                "trust",
                "-E",
                "UTF8",
                "--locale=C",
                "-N",
            ]))?;
        let stop = format!(
            "{:?} -D '{data}' -m immediate stop; rm -rf '{folder}'",
            unprivileged(&programs.join("pg_ctl")),
            data = folder.join("data").display(),
            folder = folder.display(),
        );
        let server = Self {
            programs,
            folder,
            settings: SETTINGS
                .iter()
                .chain(settings)
                .map(|&setting| setting.to_owned())
                .collect(),
            _last_will: LastWill::new(&stop)?,
            _folder: temporary,
        };
        server.resume()?;
        Ok(server)
    }

    /// The URL of one of its databases.
    pub fn url(&self, database: &str) -> String {
        format!(
            "postgres://postgres@localhost:5432/{database}?host={}",
            self.folder.display()
        )
    }

    /// Where its socket is, for programs that take a host.
    pub fn socket_folder(&self) -> &std::path::Path {
        &self.folder
    }

    /// Where `psql` and the others are.
    pub fn programs(&self) -> &std::path::Path {
        &self.programs
    }

    /// Stops it at once, as a crash would: connections break, what was committed stays.
    pub fn crash(&self) -> Result<()> {
        run(self.control().args(["-m", "immediate", "stop"]))
    }

    /// Stops it in order, disconnecting everybody.
    pub fn stop(&self) -> Result<()> {
        run(self.control().args(["-m", "fast", "stop"]))
    }

    /// Starts it again on the same data; returns when it accepts connections.
    pub fn resume(&self) -> Result<()> {
        let mut options = format!("-k {}", self.folder.display());
        for setting in &self.settings {
            write!(options, " -c {setting}")?;
        }
        let log = self.folder.join("server.log");
        run(self
            .control()
            .args(["-w", "-t", "60", "-o", &options, "-l"])
            .arg(log)
            .arg("start"))
    }

    /// What it logged.
    pub fn log(&self) -> Result<String> {
        std::fs::read_to_string(self.folder.join("server.log")).context("reading the server's log")
    }

    fn control(&self) -> Command {
        let mut command = unprivileged(&self.programs.join("pg_ctl"));
        command.arg("-D").arg(self.folder.join("data"));
        command
    }
}

/// A new database on the shared server, empty.
pub async fn database() -> Result<Database> {
    let base = tokio::task::spawn_blocking(shared).await??;
    create(&base).await
}

/// A new database on this server, empty.
pub async fn database_on(server: &Server) -> Result<Database> {
    create(&server.url("postgres")).await
}

async fn create(base: &str) -> Result<Database> {
    let name = format!("flydocs_test_{}", Uuid::new_v4().simple());
    let mut admin = PgConnection::connect(base)
        .await
        .with_context(|| format!("connecting to {base}"))?;
    admin
        .execute(AssertSqlSafe(format!("CREATE DATABASE {name}")))
        .await?;
    admin.close().await?;
    Ok(Database {
        url: with_database(base, &name)?,
        name,
    })
}

/// Replaces the path of the URL.
fn with_database(base: &str, name: &str) -> Result<String> {
    let (address, query) = base.split_once('?').map_or((base, ""), |(a, q)| (a, q));
    let start = address.find("://").context("a database URL has ://")? + 3;
    let (scheme, rest) = address.split_at(start);
    let host = rest.split('/').next().unwrap_or(rest);
    let question = if query.is_empty() { "" } else { "?" };
    Ok(format!("{scheme}{host}/{name}{question}{query}"))
}

/// The URL of the server that all tests of this process share.
fn shared() -> Result<String> {
    /// Its URL, and the server when it is ours.
    type Shared = (String, Option<Server>);
    static SERVER: OnceLock<Mutex<Option<Shared>>> = OnceLock::new();
    let mut server = SERVER
        .get_or_init(Mutex::default)
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if let Some((url, _)) = &*server {
        return Ok(url.clone());
    }
    #[expect(
        clippy::disallowed_methods,
        reason = "the test environment says which servers there are"
    )]
    let given = std::env::var("FLYDOCS_TEST_PG")
        .ok()
        .filter(|url| !url.is_empty());
    let (own, url) = if let Some(url) = given {
        (None, url)
    } else {
        let own = Server::start()?;
        let url = own.url("postgres");
        (Some(own), url)
    };
    *server = Some((url.clone(), own));
    Ok(url)
}

/// The folder of the newest installed version.
fn programs() -> Result<PathBuf> {
    let mut versions: Vec<(u32, PathBuf)> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            Some((
                entry.file_name().to_str()?.parse().ok()?,
                entry.path().join("bin"),
            ))
        })
        .collect();
    versions.sort();
    let places: Vec<PathBuf> = versions.into_iter().rev().map(|(_, place)| place).collect();
    let initdb = find("initdb", &places).context("tests need PostgreSQL (Debian: postgresql)")?;
    Ok(initdb
        .parent()
        .map(std::path::Path::to_owned)
        .unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_database_of_a_url_is_replaced_and_the_rest_stays() {
        let url = |base| with_database(base, "x").unwrap();
        assert_eq!(
            url("postgres://u@h:1/postgres?host=/tmp/a"),
            "postgres://u@h:1/x?host=/tmp/a"
        );
        assert_eq!(url("postgres://u:p@h"), "postgres://u:p@h/x");
    }

    #[tokio::test]
    async fn a_test_gets_a_real_server_of_its_own_that_survives_a_crash() {
        let server = tokio::task::spawn_blocking(Server::start)
            .await
            .unwrap()
            .unwrap();
        let database = database_on(&server).await.unwrap();
        let mut connection = PgConnection::connect(&database.url).await.unwrap();
        connection
            .execute("CREATE TABLE t AS SELECT 1 AS n")
            .await
            .unwrap();
        server.crash().unwrap();
        assert!(connection.ping().await.is_err());
        server.resume().unwrap();
        let mut connection = PgConnection::connect(&database.url).await.unwrap();
        let n: i32 = sqlx::query_scalar("SELECT n FROM t")
            .fetch_one(&mut connection)
            .await
            .unwrap();
        assert_eq!(n, 1);
        let folder = server.folder.clone();
        drop(server);
        assert!(!folder.exists());
    }
}
