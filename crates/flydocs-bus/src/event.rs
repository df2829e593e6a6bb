//! What travels: an event as it is published, a delivery as a consumer gets it, a letter nobody could handle.

use std::{fmt, time::Duration};

use chrono::{DateTime, Utc};
use uuid::Uuid;

/// An event to publish, inside the transaction that makes it true.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEvent {
    /// Stable over redelivery.
    pub event_id: Uuid,
    /// The topic, for example `flydocs.extractions`.
    pub destination: String,
    /// The dotted word, for example `extraction.submitted`.
    pub event_type: String,
    /// The JSON text of the envelope, kept byte for byte.
    pub payload: String,
    /// A JSON object beside the payload: trace context and the like.
    pub headers: serde_json::Value,
    /// At most one event of one key is in flight in a group, in the order of publishing.
    pub ordering_key: Option<String>,
    /// While an event of this key and destination is live, a second one is not written.
    pub dedupe_key: Option<String>,
    /// How long after the commit it becomes due.
    pub delay: Duration,
}

impl NewEvent {
    /// An event that is due at once, without keys and headers.
    pub fn new(
        event_id: Uuid,
        destination: impl Into<String>,
        event_type: impl Into<String>,
        payload: impl Into<String>,
    ) -> Self {
        Self {
            event_id,
            destination: destination.into(),
            event_type: event_type.into(),
            payload: payload.into(),
            headers: serde_json::Value::Object(serde_json::Map::new()),
            ordering_key: None,
            dedupe_key: None,
            delay: Duration::ZERO,
        }
    }
}

/// What became of a publish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Published {
    /// The event is in the outbox; it exists exactly if the transaction commits.
    New,
    /// An event with the same dedupe key is live: nothing was written.
    Duplicate,
}

/// Proof of one claim: which delivery, and which claim of it. A lost claim's ticket settles nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Ticket {
    pub(crate) outbox_id: i64,
    pub(crate) token: Uuid,
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.outbox_id, self.token.simple())
    }
}

/// One event in the hands of one consumer, leased.
#[derive(Debug, Clone, PartialEq)]
pub struct Delivery {
    /// What `beat`, `done`, `retry`, `defer` and `dead_letter` ask for.
    pub ticket: Ticket,
    /// The event's id, stable over redelivery.
    pub event_id: Uuid,
    /// The topic.
    pub destination: String,
    /// The dotted word.
    pub event_type: String,
    /// The JSON text as it was published.
    pub payload: String,
    /// The headers as they were published.
    pub headers: serde_json::Value,
    /// The ordering key, when it has one.
    pub ordering_key: Option<String>,
    /// Claims so far, this one included.
    pub attempts: u32,
    /// Handler failures so far.
    pub failures: u32,
    /// When it was published.
    pub published_at: DateTime<Utc>,
    /// When it became due first.
    pub available_at: DateTime<Utc>,
}

/// An event that a group gave up on, kept with the reason.
#[derive(Debug, Clone, PartialEq)]
pub struct DeadLetter {
    /// What `requeue` asks for.
    pub id: i64,
    /// The group that gave up.
    pub group: String,
    /// The event's id.
    pub event_id: Uuid,
    /// The topic.
    pub destination: String,
    /// The dotted word.
    pub event_type: String,
    /// The JSON text as it was published.
    pub payload: String,
    /// Claims it had.
    pub attempts: u32,
    /// Why in a few words: `handler failed`, `claimed repeatedly, never settled`.
    pub reason: String,
    /// The last error.
    pub error: Option<String>,
    /// When the group gave up.
    pub failed_at: DateTime<Utc>,
    /// When an operator sent it back.
    pub requeued_at: Option<DateTime<Utc>>,
}
