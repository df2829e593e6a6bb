//! Retention: deletes what is over its time, in small batches, on the store and on the bus.

use std::sync::Arc;

use flydocs_bus::Bus;
use flydocs_store::Store;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::{error::Result, measure, options::Options};

/// Deletes finished extractions, their results and bytes, and events that everybody is done with.
#[derive(Debug, Clone)]
pub struct Retention {
    store: Arc<dyn Store>,
    bus: Arc<dyn Bus>,
    options: Options,
}

impl Retention {
    /// A retention that has not begun.
    pub fn new(store: Arc<dyn Store>, bus: Arc<dyn Bus>, options: Options) -> Self {
        Self {
            store,
            bus,
            options,
        }
    }

    /// Deletes at once and then in its interval, until `shutdown` fires.
    pub async fn run(self, shutdown: CancellationToken) -> Result<()> {
        while !shutdown.is_cancelled() {
            if let Err(error) = self.empty_store(&shutdown).await {
                warn!(
                    error = &error as &dyn std::error::Error,
                    "the retention could not finish on the store"
                );
            }
            if let Err(error) = self.empty_bus(&shutdown).await {
                warn!(
                    error = &error as &dyn std::error::Error,
                    "the retention could not finish on the bus"
                );
            }
            tokio::select! {
                () = sleep(self.options.retention_interval) => {}
                () = shutdown.cancelled() => {}
            }
        }
        Ok(())
    }

    async fn empty_store(&self, shutdown: &CancellationToken) -> flydocs_store::Result<()> {
        while !shutdown.is_cancelled() {
            let deleted = self.store.retain(self.options.retention_batch).await?;
            measure::retained("extractions", deleted.extractions);
            measure::retained("blobs", deleted.blobs);
            measure::retained("workers", deleted.workers);
            if deleted.is_done() {
                break;
            }
            info!(
                extractions = deleted.extractions,
                blobs = deleted.blobs,
                workers = deleted.workers,
                "deleted what was over its time"
            );
        }
        Ok(())
    }

    async fn empty_bus(&self, shutdown: &CancellationToken) -> flydocs_bus::Result<()> {
        flydocs_bus::relay::forget_idle_relay(self.bus.as_ref()).await?;
        while !shutdown.is_cancelled() {
            let pruned = self.bus.prune().await?;
            measure::retained("events", pruned.events);
            measure::retained("event_deliveries", pruned.deliveries);
            measure::retained("dead_letters", pruned.dead_letters);
            if !pruned.more {
                break;
            }
        }
        Ok(())
    }
}
