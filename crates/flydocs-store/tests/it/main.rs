//! The store from outside: one suite that every database answers to, and what is special to each.

mod conformance;
mod place;
mod postgres;
mod sqlite;

/// Another process of the liveness tests; ends at once when nobody asked for it.
#[tokio::test]
async fn the_child_process() {
    conformance::liveness::child_process().await;
}
