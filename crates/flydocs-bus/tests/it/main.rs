//! The bus against real databases.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "the steps of a test are functions, and a broken step is a broken test"
)]

mod conformance;
mod houses;
mod plans;
mod processes;
mod secured;
