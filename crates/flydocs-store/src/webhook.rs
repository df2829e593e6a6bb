//! Webhook deliveries: one row for each event a caller is told about, and the log of its attempts.

use std::time::Duration;

use flydocs_contract::{EventType, ExtractionId, Timestamp};
use uuid::Uuid;

use crate::submission::Correlation;

/// Where a delivery stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeliveryStatus {
    /// Waiting for its next attempt, or in one.
    Pending,
    /// The receiver took it.
    Delivered,
    /// Given up, or refused for good.
    Failed,
}

impl DeliveryStatus {
    /// The word in the table and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Delivered => "delivered",
            Self::Failed => "failed",
        }
    }
}

impl std::str::FromStr for DeliveryStatus {
    type Err = UnknownDeliveryStatus;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::Pending, Self::Delivered, Self::Failed]
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or(UnknownDeliveryStatus)
    }
}

/// A word that is no status of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a delivery status; known are pending, delivered, failed")]
pub struct UnknownDeliveryStatus;

/// A delivery with its log, as callers see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The id of the event, and of the delivery.
    pub event_id: Uuid,
    /// The extraction.
    pub extraction_id: ExtractionId,
    /// What happened.
    pub event_type: EventType,
    /// Where it goes.
    pub url: String,
    /// Where it stands.
    pub status: DeliveryStatus,
    /// Attempts so far.
    pub attempts: u32,
    /// When it was written.
    pub created_at: Timestamp,
    /// When it is due, while pending.
    pub next_attempt_at: Option<Timestamp>,
    /// When it was delivered or given up.
    pub finished_at: Option<Timestamp>,
    /// Its attempts, oldest first.
    pub log: Vec<DeliveryAttempt>,
}

/// One attempt to deliver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryAttempt {
    /// Which, from 1.
    pub attempt: u32,
    /// When it ended.
    pub at: Timestamp,
    /// The status of the answer, when there was one.
    pub status_code: Option<u16>,
    /// How long it took.
    pub duration: Duration,
    /// What went wrong, when there was no answer.
    pub error: Option<String>,
    /// The first 4 KiB of the answer.
    pub answer: Option<String>,
}

/// Proof of a claim on a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DeliveryToken {
    /// The delivery.
    pub event_id: Uuid,
    /// Its attempts as of the claim.
    pub attempt: u32,
    /// Grows with every claim and redelivery.
    pub fence: u64,
}

/// A delivery to make now.
#[derive(Debug, Clone)]
pub struct DueDelivery {
    /// What to settle it with.
    pub token: DeliveryToken,
    /// The extraction.
    pub extraction_id: ExtractionId,
    /// What happened.
    pub event_type: EventType,
    /// Where it goes.
    pub url: String,
    /// Exactly the bytes to post.
    pub body: Vec<u8>,
    /// What the correlation headers say.
    pub correlation: Correlation,
    /// Which attempt since it was written, or since it was last sent again by hand; from 1.
    pub attempt_of_round: u32,
    /// How long it has been tried since then, by the database's clock.
    pub tried_for: Duration,
}

/// Which due deliveries to take.
#[derive(Debug, Clone)]
pub struct DeliveryClaim {
    /// The worker.
    pub worker: String,
    /// At most so many.
    pub limit: u32,
    /// How long they are this worker's.
    pub lease: Duration,
    /// Receivers (`host:port`) that have enough in flight here: theirs are left alone.
    pub except_receivers: Vec<String>,
}

/// What an attempt came to, for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptReport {
    /// The status of the answer, when there was one.
    pub status_code: Option<u16>,
    /// How long it took.
    pub duration: Duration,
    /// What went wrong, when there was no answer.
    pub error: Option<String>,
    /// The beginning of the answer; more than 4 KiB is cut.
    pub answer: Option<String>,
}

/// What happens to a delivery after an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterAttempt {
    /// The receiver took it.
    Delivered,
    /// Again, after this long.
    RetryIn(Duration),
    /// Refused for good, or tried for long enough.
    GiveUp,
}

/// The first bytes of an answer that the log keeps.
pub const ANSWER_LIMIT: usize = 4096;

/// The receiver a callback URL names, as `host:port`: what "one slow receiver" means.
pub fn receiver(url: &str) -> String {
    let after_scheme = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = after_scheme
        .split(['/', '?', '#'])
        .next()
        .unwrap_or_default();
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host)
        .to_ascii_lowercase();
    let has_port = host
        .rsplit_once(':')
        .is_some_and(|(_, port)| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()));
    if has_port {
        host
    } else if url.starts_with("http://") {
        format!("{host}:80")
    } else {
        format!("{host}:443")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receiver_is_its_host_and_port() {
        for (url, expected) in [
            ("https://Example.com/hook?x=1", "example.com:443"),
            ("http://example.com", "example.com:80"),
            ("http://user:pw@example.com:8080/a", "example.com:8080"),
            ("https://[::1]:9/x", "[::1]:9"),
            ("https://[::1]/x", "[::1]:443"),
        ] {
            assert_eq!(receiver(url), expected, "{url}");
        }
    }
}
