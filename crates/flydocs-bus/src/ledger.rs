//! The book of one member of one group, as an adapter keeps it. [`crate::member`] holds the rules of leases,
//! suspects and waiting, the same for every adapter; a ledger only reads and writes.

use std::{fmt, time::Duration};

use async_trait::async_trait;
use uuid::Uuid;

use crate::{
    error::Result,
    event::{Delivery, Ticket},
};

/// What a drain pass found and did.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Drained {
    pub(crate) outcome: Pass,
    /// Events handed to the group by this pass.
    pub(crate) moved: u32,
    /// The pass moved a whole batch: there may be more.
    pub(crate) full: bool,
    /// Something is due that somebody could claim.
    pub(crate) due: bool,
    /// A due delivery was claimed twice or more without being settled.
    pub(crate) suspects: bool,
    /// How long until the next delivery becomes due or the next lease ends.
    pub(crate) next_due: Option<Duration>,
}

/// Who drained.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Pass {
    /// There was nothing to drain.
    #[default]
    Idle,
    /// This member did, under the group's lock.
    Won,
    /// Another one held the lock.
    Lost,
}

/// What to claim.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ask {
    pub(crate) limit: usize,
    /// Only deliveries that were claimed twice or more without being settled; otherwise none of them.
    pub(crate) suspects: bool,
    pub(crate) token: Uuid,
}

/// What became of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failed {
    Again,
    DeadLettered,
    Lost,
}

/// One member's book.
#[async_trait]
pub(crate) trait Ledger: fmt::Debug + Send + Sync + 'static {
    /// Hands new events to the group when this member gets the group's lock, and looks at what is due.
    async fn drain(&self) -> Result<Drained>;
    /// Makes dead letters of what was claimed too often without being settled.
    async fn bury(&self) -> Result<u64>;
    /// Leases due deliveries.
    async fn claim(&self, ask: Ask) -> Result<Vec<Delivery>>;
    /// Renews leases; the tickets that still hold.
    async fn beat(&self, held: &[Ticket]) -> Result<Vec<Ticket>>;
    /// Settles; the tickets that still held. No event appears twice.
    async fn done(&self, tickets: &[Ticket]) -> Result<Vec<Ticket>>;
    /// Counts a failure.
    async fn retry(&self, ticket: &Ticket, delay: Option<Duration>, error: &str) -> Result<Failed>;
    /// Gives back without counting; true when the ticket still held.
    async fn defer(&self, ticket: &Ticket, delay: Duration) -> Result<bool>;
    /// Gives up; true when the ticket still held.
    async fn dead_letter(&self, ticket: &Ticket, reason: &str, error: &str) -> Result<bool>;
    /// Gives back whatever this member still holds.
    async fn leave(&self) -> Result<u64>;
    /// Tells the other members, wherever they run, that there is something to claim.
    fn tell_others(&self);
    /// How often to look without having been told.
    fn poll(&self) -> Duration;
}
