//! Worker liveness: while a worker lives it holds a lock that dies with it, whatever kills it.

use std::{fmt, sync::Arc};

use tokio_util::sync::CancellationToken;

/// A registered worker. Dropping it says that the worker is dead: its claims are lost at once.
/// [`crate::Store::sign_off`] ends it in order.
pub struct WorkerLiveness {
    instance: String,
    lost: CancellationToken,
    watched: bool,
    _hold: Box<dyn Send + Sync>,
}

impl WorkerLiveness {
    pub(crate) fn new(
        instance: String,
        watched: bool,
        lost: CancellationToken,
        hold: Box<dyn Send + Sync>,
    ) -> Self {
        Self {
            instance,
            lost,
            watched,
            _hold: hold,
        }
    }

    /// What this worker writes into `claimed_by`: the name it asked for and a part that never comes
    /// twice.
    pub fn instance(&self) -> &str {
        &self.instance
    }

    /// False when the database cannot tell whether workers live (a pooler that keeps no sessions):
    /// then only leases and heartbeats decide.
    pub const fn is_watched(&self) -> bool {
        self.watched
    }

    /// Cancelled when the lock was lost although the worker lives (the connection that held it
    /// broke): its claims may be gone; stop the work, drop this and register anew.
    pub fn lost(&self) -> CancellationToken {
        self.lost.clone()
    }
}

impl fmt::Debug for WorkerLiveness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerLiveness")
            .field("instance", &self.instance)
            .field("watched", &self.watched)
            .finish_non_exhaustive()
    }
}

/// A worker as `flydocs ops` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    /// What it writes into `claimed_by`.
    pub instance: Arc<str>,
    /// When it registered.
    pub registered_at: flydocs_contract::Timestamp,
    /// When it signed off, or somebody proved it dead.
    pub dead_at: Option<flydocs_contract::Timestamp>,
}
