//! The figures of this room, one function each, so that every name and label stands in one place.

use std::time::Duration;

use flydocs_store::{Counts, OrphanClass};
use metrics::{counter, gauge, histogram};

/// Which kind of worker: the label `kind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Extraction,
    Bbox,
}

impl Kind {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Extraction => "extraction",
            Self::Bbox => "bbox",
        }
    }
}

/// A claim was tried: `won`, `none`, `worker_lost` or `cancelled`.
pub(crate) fn claim(kind: Kind, outcome: &'static str) {
    counter!("flydocs_workers_claims_total", "kind" => kind.as_str(), "outcome" => outcome)
        .increment(1);
}

/// An attempt ended.
pub(crate) fn attempt(kind: Kind, outcome: &'static str, took: Duration) {
    counter!("flydocs_workers_attempts_total", "kind" => kind.as_str(), "outcome" => outcome)
        .increment(1);
    histogram!("flydocs_workers_attempt_seconds", "kind" => kind.as_str()).record(took);
}

/// How many slots are in use.
pub(crate) fn busy(kind: Kind, slots: usize) {
    gauge!("flydocs_workers_busy_slots", "kind" => kind.as_str()).set(slots as f64);
}

/// A claim was lost while its work ran.
pub(crate) fn claim_lost(kind: Kind) {
    counter!("flydocs_workers_claims_lost_total", "kind" => kind.as_str()).increment(1);
}

/// A heartbeat failed.
pub(crate) fn heartbeat_failed(kind: Kind) {
    counter!("flydocs_workers_heartbeat_failures_total", "kind" => kind.as_str()).increment(1);
}

/// A reaper announced an orphan again.
pub(crate) fn revival(class: OrphanClass) {
    counter!("flydocs_workers_reaper_revivals_total", "class" => class.as_str()).increment(1);
}

/// A reaper could not finish a sweep, or one row of it.
pub(crate) fn sweep_failed(class: OrphanClass) {
    counter!("flydocs_workers_reaper_failures_total", "class" => class.as_str()).increment(1);
}

/// Workers were found dead.
pub(crate) fn workers_died(how_many: usize) {
    counter!("flydocs_workers_found_dead_total").increment(how_many as u64);
}

/// An attempt to deliver a webhook ended: `delivered`, `retry` or `given_up`.
pub(crate) fn webhook(outcome: &'static str, took: Duration) {
    counter!("flydocs_workers_webhook_attempts_total", "outcome" => outcome).increment(1);
    histogram!("flydocs_workers_webhook_attempt_seconds").record(took);
}

/// A delivery is dead: the receiver `refused` it, or it was tried for `too_long`.
pub(crate) fn webhook_dead(why: &'static str) {
    counter!("flydocs_workers_webhooks_dead_total", "why" => why).increment(1);
}

/// Something was deleted because it was over its time.
pub(crate) fn retained(what: &'static str, how_many: u64) {
    counter!("flydocs_workers_retention_deleted_total", "what" => what).increment(how_many);
}

/// How much waits and how much runs, over all workers.
pub(crate) fn queue(counts: &Counts) {
    for (state, rows) in [
        ("queued", counts.queued),
        ("running", counts.running),
        ("leg_pending", counts.legs_pending),
        ("leg_running", counts.legs_running),
        ("delivery_pending", counts.deliveries_pending),
    ] {
        gauge!("flydocs_workers_queue_rows", "state" => state).set(rows as f64);
    }
    gauge!("flydocs_workers_oldest_queued_seconds").set(counts.oldest_queued_s as f64);
    gauge!("flydocs_workers_alive").set(counts.workers as f64);
}
