//! The services beside the API, one file each: extraction worker, bbox worker, reapers, webhook deliverer,
//! retention, health server.
//!
//! Each has `run(shutdown)`. [`worker`] and [`bbox_worker`] bundle them as the processes of the same names do:
//! siblings that end together. What a worker may do with a row is decided by `flydocs-store` alone.

mod attempt;
mod bbox;
mod disposition;
mod error;
mod extraction;
mod files;
mod health;
mod heart;
mod intake;
mod measure;
mod options;
mod ports;
mod reaper;
mod retention;
mod roles;
mod session;
mod siblings;
mod webhooks;

pub use bbox::BboxWorker;
pub use disposition::Disposition;
pub use error::{Error, Result};
pub use extraction::ExtractionWorker;
pub use health::{HealthServer, Render};
pub use options::{Options, Secret, WebhookOptions};
pub use ports::{Chance, Resolve, Services, SystemChance, SystemResolver, Work};
pub use reaper::Reaper;
pub use retention::Retention;
pub use roles::{bbox_worker, worker};
pub use siblings::Siblings;
pub use webhooks::{
    Deliverer, Heard, Listener, NotSigned, Refused, SignedHeaders, check_callback, check_signature,
};
