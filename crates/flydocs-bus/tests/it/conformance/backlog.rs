//! A backlog: everything once, in a process that does not grow.

use std::collections::HashSet;

use super::{GROUP, KIND, TOPIC, join, some};
use crate::houses::{House, options};

/// `FLYDOCS_TEST_BACKLOG` asks for more.
const EVENTS: u32 = 3000;

pub(crate) async fn a_backlog_drains_completely_with_flat_memory(house: &dyn House) {
    let events = asked_for().unwrap_or(EVENTS);
    house.flood(TOPIC, KIND, events).await;
    let bus = house.bus(options()).await;
    let consumer = join(&bus, "a").await;
    let mut seen = HashSet::with_capacity(events as usize);
    let before = resident_mib();
    while seen.len() < events as usize {
        let claimed = some(&consumer, 100).await;
        let settled = claimed
            .iter()
            .map(|delivery| consumer.done(&delivery.ticket));
        for outcome in futures::future::join_all(settled).await {
            assert_eq!(outcome.unwrap(), flydocs_bus::Settled::Settled);
        }
        for delivery in &claimed {
            assert!(seen.insert(super::n(delivery)), "twice: {delivery:?}");
        }
    }
    let grown = resident_mib() - before;
    // Other tests share the process, unless this one was asked for alone.
    let most = if asked_for().is_some() { 64 } else { 256 };
    assert!(grown < most, "grew by {grown} MiB over {events} events");
    let status = super::status_at_rest(&bus).await;
    let group = status
        .groups
        .iter()
        .find(|group| group.group == GROUP)
        .unwrap();
    assert_eq!((group.undrained, group.due, group.in_flight), (0, 0, 0));
}

fn resident_mib() -> i64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let resident = pages
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<i64>().ok());
    resident.unwrap_or(0) * 4 / 1024
}

#[expect(
    clippy::disallowed_methods,
    reason = "a longer run is asked for in the environment"
)]
fn asked_for() -> Option<u32> {
    std::env::var("FLYDOCS_TEST_BACKLOG")
        .ok()
        .map(|events| events.parse().unwrap())
}
