//! What an operator sees: `flydocs ops bus status`, health details and metrics.

use chrono::{DateTime, Utc};
use serde::Serialize;

/// Whether the bus works right now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Health {
    /// False when the database does not answer.
    pub up: bool,
    /// How consumers learn of new events: `notifications`, `poll-only`, `in-process`.
    pub wakes_by: &'static str,
    /// One clear sentence when something is less than it should be.
    pub detail: Option<String>,
}

/// Every group of the bus.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BusStatus {
    /// The word of `FLYDOCS_EDA_ADAPTER`.
    pub adapter: &'static str,
    /// Events in the outbox, handled or not.
    pub outbox: u64,
    /// The groups by name.
    pub groups: Vec<GroupStatus>,
}

/// One group.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupStatus {
    /// Its name.
    pub group: String,
    /// The key of its drain lock.
    pub lock_key: i64,
    /// Who holds the drain lock at this moment.
    pub lock_holder: Option<String>,
    /// Its topics.
    pub destinations: Vec<String>,
    /// The event types its members handle or handled.
    pub event_types: Vec<String>,
    /// Published and not drained yet.
    pub undrained: u64,
    /// Due and waiting for a free slot.
    pub due: u64,
    /// Waiting for their time.
    pub delayed: u64,
    /// Leased by a consumer.
    pub in_flight: u64,
    /// Claimed twice or more without being settled.
    pub suspects: u64,
    /// Dead letters that nobody sent back.
    pub dead_letters: u64,
    /// Seconds that the oldest due delivery has been waiting.
    pub oldest_due_seconds: Option<f64>,
    /// The last time a drain touched the group.
    pub last_drain_at: DateTime<Utc>,
}

/// What a prune deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Pruned {
    /// Events that every group is done with.
    pub events: u64,
    /// Traces of settled deliveries.
    pub deliveries: u64,
    /// Old dead letters.
    pub dead_letters: u64,
    /// True when a batch was full: call again.
    pub more: bool,
}
