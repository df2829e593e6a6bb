#![doc = include_str!("../README.md")]

#[macro_use]
mod dialect;

mod announcement;
pub mod blob;
mod blobs;
pub mod change;
pub mod claim;
mod conflict;
mod deliveries;
pub mod error;
mod extractions;
pub mod listing;
mod opening;
pub mod options;
pub mod orphan;
#[cfg(test)]
mod plans;
mod port;
mod postgres;
mod record;
mod retention;
pub mod row;
mod sql_store;
mod sqlite;
pub mod store;
pub mod submission;
mod transition;
pub mod webhook;
pub mod worker;
mod workers;

pub use blob::{BlobId, BlobInfo, Download, Upload};
pub use change::{DeliveryWatch, Watch};
pub use claim::{
    Beat, Beaten, CancelRequested, Claim, Claimed, LegClaim, LegClaimed, LegToken, Requeue,
    Retried, Token,
};
pub use error::{Error, Result};
pub use listing::{Counts, Filter, Listed};
pub use opening::{open, open_beside_bus, sqlite_path};
pub use options::Options;
pub use orphan::{Orphan, OrphanClass, OrphanCursor, Reannounced};
pub use row::{Moment, Progress, Stored};
pub use store::{Health, Retained, Store, Wake};
pub use submission::{Correlation, NewExtraction, StoredFile, StoredRequest, Submitted};
pub use webhook::{
    AfterAttempt, AttemptReport, Delivery, DeliveryAttempt, DeliveryClaim, DeliveryStatus,
    DeliveryToken, DueDelivery,
};
pub use worker::{Worker, WorkerLiveness};
