//! A throwaway PgBouncer in transaction mode before a throwaway PostgreSQL.

use std::{fs, path::PathBuf, process::Command};

use anyhow::{Context as _, Result};
use tempfile::TempDir;

use crate::{
    postgres::Server,
    program::{LastWill, find, hand_over, run, unprivileged},
};

/// A pooler of this process, stopped with it.
#[derive(Debug)]
pub struct Pooler {
    folder: PathBuf,
    _last_will: LastWill,
    _folder: TempDir,
}

impl Pooler {
    /// Starts one before `server`; every database of the server can be reached through it.
    pub fn start(server: &Server) -> Result<Self> {
        let program = find("pgbouncer", &["/usr/sbin".into(), "/usr/local/sbin".into()])
            .context("this test needs PgBouncer (Debian: pgbouncer)")?;
        let temporary = tempfile::Builder::new().prefix("flydocs-pgb-").tempdir()?;
        let folder = temporary.path().to_owned();
        let at = folder.display();
        fs::write(folder.join("users.txt"), "\"postgres\" \"\"\n")?;
        fs::write(
            folder.join("pgbouncer.ini"),
            format!(
                "[databases]\n* = host={server} port=5432 user=postgres\n\
                 [pgbouncer]\nlisten_addr =\nlisten_port = 6432\nunix_socket_dir = {at}\n\
                 auth_type = trust\nauth_file = {at}/users.txt\nlogfile = {at}/log\npidfile = {at}/pid\n\
                 pool_mode = transaction\nmax_client_conn = 200\ndefault_pool_size = 20\n\
                 ignore_startup_parameters = extra_float_digits\n",
                server = server.socket_folder().display(),
            ),
        )?;
        for path in [
            folder.clone(),
            folder.join("users.txt"),
            folder.join("pgbouncer.ini"),
        ] {
            hand_over(&path)?;
        }
        let last_will = LastWill::new(&format!("kill $(cat '{at}/pid'); rm -rf '{at}'"))?;
        run(unprivileged(&program)
            .arg("-d")
            .arg(folder.join("pgbouncer.ini")))?;
        // It listens a moment after it has gone to the background.
        let listens = format!("until [ -S '{at}/.s.PGSQL.6432' ]; do sleep 0.02; done");
        run(Command::new("timeout").args(["20", "sh", "-c", &listens]))?;
        Ok(Self {
            folder,
            _last_will: last_will,
            _folder: temporary,
        })
    }

    /// The URL of one of the server's databases through the pooler.
    pub fn url(&self, database: &str) -> String {
        format!(
            "postgres://postgres@localhost:6432/{database}?host={}",
            self.folder.display()
        )
    }
}
