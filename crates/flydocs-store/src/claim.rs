//! Claims: what a worker gets when it won a row, and the tokens that fence what it does with it.

use std::time::Duration;

use flydocs_contract::{Extraction, ExtractionId, JsonObject};

use crate::{
    row::{Progress, Stored},
    submission::{Correlation, StoredRequest},
};

/// Proof of a claim on an extraction. Once the claim is lost, nothing can be done with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Token {
    /// The extraction.
    pub id: ExtractionId,
    /// Its attempts as of the claim.
    pub attempts: u32,
    /// Its fence as of the claim: unlike attempts it never goes back, not even on a retry by hand.
    pub fence: u64,
}

/// Proof of a claim on the bbox leg of an extraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LegToken {
    /// The extraction.
    pub id: ExtractionId,
    /// The attempts of the leg as of the claim.
    pub attempts: u32,
    /// The row's fence as of the claim.
    pub fence: u64,
}

/// A won extraction.
#[derive(Debug, Clone)]
pub struct Claim {
    /// What to show with everything done in its name.
    pub token: Token,
    /// The row, running.
    pub extraction: Extraction,
    /// What to do.
    pub request: StoredRequest,
    /// Whose it is.
    pub tenant_id: Option<String>,
    /// The caller's metadata.
    pub metadata: JsonObject,
    /// What ties it to the caller's own traces.
    pub correlation: Correlation,
}

/// What `mark_running` gave.
#[derive(Debug, Clone)]
pub enum Claimed {
    /// The row is this worker's.
    Won(Box<Claim>),
    /// The row was lost and its attempts are used up: it is failed now, with code `worker_lost`.
    WorkerLost(Box<Stored>),
    /// The row was lost and its caller had asked to cancel: it is cancelled now.
    Cancelled(Box<Stored>),
    /// Queued, but not before this long from now: come back then.
    NotDue(Duration),
    /// Somebody else's, and not lost: come back later, or leave it to the reaper.
    Held,
    /// Finished, or gone: there is nothing to do.
    None,
}

/// A won bbox leg.
#[derive(Debug, Clone)]
pub struct LegClaim {
    /// What to show with everything done in its name.
    pub token: LegToken,
    /// The row, its leg running.
    pub extraction: Extraction,
    /// What was asked.
    pub request: StoredRequest,
    /// The result so far, JSON.
    pub result: String,
    /// Whose it is.
    pub tenant_id: Option<String>,
    /// The caller's metadata.
    pub metadata: JsonObject,
    /// What ties it to the caller's own traces.
    pub correlation: Correlation,
}

/// What `mark_bbox_refinement_running` gave.
#[derive(Debug, Clone)]
pub enum LegClaimed {
    /// The leg is this worker's.
    Won(Box<LegClaim>),
    /// The leg was lost and its attempts are used up: it is failed now, with code `worker_lost`.
    WorkerLost(Box<Stored>),
    /// Pending, but not before this long from now: come back then.
    NotDue(Duration),
    /// Somebody else's, and not lost.
    Held,
    /// Settled, never wanted, or gone: there is nothing to do.
    None,
}

/// How a claim is put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requeue {
    /// How long it stays away from workers, by the database's clock.
    pub delay: Duration,
    /// Why, kept visible on the row.
    pub error: flydocs_contract::status::ExtractionError,
}

/// One beat for one claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beat {
    /// The extraction.
    pub id: ExtractionId,
    /// The fence of the claim.
    pub fence: u64,
    /// Where the worker is; `None` leaves what was said before.
    pub progress: Option<Progress>,
}

impl Beat {
    /// A beat for a claim on an extraction.
    pub fn of(token: &Token, progress: Option<Progress>) -> Self {
        Self {
            id: token.id,
            fence: token.fence,
            progress,
        }
    }

    /// A beat for a claim on a bbox leg.
    pub fn of_leg(token: &LegToken, progress: Option<Progress>) -> Self {
        Self {
            id: token.id,
            fence: token.fence,
            progress,
        }
    }
}

/// A claim that is still its worker's. What is not in the answer of a heartbeat is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beaten {
    /// The extraction.
    pub id: ExtractionId,
    /// The fence of the claim.
    pub fence: u64,
    /// True when its caller asked to stop: stop and call `settle_cancelled`.
    pub cancel_requested: bool,
}

/// What `request_cancel` did.
#[derive(Debug, Clone)]
pub enum CancelRequested {
    /// It was queued and is cancelled now.
    Cancelled(Box<Stored>),
    /// It is running; its worker will see the request.
    Requested(Box<Stored>),
    /// It is past the point: succeeded, failed or cancelled.
    Refused(Box<Stored>),
    /// No such extraction.
    NotFound,
}

/// What `retry` did.
#[derive(Debug, Clone)]
pub enum Retried {
    /// It is queued again, its attempts are reset, its log is kept.
    Queued(Box<Stored>),
    /// It is not failed or cancelled.
    Refused(Box<Stored>),
    /// No such extraction.
    NotFound,
}
