//! Where a relay sends events.

use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;

use crate::{
    error::{Error, Result},
    event::Delivery,
};

/// A broker as the relay sees it.
#[async_trait]
pub(crate) trait Sink: fmt::Debug + Send + Sync {
    /// `redis` or `kafka`.
    fn broker(&self) -> &'static str;
    /// Whether the broker answers.
    async fn ready(&self) -> Result<()>;
    /// Sends the events in this order; for each whether the broker acknowledged it.
    async fn deliver(&self, batch: &[Delivery]) -> Vec<Result<()>>;
    /// Removes what nobody owes any more.
    async fn tidy(&self) -> Result<()>;
    /// Where the relay of this process says what kept its last batch in the outbox.
    fn trouble(&self) -> &Trouble;
    /// A batch that was not acknowledged in time.
    fn late(&self) -> Error {
        Error::Broker {
            operation: "relay events",
            subject: "no acknowledgement in time".to_owned(),
            broker: self.broker(),
            transient: true,
            source: Box::new(std::io::Error::from(std::io::ErrorKind::TimedOut)),
        }
    }
}

/// Why the last batch stayed in the outbox, if it did. A broker may answer and take nothing: one whose memory is full.
#[derive(Debug, Default)]
pub(crate) struct Trouble(Mutex<Option<String>>);

impl Trouble {
    pub(crate) fn set(&self, why: Option<String>) {
        *self.lock() = why;
    }

    pub(crate) fn get(&self) -> Option<String> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Option<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
