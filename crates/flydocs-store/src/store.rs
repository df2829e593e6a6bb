//! The port: everything the rooms above may do with the tables of flydocs.
//!
//! Two implementations (SQLite, PostgreSQL) answer to one conformance suite; what it does not promise, nobody
//! may use. A transition is one conditional update: the loser gets `None`, never a partial write.

use std::{collections::BTreeMap, fmt::Debug, sync::Arc};

use async_trait::async_trait;
use flydocs_contract::{ExtractionId, status::ExtractionError};
use uuid::Uuid;

use crate::{
    blob::{BlobId, BlobInfo, Download, Upload},
    change::{DeliveryWatch, Watch},
    claim::{
        Beat, Beaten, CancelRequested, Claimed, LegClaimed, LegToken, Requeue, Retried, Token,
    },
    error::Result,
    listing::{Counts, Filter, Listed},
    options::Options,
    orphan::{Orphan, OrphanClass, OrphanCursor, Reannounced},
    row::{Moment, Stored},
    submission::{NewExtraction, StoredRequest, Submitted},
    webhook::{AfterAttempt, AttemptReport, Delivery, DeliveryClaim, DeliveryToken, DueDelivery},
    worker::{Worker, WorkerLiveness},
};

/// What is called with a topic after an event was committed there.
pub type Wake = Arc<dyn Fn(&str) + Send + Sync>;

/// The extractions table and what belongs to it. `tenant` scopes a look-up when it is given.
#[async_trait]
pub trait Store: Send + Sync + Debug {
    /// The settings it was opened with.
    fn options(&self) -> &Options;

    // -- schema and health ------------------------------------------------------------------------

    /// Calls `wake` with the topic after every commit that wrote an event: connect it to the bus's
    /// own `wake`.
    fn on_published(&self, wake: Wake);

    /// Brings the schema (the bus's too) up to date. Any number of processes may do so at once: one
    /// migrates, the others find it done.
    async fn migrate(&self) -> Result<()>;

    /// Asks the database for a sign of life.
    async fn health(&self) -> Result<Health>;

    /// Closes every connection; what is running is finished first.
    async fn close(&self);

    // -- callers ----------------------------------------------------------------------------------

    /// Inserts the row, its references to blobs and its event `extraction.submitted`, all or
    /// nothing. Two calls with one key: one inserts, both get that row.
    async fn submit(&self, new: NewExtraction) -> Result<Submitted>;

    /// The row as it stands.
    async fn get(&self, id: ExtractionId, tenant: Option<&str>) -> Result<Option<Stored>>;

    /// What was asked.
    async fn request(
        &self,
        id: ExtractionId,
        tenant: Option<&str>,
    ) -> Result<Option<StoredRequest>>;

    /// The result as JSON text; `None` until it succeeded.
    async fn result(&self, id: ExtractionId, tenant: Option<&str>) -> Result<Option<String>>;

    /// One page of the list.
    async fn list(&self, filter: &Filter) -> Result<Listed>;

    /// The log of its transitions after `after_revision`, oldest first.
    async fn history(
        &self,
        id: ExtractionId,
        tenant: Option<&str>,
        after_revision: u64,
    ) -> Result<Vec<Moment>>;

    /// A watch on one row: take it, read the row, wait for a change, read again.
    fn watch(&self, id: ExtractionId) -> Watch;

    /// `DELETE`: queued -> cancelled, nothing else.
    async fn mark_cancelled(
        &self,
        id: ExtractionId,
        tenant: Option<&str>,
    ) -> Result<Option<Stored>>;

    /// `:cancel`: queued -> cancelled at once; running is asked to stop.
    async fn request_cancel(
        &self,
        id: ExtractionId,
        tenant: Option<&str>,
    ) -> Result<CancelRequested>;

    /// `:retry`: failed or cancelled -> queued, attempts reset.
    async fn retry(&self, id: ExtractionId, tenant: Option<&str>) -> Result<Retried>;

    // -- extraction workers -----------------------------------------------------------------------

    /// Queued and due, or running and lost -> running. `worker` is [`WorkerLiveness::instance`].
    async fn mark_running(&self, id: ExtractionId, worker: &str) -> Result<Claimed>;

    /// Running -> succeeded, with its result (JSON text); the leg becomes pending when boxes are
    /// wanted. When its caller had asked to cancel, the row ends cancelled and the result is not
    /// kept: the row that comes back says so.
    async fn mark_succeeded(
        &self,
        token: &Token,
        result: &str,
        wants_bbox: bool,
    ) -> Result<Option<Stored>>;

    /// Running -> failed (or cancelled, when its caller had asked for it).
    async fn mark_failed(&self, token: &Token, error: &ExtractionError) -> Result<Option<Stored>>;

    /// Running -> queued, due after the delay (or cancelled, when its caller had asked for it).
    async fn requeue_for_retry(&self, token: &Token, requeue: &Requeue) -> Result<Option<Stored>>;

    /// Running -> queued at once, without using up the attempt (or cancelled, when its caller had
    /// asked for it).
    async fn give_back(&self, token: &Token) -> Result<Option<Stored>>;

    /// Running and asked to cancel -> cancelled.
    async fn settle_cancelled(&self, token: &Token) -> Result<Option<Stored>>;

    /// Says of many claims (of extractions and legs alike) that their worker is alive. What does
    /// not come back is lost: stop that work.
    async fn heartbeat(&self, beats: &[Beat]) -> Result<Vec<Beaten>>;

    // -- bbox workers -----------------------------------------------------------------------------

    /// Asks again for the refinement of a pending leg.
    async fn start_bbox_refinement(&self, id: ExtractionId) -> Result<Option<Stored>>;

    /// Leg pending and due, or running and lost -> leg running.
    async fn mark_bbox_refinement_running(
        &self,
        id: ExtractionId,
        worker: &str,
    ) -> Result<LegClaimed>;

    /// Leg running -> leg succeeded; the result is replaced.
    async fn mark_bbox_refinement_succeeded(
        &self,
        token: &LegToken,
        result: &str,
    ) -> Result<Option<Stored>>;

    /// Leg running -> leg failed; the extraction and its result stay as they are.
    async fn mark_bbox_refinement_failed(
        &self,
        token: &LegToken,
        error: &ExtractionError,
    ) -> Result<Option<Stored>>;

    /// Leg running -> leg pending, due after the delay.
    async fn requeue_bbox_refinement(
        &self,
        token: &LegToken,
        requeue: &Requeue,
    ) -> Result<Option<Stored>>;

    /// Leg pending -> leg pending, due after the delay, announced anew.
    async fn requeue_pending_bbox_refinement(
        &self,
        id: ExtractionId,
        requeue: &Requeue,
    ) -> Result<Option<Stored>>;

    /// Leg running -> leg pending at once, without using up the attempt.
    async fn give_back_bbox_refinement(&self, token: &LegToken) -> Result<Option<Stored>>;

    // -- liveness and reapers ---------------------------------------------------------------------

    /// Registers a worker for as long as the guard lives; `name` is for people.
    async fn register_worker(&self, name: &str) -> Result<WorkerLiveness>;

    /// Ends a registration in order: no sweep finds the worker dead, and what it still has claimed is lost
    /// at once. A worker that is dropped instead is found dead.
    async fn sign_off(&self, worker: WorkerLiveness) -> Result<()>;

    /// Looks which registered workers are dead and notes it; returns the instances found dead now.
    /// From then on their claims are lost, and what they took from the bus of this database under
    /// that name is due at once.
    async fn sweep_workers(&self) -> Result<Vec<String>>;

    /// The registered workers, newest first.
    async fn workers(&self) -> Result<Vec<Worker>>;

    /// Rows with the signature of a class, oldest first, `limit` a page.
    async fn orphans(
        &self,
        class: OrphanClass,
        after: Option<&OrphanCursor>,
        limit: u32,
    ) -> Result<Vec<Orphan>>;

    /// Announces an orphan again, unless an event for its present state is on its way already.
    async fn reannounce(&self, orphan: &Orphan) -> Result<Reannounced>;

    /// The operator's override: makes a running row look started long ago, so that the next claim
    /// takes it, and announces it. `None` when it is not running.
    async fn reclaim(&self, id: ExtractionId) -> Result<Option<Stored>>;

    /// Figures for metrics.
    async fn counts(&self) -> Result<Counts>;

    // -- webhooks ---------------------------------------------------------------------------------

    /// A watch on webhook deliveries: take it, look for what is due, wait, look again.
    fn watch_deliveries(&self) -> DeliveryWatch;

    /// Takes due deliveries for the length of a lease.
    async fn claim_deliveries(&self, claim: &DeliveryClaim) -> Result<Vec<DueDelivery>>;

    /// Writes an attempt into the log and settles the delivery; false when the claim was lost.
    async fn settle_delivery(
        &self,
        token: &DeliveryToken,
        report: &AttemptReport,
        after: AfterAttempt,
    ) -> Result<bool>;

    /// Makes the leases of claimed deliveries last from now on; returns how many were still held.
    async fn keep_deliveries(
        &self,
        tokens: &[DeliveryToken],
        lease: std::time::Duration,
    ) -> Result<u64>;

    /// Puts claimed deliveries back without an attempt (shutdown); returns how many.
    async fn give_back_deliveries(&self, tokens: &[DeliveryToken]) -> Result<u64>;

    /// A new attempt of the same event, at once, with the same bytes. `None` when there is none.
    async fn redeliver(&self, event_id: Uuid, tenant: Option<&str>) -> Result<Option<Delivery>>;

    /// The deliveries of an extraction with their logs, oldest first.
    async fn deliveries(
        &self,
        id: ExtractionId,
        tenant: Option<&str>,
    ) -> Result<Option<Vec<Delivery>>>;

    /// When the next delivery is due, as a delay from now; `None` when there is none.
    async fn next_delivery_in(&self) -> Result<Option<std::time::Duration>>;

    // -- blobs and retention ----------------------------------------------------------------------

    /// Stores bytes as they arrive, hashing them; the same bytes are stored once.
    async fn put_blob(&self, upload: Upload<'_>) -> Result<BlobInfo>;

    /// The bytes of a blob; `None` when it is not stored.
    async fn get_blob(&self, id: &BlobId) -> Result<Option<Download>>;

    /// Deletes one small batch of what is over its time. Call again until [`Retained::is_done`].
    async fn retain(&self, batch: u32) -> Result<Retained>;
}

/// A sign of life.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// `sqlite` or `postgres`.
    pub database: &'static str,
    /// What the server says it is.
    pub version: String,
    /// Whether dead workers can be told at once; else leases and heartbeats decide alone.
    pub watches_workers: bool,
    /// More to show.
    pub details: BTreeMap<String, String>,
}

/// What one batch of the retention deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retained {
    /// Finished extractions, with their results, logs and deliveries.
    pub extractions: u64,
    /// Blobs nobody refers to, and uploads that were never finished.
    pub blobs: u64,
    /// Dead workers nobody refers to.
    pub workers: u64,
}

impl Retained {
    /// True when nothing was left to delete.
    pub fn is_done(&self) -> bool {
        *self == Self::default()
    }
}
