//! The metrics of the bus, by name. Gauges of depth and age come from `Bus::status`.

use std::time::Duration;

use metrics::{counter, gauge, histogram};

use crate::{
    ledger::{Drained, Pass},
    status::BusStatus,
};

pub(crate) fn drain_pass(group: &str, drained: &Drained, took: Duration) {
    let outcome = match drained.outcome {
        Pass::Idle => return,
        Pass::Won => "won",
        Pass::Lost => "lost",
    };
    let group = group.to_owned();
    counter!("flydocs_bus_drain_passes_total", "group" => group.clone(), "outcome" => outcome)
        .increment(1);
    if drained.outcome == Pass::Won {
        histogram!("flydocs_bus_drain_seconds", "group" => group.clone())
            .record(took.as_secs_f64());
        counter!("flydocs_bus_drained_events_total", "group" => group)
            .increment(u64::from(drained.moved));
    }
}

pub(crate) fn claimed(group: &str, deliveries: usize) {
    if deliveries > 0 {
        counter!("flydocs_bus_claims_total", "group" => group.to_owned())
            .increment(deliveries as u64);
    }
}

pub(crate) fn settled(group: &str, outcome: &'static str) {
    counter!("flydocs_bus_settled_total", "group" => group.to_owned(), "outcome" => outcome)
        .increment(1);
}

pub(crate) fn dead_letters(group: &str, letters: u64) {
    counter!("flydocs_bus_dead_letters_total", "group" => group.to_owned()).increment(letters);
}

pub(crate) fn leases_lost(group: &str, leases: usize) {
    counter!("flydocs_bus_leases_lost_total", "group" => group.to_owned()).increment(leases as u64);
}

/// Sets the gauges from a status that was just read.
pub(crate) fn status(status: &BusStatus) {
    for group in &status.groups {
        let name = group.group.clone();
        for (state, count) in [
            ("undrained", group.undrained),
            ("due", group.due),
            ("delayed", group.delayed),
            ("in_flight", group.in_flight),
            ("suspect", group.suspects),
            ("dead", group.dead_letters),
        ] {
            gauge!("flydocs_bus_deliveries", "group" => name.clone(), "state" => state)
                .set(count as f64);
        }
        gauge!("flydocs_bus_oldest_due_seconds", "group" => name)
            .set(group.oldest_due_seconds.unwrap_or(0.0));
    }
}

pub(crate) fn relayed(events: usize) {
    counter!("flydocs_bus_relayed_events_total").increment(events as u64);
}

pub(crate) fn relay_active(active: bool) {
    gauge!("flydocs_bus_relay_active").set(if active { 1.0 } else { 0.0 });
}
