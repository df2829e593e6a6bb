//! Transactions that the database undid because another one was in the way (a deadlock, a serialisation failure) are
//! done again: nothing of them was kept, and the next time the other one is through.

use std::{future::Future, time::Duration};

use crate::error::Result;

/// How often a transaction is begun.
const TRIES: u32 = 6;
/// The pause before the second try; it doubles.
const PAUSE: Duration = Duration::from_millis(5);

/// Begins `transaction` until it is not undone, and no more than [`TRIES`] times.
pub(crate) async fn undisturbed<T, F>(mut transaction: impl FnMut() -> F) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    let mut tries = 1;
    loop {
        match transaction().await {
            Err(error) if error.is_conflict() && tries < TRIES => {
                metrics::counter!("flydocs_store_conflicts_total").increment(1);
                tracing::debug!(
                    error = &error as &dyn std::error::Error,
                    tries,
                    "a transaction was undone by the database and begins again"
                );
                tokio::time::sleep(PAUSE * (1 << (tries - 1))).await;
                tries += 1;
            }
            ended => return ended,
        }
    }
}
