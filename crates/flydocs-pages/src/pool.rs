//! The bounded pool that CPU work runs on, so that the async runtime keeps answering.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio_util::sync::CancellationToken;

use crate::error::{Error, Result};

/// Deeply nested documents recurse deeply: more room than a thread gets by default.
const STACK_BYTES: usize = 32 * 1024 * 1024;

/// At most `concurrency` pieces of work at once, each on a thread of its own.
#[derive(Debug, Clone)]
pub(crate) struct Pool {
    permits: Arc<Semaphore>,
}

impl Pool {
    pub(crate) fn new(concurrency: usize) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(concurrency.max(1))),
        }
    }

    /// Waits for a free place.
    pub(crate) async fn place(&self, cancel: &CancellationToken) -> Result<OwnedSemaphorePermit> {
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(Error::Cancelled),
            permit = self.permits.clone().acquire_owned() => {
                permit.map_err(|_| Error::internal("the pool of readers is closed"))
            }
        }
    }

    /// Runs `work` in a free place. On cancellation the caller is free at once; the work sees the token and
    /// gives its place back when it has stopped. The work also stops when nobody waits for it any more.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        cancel: &CancellationToken,
        work: impl FnOnce(&CancellationToken) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let permit = self.place(cancel).await?;
        let token = cancel.child_token();
        let _stop_when_dropped = token.clone().drop_guard();
        let (sender, receiver) = oneshot::channel();
        std::thread::Builder::new()
            .name("pages".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || {
                let outcome = work(&token);
                drop(permit);
                if sender.send(outcome).is_err() {
                    tracing::debug!("nobody waits for this page any more");
                }
            })
            .map_err(|e| Error::internal(format!("no thread for reading: {e}")))?;
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(Error::Cancelled),
            outcome = receiver => {
                outcome.unwrap_or_else(|_| Err(Error::internal("a reading thread died")))
            }
        }
    }
}
