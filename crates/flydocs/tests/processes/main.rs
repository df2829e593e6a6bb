//! Real processes on one SQLite file: `serve`, workers and a bbox worker share work, and one of them is killed.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod house;
mod kill;
mod share;
