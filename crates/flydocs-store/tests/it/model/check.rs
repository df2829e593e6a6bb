//! What must hold in every world, and what must happen in some.

use flydocs_contract::status::Status;
use stateright::{Model, Property};

use super::world::{Act, Budget, Fault, Tx, World};

pub(super) const NOTHING_LOST: &str = "an accepted extraction comes to its end";
pub(super) const BY_ITS_HOLDER: &str = "one result, of the attempt that has the claim";
pub(super) const STATE_AND_EVENT: &str = "an end and its event are there together";
pub(super) const ALL_HANDED_OUT: &str = "no committed event is passed over";
pub(super) const LEGAL: &str = "every move is the contract's";

/// The model: a budget of misfortunes and a fault.
#[derive(Debug, Clone, Copy)]
pub(super) struct Modelled {
    pub(super) budget: Budget,
    pub(super) fault: Fault,
    /// Only this promise is looked at, and the walk ends when it is broken.
    pub(super) only: Option<&'static str>,
}

impl Model for Modelled {
    type State = World;
    type Action = Act;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(self.budget)]
    }

    fn actions(&self, world: &World, acts: &mut Vec<Act>) {
        acts.extend(world.acts(self.fault));
    }

    fn next_state(&self, world: &World, act: Act) -> Option<World> {
        Some(world.after(act, self.fault))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = vec![
            Property::always(NOTHING_LOST, |model: &Self, world: &World| {
                let ended = world
                    .rows
                    .iter()
                    .all(|row| row.status.is_none_or(Status::is_terminal));
                ended || !world.progress(model.fault).is_empty()
            }),
            Property::always(BY_ITS_HOLDER, |_: &Self, world: &World| {
                world.rows.iter().all(|row| {
                    row.accepted.len() <= 1
                        && row.accepted.iter().all(|(of, holder)| of == holder)
                        && (row.accepted.len() == 1) == (row.status == Some(Status::Succeeded))
                })
            }),
            Property::always(STATE_AND_EVENT, |_: &Self, world: &World| {
                world.rows.iter().enumerate().all(|(index, row)| {
                    let said: Vec<_> = world
                        .outbox
                        .iter()
                        .filter(|event| event.row == index && event.status.is_terminal())
                        .map(|event| (Some(event.status), event.fence))
                        .collect();
                    match row.status {
                        Some(status) if status.is_terminal() => said == [(Some(status), row.fence)],
                        _ => said.is_empty(),
                    }
                })
            }),
            Property::always(ALL_HANDED_OUT, |model: &Self, world: &World| {
                let settled = world.outbox.iter().enumerate().all(|(index, event)| {
                    event.status != Status::Queued
                        || event.tx != Tx::Committed
                        || world
                            .deliveries
                            .iter()
                            .any(|delivery| delivery.event == index && delivery.done)
                });
                settled || !world.progress(model.fault).is_empty()
            }),
            Property::always(LEGAL, |_: &Self, world: &World| !world.illegal),
            // Without these the walk would prove little.
            Property::sometimes("a second attempt succeeds", |_: &Self, world: &World| {
                world.rows.iter().any(|row| row.accepted == [(2, 2)])
            }),
            Property::sometimes("the attempts are used up", |_: &Self, world: &World| {
                world
                    .rows
                    .iter()
                    .any(|row| row.status == Some(Status::Failed))
            }),
            Property::sometimes("a worker has lost its claim", |_: &Self, world: &World| {
                world.has_a_zombie()
            }),
            Property::sometimes("a submission is rolled back", |_: &Self, world: &World| {
                world.outbox.iter().any(|event| event.tx == Tx::RolledBack)
            }),
        ];
        if self.budget.rows > 1 {
            let late = |_: &Self, world: &World| world.has_a_late_commit();
            properties.push(Property::sometimes("a submission commits late", late));
        }
        if self.budget.cancels > 0 {
            properties.push(Property::sometimes(
                "a submission is cancelled",
                |_: &Self, world: &World| {
                    world
                        .rows
                        .iter()
                        .any(|row| row.status == Some(Status::Cancelled))
                },
            ));
        }
        properties.retain(|property| self.only.is_none_or(|only| only == property.name));
        properties
    }
}
