//! The shapes of this room alone: version, health, webhook log, progress. All others are the contract's.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use flydocs_contract::{EventType, ExtractionId, JsonObject, LegStatus, Status};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// What runs here.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Version {
    /// Always `flydocs`.
    #[schema(example = "flydocs")]
    pub service: &'static str,
    /// The version of the service.
    pub version: String,
    /// The model of requests that name none.
    #[schema(example = "local:layout")]
    pub model: String,
    /// The model that is tried when the first fails for a reason that may pass.
    pub fallback_model: Option<String>,
    /// Which bus it runs on.
    #[schema(example = "sqlite")]
    pub eda_adapter: String,
}

/// Whether it works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Up {
    /// It does.
    Up,
    /// It does not.
    Down,
}

/// The health of the service.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Health {
    /// UP when every component is.
    pub status: Up,
    /// By name: `database`, `eda`.
    pub components: BTreeMap<String, Component>,
}

/// The health of one component.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Component {
    /// Whether it works.
    pub status: Up,
    /// What there is to say.
    #[schema(value_type = Object)]
    pub details: JsonObject,
}

/// The part `request` of a multipart body; `openapi/finish.rs` gives it the keys of ExtractRequest.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct MultipartRequest {
    /// What is to be known of files, by file name.
    pub file_options: BTreeMap<String, FileOptions>,
}

/// What is to be known of one part `files`.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FileOptions {
    /// The id of a declared type it is pinned to.
    pub expected_type: Option<String>,
}

/// The two parts of a multipart body, for the OpenAPI document.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub struct MultipartBody {
    /// application/json.
    request: MultipartRequest,
    /// One part a file.
    #[schema(value_type = Vec<String>, format = Binary)]
    files: Vec<String>,
}

/// The webhook log of one extraction.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct DeliveryList {
    /// Oldest first.
    pub items: Vec<Delivery>,
}

/// Where a delivery stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryStatus {
    /// Waiting for its next attempt, or in one.
    Pending,
    /// The receiver took it.
    Delivered,
    /// Given up, or refused for good.
    Failed,
}

/// One event on its way to its receiver.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Delivery {
    /// Its id, which is the event's `event_id` and the header `webhook-id`.
    pub id: Uuid,
    /// The extraction it speaks of.
    #[schema(value_type = String)]
    pub extraction_id: ExtractionId,
    /// What happened.
    pub event_type: EventType,
    /// Where it goes.
    pub url: String,
    /// Where it stands.
    pub status: DeliveryStatus,
    /// Attempts so far.
    pub attempts: u32,
    /// When the event was written.
    pub created_at: DateTime<Utc>,
    /// When it is due, while pending.
    pub next_attempt_at: Option<DateTime<Utc>>,
    /// When it was delivered or given up.
    pub finished_at: Option<DateTime<Utc>>,
    /// Its attempts, oldest first.
    pub log: Vec<DeliveryAttempt>,
}

/// One attempt to deliver.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct DeliveryAttempt {
    /// Which, from 1.
    pub attempt: u32,
    /// When it ended.
    pub at: DateTime<Utc>,
    /// The status of the answer; `null` when there was none.
    pub status_code: Option<u16>,
    /// How long it took.
    pub duration_ms: u64,
    /// What went wrong; `null` when there was an answer.
    pub error: Option<String>,
    /// The first 4 KiB of the answer.
    pub answer: Option<String>,
}

impl From<flydocs_store::Delivery> for Delivery {
    fn from(stored: flydocs_store::Delivery) -> Self {
        Self {
            id: stored.event_id,
            extraction_id: stored.extraction_id,
            event_type: stored.event_type,
            url: stored.url,
            status: match stored.status {
                flydocs_store::DeliveryStatus::Pending => DeliveryStatus::Pending,
                flydocs_store::DeliveryStatus::Delivered => DeliveryStatus::Delivered,
                flydocs_store::DeliveryStatus::Failed => DeliveryStatus::Failed,
            },
            attempts: stored.attempts,
            created_at: stored.created_at,
            next_attempt_at: stored.next_attempt_at,
            finished_at: stored.finished_at,
            log: stored
                .log
                .into_iter()
                .map(|attempt| DeliveryAttempt {
                    attempt: attempt.attempt,
                    at: attempt.at,
                    status_code: attempt.status_code,
                    duration_ms: u64::try_from(attempt.duration.as_millis()).unwrap_or(u64::MAX),
                    error: attempt.error,
                    answer: attempt.answer,
                })
                .collect(),
        }
    }
}

/// The data of the server-sent event `state`: one change of an extraction or of its leg.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct StateChange {
    /// Where it stands after it.
    pub status: Status,
    /// Where the leg stands after it.
    pub bbox_refinement: Option<LegStatus>,
    /// Attempts used up.
    pub attempts: u32,
    /// When.
    pub at: DateTime<Utc>,
    /// The error it left.
    pub error: Option<flydocs_contract::status::ExtractionError>,
}

/// The data of the server-sent event `progress`: where the worker is.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct StageProgress {
    /// The stage it runs.
    pub stage: String,
    /// Pages done in it.
    pub pages_done: Option<u32>,
    /// Pages to do in it.
    pub pages_total: Option<u32>,
}
