//! The processes: each in a slot that starts it again when it dies, as an orchestrator would.

use std::{
    fs::File,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context as _, Result, bail};
use rand::{Rng as _, rngs::StdRng, seq::IteratorRandom as _};
use rustix::process::{Pid, Signal, kill_process};
use tokio::{
    process::{Child, Command},
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

/// How long an orchestrator takes to start a process again.
const START_AGAIN: Duration = Duration::from_millis(300);
/// How long a process may take to end in order.
const END_WITHIN: Duration = Duration::from_secs(45);

/// The end of a process.
#[derive(Debug, Clone)]
pub(super) struct Death {
    /// `worker-2`.
    pub(super) process: String,
    pub(super) pid: u32,
    /// Seconds since 1970.
    pub(super) at: f64,
    /// True when a signal ended it.
    pub(super) by_signal: bool,
    /// How long it had run.
    pub(super) ran: Duration,
    /// What the system says of its end.
    pub(super) how: String,
}

/// All slots.
pub(super) struct Fleet {
    slots: Vec<Arc<Slot>>,
    tasks: JoinSet<Result<()>>,
    ending: CancellationToken,
    deaths: Arc<Mutex<Vec<Death>>>,
}

struct Slot {
    name: String,
    arguments: Vec<String>,
    settings: Vec<(String, String)>,
    binary: PathBuf,
    folder: PathBuf,
    pid: Mutex<Option<u32>>,
}

impl Fleet {
    pub(super) fn new() -> Self {
        Self {
            slots: Vec::new(),
            tasks: JoinSet::new(),
            ending: CancellationToken::new(),
            deaths: Arc::default(),
        }
    }

    /// Starts a process and keeps it running.
    pub(super) fn start(
        &mut self,
        name: String,
        arguments: &[&str],
        settings: &[(String, String)],
        binary: &Path,
        folder: &Path,
    ) {
        let slot = Arc::new(Slot {
            name,
            arguments: arguments.iter().map(|&word| word.to_owned()).collect(),
            settings: settings.to_vec(),
            binary: binary.to_owned(),
            folder: folder.to_owned(),
            pid: Mutex::new(None),
        });
        self.slots.push(Arc::clone(&slot));
        let (ending, deaths) = (self.ending.clone(), Arc::clone(&self.deaths));
        self.tasks
            .spawn(async move { slot.keep_running(&ending, &deaths).await });
    }

    /// kill -9 of a random process; its name.
    pub(super) fn kill_one(&self, random: &mut StdRng) -> Option<String> {
        let (slot, pid) = self
            .slots
            .iter()
            .filter_map(|slot| Some((slot, (*lock(&slot.pid))?)))
            .choose(random)?;
        signal(pid, Signal::KILL).then(|| slot.name.clone())
    }

    /// A random process is told to end in order, as in a rolling update; its name.
    pub(super) fn end_one(&self, random: &mut StdRng) -> Option<String> {
        let (slot, pid) = self
            .slots
            .iter()
            .filter_map(|slot| Some((slot, (*lock(&slot.pid))?)))
            .choose(random)?;
        signal(pid, Signal::TERM).then(|| slot.name.clone())
    }

    pub(super) fn deaths(&self) -> Vec<Death> {
        lock(&self.deaths).clone()
    }

    /// Ends everybody in order; says who did not.
    pub(super) async fn end(&mut self) -> Result<Vec<String>> {
        self.ending.cancel();
        let before = lock(&self.deaths).len();
        for slot in &self.slots {
            if let Some(pid) = *lock(&slot.pid) {
                signal(pid, Signal::TERM);
            }
        }
        let all = async {
            while let Some(ended) = self.tasks.join_next().await {
                ended.context("a slot panicked")??;
            }
            Ok::<_, anyhow::Error>(())
        };
        let in_time = timeout(END_WITHIN, all).await;
        let mut wrong: Vec<String> = lock(&self.deaths)
            .iter()
            .skip(before)
            .filter(|death| death.how != "exit status: 0")
            .map(|death| format!("{} ended with {}", death.process, death.how))
            .collect();
        match in_time {
            Ok(ended) => ended?,
            Err(_) => wrong.push(format!("not everybody ended within {END_WITHIN:?}")),
        }
        Ok(wrong)
    }
}

impl Slot {
    async fn keep_running(
        &self,
        ending: &CancellationToken,
        deaths: &Mutex<Vec<Death>>,
    ) -> Result<()> {
        while !ending.is_cancelled() {
            let mut child = self.spawn()?;
            let Some(pid) = child.id() else {
                bail!("{} has no process id", self.name);
            };
            *lock(&self.pid) = Some(pid);
            let began = Instant::now();
            let status = child.wait().await?;
            *lock(&self.pid) = None;
            lock(deaths).push(Death {
                process: self.name.clone(),
                pid,
                at: now(),
                by_signal: status.code().is_none(),
                ran: began.elapsed(),
                how: status.to_string(),
            });
            sleep(START_AGAIN).await;
        }
        Ok(())
    }

    fn spawn(&self) -> Result<Child> {
        let log = self.folder.join(format!("{}.log", self.name));
        let log = File::options().create(true).append(true).open(log)?;
        Command::new(&self.binary)
            .args(&self.arguments)
            .env_clear()
            .envs(std::env::vars_os().filter(|(name, _)| name == "PATH"))
            .envs(self.settings.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("starting {}", self.binary.display()))
    }
}

/// Between two of something, at random.
pub(super) fn between(random: &mut StdRng, least: f64, most: f64) -> Duration {
    Duration::from_secs_f64(random.random_range(least..most))
}

/// Seconds since 1970.
pub(super) fn now() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs_f64()
}

fn signal(pid: u32, signal: Signal) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| kill_process(pid, signal).is_ok())
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
