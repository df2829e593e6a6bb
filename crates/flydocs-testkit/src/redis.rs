//! A throwaway Redis server on a port of its own: one per test binary, one key prefix per test; or one of the test's
//! own that it may kill.
//!
//! With `FLYDOCS_TEST_REDIS` (a URL) tests that share a server use that one.

use std::{
    net::{SocketAddr, TcpListener, TcpStream},
    path::PathBuf,
    process::Command,
    sync::{Mutex, OnceLock, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;

use crate::program::{LastWill, find, look_again_soon, run};

const START_WITHIN: Duration = Duration::from_secs(30);

/// A server of this process, stopped and removed with it. What it acknowledged survives its death.
#[derive(Debug)]
pub struct Server {
    program: PathBuf,
    folder: PathBuf,
    port: u16,
    settings: Vec<String>,
    // Field order: the server stops before its folder goes.
    _last_will: LastWill,
    _folder: TempDir,
}

impl Server {
    /// Starts one in a temporary folder.
    pub fn start() -> Result<Self> {
        Self::start_with(&[])
    }

    /// The same with further arguments, for example `--requirepass`, `secret`.
    pub fn start_with(settings: &[&str]) -> Result<Self> {
        let program =
            find("redis-server", &[]).context("tests need Redis (Debian: redis-server)")?;
        let temporary = tempfile::Builder::new()
            .prefix("flydocs-redis-")
            .tempdir()?;
        let folder = temporary.path().to_owned();
        let at = folder.display();
        let last_will = LastWill::new(&format!(
            "kill -CONT $(cat '{at}/pid'); kill -9 $(cat '{at}/pid'); rm -rf '{at}'"
        ))?;
        let server = Self {
            program,
            folder,
            port: free_port()?,
            settings: settings.iter().map(|&setting| setting.to_owned()).collect(),
            _last_will: last_will,
            _folder: temporary,
        };
        server.resume()?;
        Ok(server)
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    /// Kills it as a crash would.
    pub fn crash(&self) -> Result<()> {
        self.signal("KILL")?;
        let pid = self.pid()?;
        let began = Instant::now();
        while PathBuf::from(format!("/proc/{pid}")).exists() {
            if began.elapsed() > START_WITHIN {
                bail!("redis {pid} does not die");
            }
            look_again_soon();
        }
        Ok(())
    }

    /// Stops it in its tracks, connections open, as a cut network would.
    pub fn freeze(&self) -> Result<()> {
        self.signal("STOP")
    }

    /// Lets it go on.
    pub fn thaw(&self) -> Result<()> {
        self.signal("CONT")
    }

    /// Starts it (again) on the same port and data; returns when it accepts connections.
    pub fn resume(&self) -> Result<()> {
        run(Command::new(&self.program)
            .args(["--port", &self.port.to_string(), "--bind", "127.0.0.1"])
            .args(["--daemonize", "yes", "--save", "", "--appendonly", "yes"])
            .args(["--appendfsync", "no", "--loglevel", "warning"])
            .arg("--dir")
            .arg(&self.folder)
            .arg("--pidfile")
            .arg(self.folder.join("pid"))
            .arg("--logfile")
            .arg(self.folder.join("log"))
            .args(&self.settings))?;
        let began = Instant::now();
        while TcpStream::connect(self.address()).is_err() {
            if began.elapsed() > START_WITHIN {
                bail!("redis does not listen on {}", self.address());
            }
            look_again_soon();
        }
        Ok(())
    }

    fn pid(&self) -> Result<u32> {
        let path = self.folder.join("pid");
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("reading {}", path.display()))?;
        text.trim().parse().context("the pid of redis")
    }

    fn signal(&self, signal: &str) -> Result<()> {
        run(Command::new("kill").args([format!("-{signal}"), self.pid()?.to_string()]))
    }
}

/// The URL of the server that all tests of this process share.
pub fn shared() -> Result<String> {
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
    let given = std::env::var("FLYDOCS_TEST_REDIS")
        .ok()
        .filter(|url| !url.is_empty());
    let (own, url) = if let Some(url) = given {
        (None, url)
    } else {
        let own = Server::start()?;
        let url = own.url();
        (Some(own), url)
    };
    *server = Some((url.clone(), own));
    Ok(url)
}

/// A port that was free a moment ago.
pub fn free_port() -> Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).context("looking for a free port")?;
    Ok(listener.local_addr()?.port())
}
