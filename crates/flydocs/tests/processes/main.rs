//! Real processes on one database: `serve`, workers and a bbox worker share work, and one of them is killed.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod house;
mod kill;
mod pooler;
mod share;
