//! The reapers: look for rows that nothing is going to deliver to, and announce them again.
//!
//! No repair path of their own: the claim decides what becomes of a row. Any number of reapers may sweep at once;
//! the store writes no second event for the same state of a row.

use std::sync::Arc;

use flydocs_store::{OrphanClass, OrphanCursor, Reannounced, Store};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use crate::{error::Result, measure, options::Options};

/// One reaper; each process has the one of its own work.
#[derive(Debug, Clone)]
pub struct Reaper {
    store: Arc<dyn Store>,
    options: Options,
    classes: &'static [OrphanClass],
    /// The class of rows whose worker is gone: looked for more often.
    lost: OrphanClass,
}

impl Reaper {
    /// The ExtractionReaper: classes 1 to 3.
    pub fn of_extractions(store: Arc<dyn Store>, options: Options) -> Self {
        Self {
            store,
            options,
            classes: &OrphanClass::EXTRACTION,
            lost: OrphanClass::Running,
        }
    }

    /// The BboxReaper: classes 4 and 5.
    pub fn of_bboxes(store: Arc<dyn Store>, options: Options) -> Self {
        Self {
            store,
            options,
            classes: &OrphanClass::BBOX,
            lost: OrphanClass::LegRunning,
        }
    }

    /// Sweeps at once and then in its intervals, until `shutdown` fires. A database that is away is waited for.
    pub async fn run(self, shutdown: CancellationToken) -> Result<()> {
        let mut swept_at: Option<Instant> = None;
        while !shutdown.is_cancelled() {
            self.look_for_dead_workers().await;
            let is_due =
                swept_at.is_none_or(|at| at.elapsed() >= self.options.reaper_sweep_interval);
            if is_due {
                swept_at = Some(Instant::now());
                self.sweep(self.classes, &shutdown).await;
                self.count().await;
            } else {
                self.sweep(&[self.lost], &shutdown).await;
            }
            tokio::select! {
                () = sleep(self.options.liveness_interval.min(self.options.reaper_sweep_interval)) => {}
                () = shutdown.cancelled() => {}
            }
        }
        Ok(())
    }

    async fn count(&self) {
        match self.store.counts().await {
            Ok(counts) => measure::queue(&counts),
            Err(error) => warn!(
                error = &error as &dyn std::error::Error,
                "what waits could not be counted"
            ),
        }
    }

    async fn look_for_dead_workers(&self) {
        match self.store.sweep_workers().await {
            Ok(dead) if dead.is_empty() => {}
            Ok(dead) => {
                measure::workers_died(dead.len());
                for worker in dead {
                    info!(worker, "a worker died: what it had goes to another one");
                }
            }
            Err(error) => warn!(
                error = &error as &dyn std::error::Error,
                "it could not be seen which workers live"
            ),
        }
    }

    async fn sweep(&self, classes: &[OrphanClass], shutdown: &CancellationToken) {
        for class in classes {
            if let Err(error) = self.sweep_class(*class, shutdown).await {
                measure::sweep_failed(*class);
                warn!(
                    class = class.as_str(),
                    error = &error as &dyn std::error::Error,
                    "a sweep was not finished"
                );
            }
        }
    }

    /// Page by page, so that a backlog of any length is seen. One bad row never stops a sweep.
    async fn sweep_class(
        &self,
        class: OrphanClass,
        shutdown: &CancellationToken,
    ) -> flydocs_store::Result<()> {
        let limit = self.options.reaper_batch;
        let mut after: Option<OrphanCursor> = None;
        while !shutdown.is_cancelled() {
            let orphans = self.store.orphans(class, after.as_ref(), limit).await?;
            for orphan in &orphans {
                let id = orphan.id;
                match self.store.reannounce(orphan).await {
                    Ok(Reannounced::Announced) => {
                        measure::revival(class);
                        info!(
                            extraction.id = %id,
                            class = class.as_str(),
                            since = %orphan.since,
                            worker = orphan.claimed_by,
                            "an orphan was announced again"
                        );
                    }
                    Ok(Reannounced::AlreadyAnnounced | Reannounced::Moved) => {
                        debug!(extraction.id = %id, class = class.as_str(), "nothing to do for it");
                    }
                    Err(error) => {
                        measure::sweep_failed(class);
                        warn!(
                            extraction.id = %id,
                            class = class.as_str(),
                            error = &error as &dyn std::error::Error,
                            "an orphan could not be announced again"
                        );
                    }
                }
            }
            let is_last = orphans.len() < limit as usize;
            after = orphans.last().map(OrphanCursor::from);
            if is_last {
                break;
            }
        }
        Ok(())
    }
}
