#![doc = include_str!("../README.md")]

pub mod adapters;
mod bus;
mod error;
mod event;
mod group;
mod held;
pub mod leases;
mod ledger;
mod measure;
mod member;
pub mod migrations;
mod options;
pub mod outbox;
pub mod relay;
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
