//! What a transition announces: the event for the outbox and the delivery for the caller's webhook.
//!
//! Both carry the envelope with the same event id. The id follows from the row and its state, so announcing the same
//! state twice is the same event.

use std::time::Duration;

use flydocs_bus::NewEvent;
use flydocs_contract::{EventType, Extraction, JsonObject, Timestamp, event::ENVELOPE_VERSION};
use serde::Serialize;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::{
    error::Result, options::Options, record::Record, row::Stored, submission::Correlation,
};

/// The event becomes due a little after the row, whose clock is read in another statement: an event that comes
/// early would be taken for a repetition.
const SAFELY_LATER: Duration = Duration::from_millis(2);

/// An event, not yet written.
#[derive(Debug)]
pub(crate) struct Announcement {
    event_type: EventType,
    key: String,
    event_id: Uuid,
    occurred_at: Timestamp,
    stored: Stored,
}

/// [`flydocs_contract::Envelope`] with a result that is not read again: the same keys in the same order.
#[derive(Serialize)]
struct EnvelopeText<'a> {
    event_id: Uuid,
    event_type: EventType,
    version: &'static str,
    occurred_at: Timestamp,
    correlation_id: Option<&'a str>,
    tenant_id: Option<&'a str>,
    extraction: &'a Extraction,
    result: Option<&'a RawValue>,
    metadata: &'a JsonObject,
}

impl Announcement {
    /// What `record`, as it stands after its transition, has to say.
    pub(crate) fn of(record: &Record, event_type: EventType) -> Result<Self> {
        let key = dedupe_key(&record.id, event_type, record.fence);
        Ok(Self {
            event_type,
            event_id: event_id(&key),
            key,
            occurred_at: record.now,
            stored: record.clone().stored()?,
        })
    }

    /// The topic it travels on.
    pub(crate) fn topic<'o>(&self, options: &'o Options) -> &'o str {
        if self.event_type.is_post_processing() {
            &options.bbox_refine_topic
        } else {
            &options.jobs_topic
        }
    }

    /// The event for the outbox, due after `delay`.
    pub(crate) fn event(&self, options: &Options, delay: Duration) -> NewEvent {
        let mut event = NewEvent::new(
            self.event_id,
            self.topic(options),
            self.event_type.as_str(),
            self.envelope(None),
        );
        event.headers = headers(&self.stored.correlation);
        event.dedupe_key = Some(self.key.clone());
        event.delay = if delay.is_zero() {
            delay
        } else {
            delay + SAFELY_LATER
        };
        event
    }

    /// Where a webhook with it goes, when its caller wants one.
    pub(crate) fn callback_url(&self) -> Option<&str> {
        self.stored
            .callback_url
            .as_deref()
            .filter(|_| self.event_type.is_webhook())
    }

    /// Exactly the bytes a webhook posts.
    pub(crate) fn webhook_body(&self, result: Option<&RawValue>) -> Vec<u8> {
        self.envelope(result).into_bytes()
    }

    pub(crate) fn event_id(&self) -> Uuid {
        self.event_id
    }

    fn envelope(&self, result: Option<&RawValue>) -> String {
        let text = EnvelopeText {
            event_id: self.event_id,
            event_type: self.event_type,
            version: ENVELOPE_VERSION,
            occurred_at: self.occurred_at,
            correlation_id: self.stored.correlation.correlation_id.as_deref(),
            tenant_id: self.stored.tenant_id.as_deref(),
            extraction: &self.stored.extraction,
            result,
            metadata: &self.stored.metadata,
        };
        // Strings, numbers and objects with string keys: nothing that JSON cannot say.
        serde_json::to_string(&text).unwrap_or_default()
    }
}

/// The key under which an event of one state of one row is written once.
pub(crate) fn dedupe_key(id: &str, event_type: EventType, fence: i64) -> String {
    format!("{id}/{event_type}/{fence}")
}

/// Stable over repetition, and different for every state of every row.
fn event_id(key: &str) -> Uuid {
    let digest: [u8; 32] = Sha256::digest(key.as_bytes()).into();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

fn headers(correlation: &Correlation) -> serde_json::Value {
    serde_json::to_value(correlation)
        .unwrap_or_else(|_| serde_json::Value::Object(serde_json::Map::new()))
}
