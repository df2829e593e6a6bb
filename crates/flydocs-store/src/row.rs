//! An extraction as the rooms above read it: the wire shape and what stands beside it.

use flydocs_contract::{
    Extraction, JsonObject, LegStatus, Status, Timestamp, status::ExtractionError,
};
use serde::{Deserialize, Serialize};

use crate::submission::Correlation;

/// A row of `extractions` without its request and result.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    /// What callers see.
    pub extraction: Extraction,
    /// Whose it is.
    pub tenant_id: Option<String>,
    /// The key it was submitted with.
    pub idempotency_key: Option<String>,
    /// The name of its first file.
    pub filename: String,
    /// The size of all its files.
    pub content_bytes: u64,
    /// Where webhooks go.
    pub callback_url: Option<String>,
    /// The caller's metadata, verbatim.
    pub metadata: JsonObject,
    /// What ties it to the caller's own traces.
    pub correlation: Correlation,
    /// When it may run next, while queued after a retry.
    pub next_attempt_at: Option<Timestamp>,
    /// When `:cancel` asked its worker to stop.
    pub cancel_requested_at: Option<Timestamp>,
    /// The worker that has it, or had it last.
    pub claimed_by: Option<String>,
    /// When that worker last said that it is alive.
    pub heartbeat_at: Option<Timestamp>,
    /// Where its worker is.
    pub progress: Option<Progress>,
    /// Grows with every visible change of the row: the id of a server-sent event.
    pub revision: u64,
    /// Grows with every transition: what a claim token is held against.
    pub fence: u64,
}

impl Stored {
    /// Where the bbox leg stands, when there is one.
    pub fn leg_status(&self) -> Option<LegStatus> {
        self.extraction
            .post_processing
            .as_ref()
            .map(|p| p.bbox_refinement.status)
    }

    /// True when nothing will happen to it by itself any more, the leg included.
    pub fn is_settled(&self) -> bool {
        self.extraction.status.is_terminal() && self.leg_status().is_none_or(LegStatus::is_terminal)
    }
}

/// Where a worker is with an extraction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// The stage it runs.
    pub stage: String,
    /// Pages done in that stage, when it works by pages.
    #[serde(default)]
    pub pages_done: Option<u32>,
    /// Pages to do in that stage.
    #[serde(default)]
    pub pages_total: Option<u32>,
}

/// One transition of one extraction, as the log keeps it.
#[derive(Debug, Clone, PartialEq)]
pub struct Moment {
    /// The revision of the row after it.
    pub revision: u64,
    /// When.
    pub at: Timestamp,
    /// The method that made it.
    pub method: String,
    /// The status after it.
    pub status: Status,
    /// The status of the leg after it.
    pub leg_status: Option<LegStatus>,
    /// The attempts used up after it.
    pub attempts: u32,
    /// The worker that made it, or had made the claim.
    pub worker: Option<String>,
    /// The error it left.
    pub error: Option<ExtractionError>,
}
