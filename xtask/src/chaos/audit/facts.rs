//! What the audit looks at: what callers were told, what the tables say, what came in, who died.

use std::collections::HashMap;

/// What a caller submitted and was told.
#[derive(Debug, Clone)]
pub(crate) struct Submission {
    pub(crate) nonce: String,
    pub(crate) wanted: Wanted,
    pub(crate) key: Option<String>,
    pub(crate) boxes: bool,
    pub(crate) callback: bool,
    /// The ids of the 202 answers.
    pub(crate) accepted: Vec<String>,
    /// Calls without an answer: they may have been accepted or not.
    pub(crate) unsure: u32,
    /// Its caller asked to cancel it.
    pub(crate) cancelled: bool,
}

/// How a document is to end when nobody cancels it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Succeeded.
    Result,
    /// Failed for its own reason.
    Refusal,
    /// Failed because every attempt lost its worker.
    WorkerLost,
}

/// A row of `extractions`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Row {
    pub(crate) id: String,
    pub(crate) nonce: String,
    pub(crate) status: String,
    pub(crate) attempts: i64,
    pub(crate) error: Option<String>,
    pub(crate) results: i64,
    pub(crate) leg: Option<String>,
    pub(crate) leg_error: Option<String>,
}

/// A line of `extraction_history`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Moment {
    pub(crate) id: String,
    pub(crate) at: f64,
    pub(crate) method: String,
    pub(crate) status: String,
    pub(crate) leg: Option<String>,
    pub(crate) attempts: i64,
    pub(crate) worker: Option<String>,
}

/// An event of the outbox.
#[expect(clippy::struct_field_names, reason = "the columns of the outbox")]
#[derive(Debug, Clone, Default)]
pub(crate) struct Event {
    pub(crate) event_id: String,
    pub(crate) id: String,
    pub(crate) event_type: String,
    /// What its payload says of the row.
    pub(crate) status: String,
    pub(crate) leg: Option<String>,
}

/// A delivery that no group has settled, or a letter that is dead.
#[derive(Debug, Clone, Default)]
pub(crate) struct Owed {
    pub(crate) group: String,
    pub(crate) event_type: String,
    pub(crate) id: String,
    pub(crate) why: String,
}

/// A row of `webhook_deliveries`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hook {
    pub(crate) event_id: String,
    pub(crate) id: String,
    pub(crate) event_type: String,
    pub(crate) status: String,
    pub(crate) body: String,
}

/// A webhook as it came in.
#[derive(Debug, Clone, Default)]
pub(crate) struct Received {
    pub(crate) event_id: String,
    pub(crate) body: String,
    /// Answered with 2xx.
    pub(crate) accepted: bool,
}

/// The end of a process: its number and when.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended {
    pub(crate) pid: u32,
    pub(crate) at: f64,
}

/// Everything that is looked at.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts {
    pub(crate) submissions: Vec<Submission>,
    pub(crate) rows: Vec<Row>,
    pub(crate) moments: Vec<Moment>,
    pub(crate) events: Vec<Event>,
    pub(crate) undelivered: Vec<Owed>,
    pub(crate) dead_letters: Vec<Owed>,
    pub(crate) hooks: Vec<Hook>,
    pub(crate) received: Vec<Received>,
    pub(crate) ended: Vec<Ended>,
    /// Worker sessions that the database counts as dead, and since when.
    pub(crate) buried: HashMap<String, f64>,
    /// When the database was away.
    pub(crate) outages: Vec<(f64, f64)>,
    /// After so many seconds without a word a claim is lost.
    pub(crate) silence: f64,
}
