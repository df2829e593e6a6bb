//! Where a relay sends events.

use std::fmt;

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
