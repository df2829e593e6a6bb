//! The extractions table: transitions, queries, results, blobs and webhook deliveries.
//!
//! The only door to a status. [`Store`] is the port; SQLite and PostgreSQL stand behind it. Every transition is one
//! conditional update, and what it announces (an event, a webhook delivery) is written in the same transaction.

pub mod blob;
pub mod change;
pub mod claim;
pub mod error;
pub mod listing;
pub mod options;
pub mod orphan;
pub mod row;
pub mod store;
pub mod submission;
pub mod webhook;
pub mod worker;

pub use blob::{BlobId, BlobInfo, Download, Upload};
pub use change::Watch;
pub use claim::{
    Beat, Beaten, CancelRequested, Claim, Claimed, LegClaim, LegClaimed, LegToken, Requeue,
    Retried, Token,
};
pub use error::{Error, Result};
pub use listing::{Counts, Filter, Listed};
pub use options::Options;
pub use orphan::{Orphan, OrphanClass, OrphanCursor, Reannounced};
pub use row::{Moment, Progress, Stored};
pub use store::{Health, Retained, Store};
pub use submission::{Correlation, NewExtraction, StoredFile, StoredRequest, Submitted};
pub use webhook::{
    AfterAttempt, AttemptReport, Delivery, DeliveryAttempt, DeliveryClaim, DeliveryStatus,
    DeliveryToken, DueDelivery,
};
pub use worker::{Worker, WorkerLiveness};
