//! Events: the same envelope on the bus and in a webhook.

use std::{fmt, str::FromStr};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{JsonObject, result::ExtractionResult, status::Extraction};

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum EventType {
    /// A row was inserted, requeued or revived: somebody should claim it.
    #[serde(rename = "extraction.submitted")]
    Submitted,
    /// It succeeded, failed or was cancelled.
    #[serde(rename = "extraction.completed")]
    Completed,
    /// The bbox leg waits for a bbox worker.
    #[serde(rename = "extraction.post_processing.requested")]
    PostProcessingRequested,
    /// The bbox leg settled.
    #[serde(rename = "extraction.post_processing.completed")]
    PostProcessingCompleted,
}

impl EventType {
    /// Every event type.
    pub const ALL: [Self; 4] = [
        Self::Submitted,
        Self::Completed,
        Self::PostProcessingRequested,
        Self::PostProcessingCompleted,
    ];

    /// The dotted word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Submitted => "extraction.submitted",
            Self::Completed => "extraction.completed",
            Self::PostProcessingRequested => "extraction.post_processing.requested",
            Self::PostProcessingCompleted => "extraction.post_processing.completed",
        }
    }

    /// True for the types that callers get as webhooks.
    pub const fn is_webhook(self) -> bool {
        matches!(self, Self::Completed | Self::PostProcessingCompleted)
    }

    /// True for the types that travel on the post-processing topic.
    pub const fn is_post_processing(self) -> bool {
        matches!(
            self,
            Self::PostProcessingRequested | Self::PostProcessingCompleted
        )
    }
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for EventType {
    type Err = UnknownEventType;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|t| t.as_str() == text)
            .ok_or_else(|| UnknownEventType {
                given: text.chars().take(64).collect(),
            })
    }
}

/// A word that names no event type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not an event type of flydocs")]
pub struct UnknownEventType {
    /// What was given.
    pub given: String,
}

/// The consumer group of the extraction workers.
pub const WORKERS_GROUP: &str = "flydocs-workers";
/// The consumer group of the bbox workers.
pub const BBOX_WORKERS_GROUP: &str = "flydocs-bbox-workers";
/// The default topic of submissions and completions (`FLYDOCS_JOBS_TOPIC`).
pub const JOBS_TOPIC: &str = "flydocs.extractions";
/// The default topic of the bbox leg (`FLYDOCS_BBOX_REFINE_TOPIC`).
pub const BBOX_REFINE_TOPIC: &str = "flydocs.extractions.post_processing";
/// The version of the envelope.
pub const ENVELOPE_VERSION: &str = "1.0.0";

/// An event as consumers and webhook receivers read it, keys in this order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Envelope {
    /// Stable over redelivery.
    pub event_id: Uuid,
    /// What happened.
    pub event_type: EventType,
    /// Version of this shape.
    pub version: String,
    /// When it happened.
    pub occurred_at: DateTime<Utc>,
    /// The caller's correlation id.
    pub correlation_id: Option<String>,
    /// The caller's tenant.
    pub tenant_id: Option<String>,
    /// The extraction as it stood.
    pub extraction: Extraction,
    /// The result; on webhooks of a success only.
    pub result: Option<ExtractionResult>,
    /// The caller's metadata, verbatim.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub metadata: JsonObject,
}
