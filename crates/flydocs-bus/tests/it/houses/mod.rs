//! Where a suite runs: one database, and as many buses on it as the adapter allows.

#[cfg(feature = "kafka")]
pub(crate) mod kafka;
mod memory;
pub(crate) mod postgres;
pub(crate) mod redis;
pub(crate) mod sqlite;

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use flydocs_bus::{Bus, NewEvent, Options};

/// One database of one test.
#[async_trait]
pub(crate) trait House: fmt::Debug + Send + Sync {
    /// Another bus on the same database, as another process would have it; the `memory` adapter has one.
    async fn bus(&self, options: Options) -> Arc<dyn Bus>;
    /// Publishes all of them in one transaction, which then commits or rolls back.
    async fn transaction(&self, events: &[NewEvent], commit: bool);
    /// Publishes in a transaction that stays open until the sender says so.
    async fn open_transaction(&self, event: NewEvent) -> OpenTransaction;
    /// Which of these dedupe keys are live.
    async fn live(&self, destination: &str, key: &str) -> bool;
    /// Writes so many events of the type `type` fast.
    async fn flood(&self, destination: &str, event_type: &str, events: u32);
}

/// An event that is written and not committed.
pub(crate) struct OpenTransaction {
    commit: tokio::sync::oneshot::Sender<()>,
    ended: tokio::task::JoinHandle<()>,
}

impl OpenTransaction {
    pub(crate) fn new(
        commit: tokio::sync::oneshot::Sender<()>,
        ended: tokio::task::JoinHandle<()>,
    ) -> Self {
        Self { commit, ended }
    }

    pub(crate) async fn commit(self) {
        self.commit.send(()).unwrap();
        self.ended.await.unwrap();
    }
}

/// Patient leases, a poll that no test waits for.
pub(crate) fn options() -> Options {
    Options {
        lease: Duration::from_mins(1),
        poll: Duration::from_mins(1),
        poll_only: Duration::from_millis(100),
        backoff_base: Duration::from_millis(1),
        ..Options::default()
    }
}
