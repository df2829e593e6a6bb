//! The outbox: one insert inside the caller's transaction, so that a state change and its event commit together.
//!
//! An event is *live* while some group that wants it has not finished it (or no group wants it yet). Its dedupe
//! key is taken as long as it is live and free afterwards: a reaper that publishes again adds nothing to a
//! legitimate backlog, and revives what was lost.

pub mod postgres;
pub mod sqlite;
