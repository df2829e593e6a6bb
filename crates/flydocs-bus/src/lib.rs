//! The outbox, the drain and deliveries, with one adapter for each kind of bus.
//!
//! Publishing is one insert in the transaction of the state change ([`outbox`]). A drain pass, one at a time per
//! group, hands new events to the group ([`group_lock_key`]); consumers lease deliveries, beat, and settle them
//! ([`Consumer`]). At least once: handlers are idempotent.

pub mod adapters;
mod bus;
mod error;
mod event;
mod group;
mod held;
mod ledger;
mod measure;
mod member;
pub mod migrations;
mod options;
pub mod outbox;
mod settler;
mod signal;
pub mod sqlite;
mod status;

pub use bus::{Bus, Consumer, Settled, Start, Subscription};
pub use error::{Error, Result};
pub use event::{DeadLetter, Delivery, NewEvent, Published, Ticket};
pub use group::group_lock_key;
pub use options::Options;
pub use status::{BusStatus, GroupStatus, Health, Pruned};
