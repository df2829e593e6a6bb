//! What the adapters with a broker have in common.

use crate::{
    relay::RELAY_GROUP,
    status::{BusStatus, GroupStatus},
};

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
