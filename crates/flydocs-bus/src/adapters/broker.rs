//! What the adapters with a broker have in common.

use std::time::Duration;

use tokio::time::timeout;

use crate::{
    relay::{Outbox, RELAY_GROUP, Sink},
    status::{BusStatus, GroupStatus, Health},
};

/// A broker that takes longer is not up.
const HEALTH_LIMIT: Duration = Duration::from_secs(2);

/// The health of the outbox, and whether its events reach the broker.
pub(super) async fn health(outbox: &Outbox, sink: &dyn Sink) -> Health {
    let mut health = outbox.bus.health().await;
    if let Some(trouble) = trouble(sink).await {
        health.detail = Some(format!("degraded, events wait in the outbox: {trouble}"));
    }
    health
}

async fn trouble(sink: &dyn Sink) -> Option<String> {
    match timeout(HEALTH_LIMIT, sink.ready()).await {
        Err(_late) => return Some(format!("{} does not answer within 2 s", sink.broker())),
        Ok(Err(error)) => return Some(error.to_string()),
        Ok(Ok(())) => {}
    }
    // It may answer and take nothing; the process that relays knows.
    sink.trouble().get()
}

/// The groups of a broker owe what they owe there, and what the relay has not carried yet.
pub(super) fn with_outbox(
    adapter: &'static str,
    outbox: BusStatus,
    mut groups: Vec<GroupStatus>,
) -> BusStatus {
    let relay = outbox
        .groups
        .into_iter()
        .find(|group| group.group == RELAY_GROUP);
    for group in &mut groups {
        let Some(relay) = &relay else { break };
        group.undrained += relay.undrained + relay.due + relay.in_flight;
        group.delayed += relay.delayed;
        group.last_drain_at = relay.last_drain_at;
        group.lock_holder.clone_from(&relay.lock_holder);
        let waits = relay.oldest_due_seconds;
        group.oldest_due_seconds = match (group.oldest_due_seconds, waits) {
            (Some(here), Some(there)) => Some(here.max(there)),
            (here, there) => here.or(there),
        };
    }
    BusStatus {
        adapter,
        outbox: outbox.outbox,
        groups,
    }
}
