//! What the pipeline asks of the outside: engines by name, the time, and somebody to tell how far it is.

use std::{fmt::Debug, sync::Arc};

use flydocs_contract::{Timestamp, result::TraceEntry};
use flydocs_engines::Engine;

/// Finds the engine of a model.
pub trait EngineSource: Debug + Send + Sync {
    /// The engine called `<provider>:<name>`; `None` is the service's own.
    fn engine(&self, model: Option<&str>) -> flydocs_engines::Result<Arc<dyn Engine>>;
}

/// The time.
pub trait Clock: Debug + Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;
}

/// The clock of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        chrono::Utc::now()
    }
}

/// Is told how far a run is. Called from the run itself: must not block.
pub trait Progress: Send + Sync {
    /// A stage begins.
    fn stage_started(&self, _node: &'static str) {}

    /// A stage ended, or was skipped.
    fn stage_finished(&self, _entry: &TraceEntry) {}

    /// `done` of the `total` pages a stage needs are read.
    fn pages_read(&self, _node: &'static str, _done: u32, _total: u32) {}
}

/// Tells nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {}
