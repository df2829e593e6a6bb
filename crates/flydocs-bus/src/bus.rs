//! The two traits of the bus. Every adapter implements both and runs the same conformance suite.
//!
//! Flow: outbox row (written with the state change) -> drain into the group's deliveries -> `Consumer::claim`
//! -> handler -> `done`, `retry`, `defer` or `dead_letter`.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::{
    error::{Error, Result},
    event::{DeadLetter, Delivery, NewEvent, Published, Ticket},
    relay::Relay,
    status::{BusStatus, Health, Pruned},
};

/// Where a group that nobody knew yet begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Start {
    /// With every event still kept.
    #[default]
    Earliest,
    /// With what is committed after the registration.
    Latest,
}

/// Who listens to what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    /// The consumer group, for example `flydocs-workers`. Each event goes to each group once.
    pub group: String,
    /// The topics.
    pub destinations: Vec<String>,
    /// The event types that this process handles. Others are never claimed by it and never count as handled.
    pub event_types: Vec<String>,
    /// The name of this consumer among the group's, unique per process: shown as the holder of a delivery.
    pub consumer: String,
    /// Where a new group begins.
    pub start: Start,
}

impl Subscription {
    /// A subscription that can receive something.
    pub(crate) fn check(&self) -> Result<()> {
        let missing = match (self.destinations.is_empty(), self.event_types.is_empty()) {
            (true, _) => "destination",
            (_, true) => "event type",
            _ => return Ok(()),
        };
        Err(Error::EmptySubscription {
            group: self.group.clone(),
            missing,
        })
    }
}

/// What became of a ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a lost ticket means that another consumer has the delivery"]
pub enum Settled {
    /// As asked.
    Settled,
    /// The failure used up the budget: the event is a dead letter now.
    DeadLettered,
    /// The claim was lost before: nothing was changed, somebody else has the delivery.
    Lost,
}

/// One kind of bus.
#[async_trait]
pub trait Bus: fmt::Debug + Send + Sync {
    /// The word of `FLYDOCS_EDA_ADAPTER`.
    fn adapter(&self) -> &'static str;

    /// Writes one event in a transaction of its own and wakes the consumers.
    ///
    /// An event that belongs to a state change goes through [`crate::outbox`] instead, inside the transaction
    /// of that change, followed by [`Bus::wake`].
    async fn publish(&self, event: &NewEvent) -> Result<Published>;

    /// Says, after a commit, that something was published there. A hint: whoever misses it polls.
    fn wake(&self, destination: &str);

    /// Registers the group (its destinations and event types only ever grow) and joins it.
    async fn subscribe(&self, subscription: Subscription) -> Result<Arc<dyn Consumer>>;

    /// Whether the bus works right now.
    async fn health(&self) -> Health;

    /// Every group with what it owes.
    async fn status(&self) -> Result<BusStatus>;

    /// The newest dead letters first; of one group or of all.
    async fn dead_letters(&self, group: Option<&str>, limit: u32) -> Result<Vec<DeadLetter>>;

    /// Sends a dead letter back to its own group; false when there is none or it went back before.
    async fn requeue(&self, dead_letter: i64) -> Result<bool>;

    /// Deletes one batch of what nobody owes any more; call again while [`Pruned::more`].
    async fn prune(&self) -> Result<Pruned>;

    /// Removes a group for good, with what it still owed; the number of deliveries dropped.
    async fn forget_group(&self, group: &str) -> Result<u64>;

    /// The service that carries events from the outbox to the broker, for adapters that have one. Every process
    /// runs it; one of them is active.
    fn relay(&self) -> Option<Relay> {
        None
    }
}

/// One member of one group.
#[async_trait]
pub trait Consumer: fmt::Debug + Send + Sync {
    /// Waits until something is due and leases up to `limit` of it; empty only when cancelled.
    ///
    /// `limit` is the number of free slots; 0 waits for nothing and returns at once. Connection failures are
    /// waited out. An event whose process died twice under it is handed out alone, and nothing beside it.
    /// Stop it through `cancel`: a dropped future may leave a lease behind that then has to run out.
    async fn claim(&self, limit: usize, cancel: &CancellationToken) -> Result<Vec<Delivery>>;

    /// Renews the leases; the tickets that come back are lost: stop that work and drop its result.
    async fn beat(&self, held: &[Ticket]) -> Result<Vec<Ticket>>;

    /// How often to beat: a third of the lease.
    fn beat_interval(&self) -> Duration;

    /// The handler succeeded.
    async fn done(&self, ticket: &Ticket) -> Result<Settled>;

    /// The handler failed: again after `delay` (the bus's own backoff when `None`), or a dead letter when the
    /// budget is used up.
    async fn retry(&self, ticket: &Ticket, delay: Option<Duration>, error: &str)
    -> Result<Settled>;

    /// Not now (a peer holds the row, shutdown): again after `delay`, without counting.
    async fn defer(&self, ticket: &Ticket, delay: Duration) -> Result<Settled>;

    /// It can never succeed.
    async fn dead_letter(&self, ticket: &Ticket, reason: &str, error: &str) -> Result<Settled>;

    /// Leaves the group: everything this consumer still holds goes back at once, without counting.
    async fn close(&self) -> Result<()>;
}
