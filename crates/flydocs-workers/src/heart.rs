//! The heartbeat of a worker: says of all its claims at once that it is alive, and stops the work of those that are
//! not its own any more.
//!
//! A claim is held while its [`Held`] lives. Its work is stopped once, for the first reason that comes up.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use flydocs_contract::ExtractionId;
use flydocs_store::{Beat, Progress, Store};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::measure::{self, Kind};

/// Why work was stopped before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Its caller asked to cancel it.
    Cancelled,
    /// The claim is somebody else's now.
    Lost,
    /// The database did not hear from this worker for so long that the claim counts as lost.
    Silent,
    /// The process ends.
    Shutdown,
}

/// The claim of a row: what a heartbeat names.
type Key = (ExtractionId, u64);

/// The claims of one worker.
#[derive(Debug)]
pub(crate) struct Heart {
    store: Arc<dyn Store>,
    kind: Kind,
    claims: Mutex<HashMap<Key, Arc<Claim>>>,
}

#[derive(Debug)]
struct Claim {
    stop: OnceLock<Stop>,
    stopped: CancellationToken,
    progress: Mutex<Option<Progress>>,
    alive_at: Mutex<Instant>,
}

/// A claim whose heart beats.
#[derive(Debug)]
pub(crate) struct Held {
    heart: Arc<Heart>,
    key: Key,
    claim: Arc<Claim>,
}

impl Heart {
    pub(crate) fn new(store: Arc<dyn Store>, kind: Kind) -> Arc<Self> {
        Arc::new(Self {
            store,
            kind,
            claims: Mutex::default(),
        })
    }

    /// Holds a claim made just now; `since` is when it was asked for.
    pub(crate) fn hold(self: &Arc<Self>, id: ExtractionId, fence: u64, since: Instant) -> Held {
        let claim = Arc::new(Claim {
            stop: OnceLock::new(),
            stopped: CancellationToken::new(),
            progress: Mutex::default(),
            alive_at: Mutex::new(since),
        });
        let key = (id, fence);
        self.claims().insert(key, Arc::clone(&claim));
        Held {
            heart: Arc::clone(self),
            key,
            claim,
        }
    }

    /// Stops the work of every claim.
    pub(crate) fn stop_all(&self, why: Stop) {
        for claim in self.claims().values() {
            claim.stop(why);
        }
    }

    /// Beats for ever; stop it by dropping it.
    pub(crate) async fn beat_on(&self) {
        let options = self.store.options();
        let mut ticks = interval(options.heartbeat_interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.beat().await;
        }
    }

    async fn beat(&self) {
        let beats: Vec<Beat> = self
            .claims()
            .iter()
            .map(|((id, fence), claim)| Beat {
                id: *id,
                fence: *fence,
                progress: lock(&claim.progress).clone(),
            })
            .collect();
        if beats.is_empty() {
            return;
        }
        let timeout = self.store.options().heartbeat_timeout;
        let asked_at = Instant::now();
        // However long the database hangs: the first claim that goes silent must be stopped in time.
        let oldest = self
            .claims()
            .values()
            .map(|claim| *lock(&claim.alive_at))
            .min();
        let deadline = oldest.map_or(asked_at, |oldest| oldest + timeout);
        match timeout_at(deadline.max(asked_at), self.store.heartbeat(&beats)).await {
            Ok(Ok(beaten)) => {
                let alive: HashMap<Key, bool> = beaten
                    .iter()
                    .map(|beaten| ((beaten.id, beaten.fence), beaten.cancel_requested))
                    .collect();
                for beat in &beats {
                    self.answered((beat.id, beat.fence), &alive, asked_at);
                }
            }
            Ok(Err(error)) => {
                measure::heartbeat_failed(self.kind);
                warn!(
                    error = &error as &dyn std::error::Error,
                    "a heartbeat failed"
                );
            }
            Err(_late) => {
                measure::heartbeat_failed(self.kind);
                warn!("a heartbeat was not answered in time");
            }
        }
        for ((id, _), claim) in self.claims().iter() {
            if lock(&claim.alive_at).elapsed() >= timeout && claim.stop(Stop::Silent) {
                warn!(extraction.id = %id, "no heartbeat reached the database for {timeout:?}: stopped");
            }
        }
    }

    fn answered(&self, key: Key, alive: &HashMap<Key, bool>, asked_at: Instant) {
        let claims = self.claims();
        // Settled while the beat was under way.
        let Some(claim) = claims.get(&key) else {
            return;
        };
        match alive.get(&key) {
            None => {
                if claim.stop(Stop::Lost) {
                    info!(extraction.id = %key.0, "the claim is not this worker's any more: stopped");
                }
            }
            Some(cancel_requested) => {
                *lock(&claim.alive_at) = asked_at;
                if *cancel_requested && claim.stop(Stop::Cancelled) {
                    info!(extraction.id = %key.0, "its caller asked to cancel: stopped");
                }
            }
        }
    }

    fn claims(&self) -> MutexGuard<'_, HashMap<Key, Arc<Claim>>> {
        lock(&self.claims)
    }
}

impl Claim {
    /// True when this is the first reason.
    fn stop(&self, why: Stop) -> bool {
        let is_first = self.stop.set(why).is_ok();
        self.stopped.cancel();
        is_first
    }
}

impl Held {
    /// Fires when the work has to stop.
    pub(crate) fn token(&self) -> CancellationToken {
        self.claim.stopped.clone()
    }

    /// Waits until the work has to stop, and says why.
    pub(crate) async fn stopped(&self) -> Stop {
        self.claim.stopped.cancelled().await;
        self.claim.stop.get().copied().unwrap_or(Stop::Lost)
    }

    /// Stops the work, unless it was stopped before.
    pub(crate) fn stop(&self, why: Stop) {
        self.claim.stop(why);
    }

    /// Where the work is; goes out with the next beat.
    pub(crate) fn progress(&self) -> Arc<dyn flydocs_pipeline::Progress> {
        Arc::clone(&self.claim) as Arc<dyn flydocs_pipeline::Progress>
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.heart.claims().remove(&self.key);
        // Whatever of the work still runs on another thread is not wanted any more.
        self.claim.stopped.cancel();
    }
}

impl flydocs_pipeline::Progress for Claim {
    fn stage_started(&self, node: &'static str) {
        *lock(&self.progress) = Some(Progress {
            stage: node.to_owned(),
            pages_done: None,
            pages_total: None,
        });
    }

    fn pages_read(&self, node: &'static str, done: u32, total: u32) {
        *lock(&self.progress) = Some(Progress {
            stage: node.to_owned(),
            pages_done: Some(done),
            pages_total: Some(total),
        });
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
