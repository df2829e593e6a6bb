//! The store from outside: one suite that every database answers to, and what is special to each.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests are tests too, and the child process talks through its output"
)]

mod bus;
mod conformance;
mod migrations;
mod model;
mod place;
mod postgres;
mod sqlite;

/// Another process of the liveness tests; ends at once when nobody asked for it.
#[tokio::test]
async fn the_child_process() {
    conformance::liveness::child_process().await;
}
