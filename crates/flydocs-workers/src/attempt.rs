//! One attempt under watch: the work in a task of its own, its ceiling, and the reasons to stop it.

use std::{future::Future, sync::Arc, time::Duration};

use flydocs_store::Store;
use tokio::time::{Instant, sleep};
use tokio_util::task::AbortOnDropHandle;
use tracing::{Instrument as _, Span, warn};

use crate::{
    disposition::Failure,
    heart::{Held, Stop},
};

/// How an attempt ended.
#[derive(Debug)]
pub(crate) enum Outcome<T> {
    /// With a result.
    Finished(T),
    /// Without one.
    Failed(Failure),
    /// Before its end.
    Stopped(Stop),
}

/// Runs the work until it ends, its ceiling passes or its claim is stopped.
///
/// The work runs in a task of its own, so that a panic is its own; it is aborted when it is not wanted any more.
pub(crate) async fn watched<T: Send + 'static>(
    held: &Held,
    ceiling: Duration,
    setting: &'static str,
    work: impl Future<Output = Result<T, Failure>> + Send + 'static,
) -> Outcome<T> {
    let mut task = AbortOnDropHandle::new(tokio::spawn(work.instrument(Span::current())));
    tokio::select! {
        biased;
        stop = held.stopped() => Outcome::Stopped(stop),
        joined = &mut task => match joined {
            Ok(Ok(result)) => Outcome::Finished(result),
            Ok(Err(failure)) => Outcome::Failed(failure),
            Err(_panicked) => Outcome::Failed(Failure::Panicked),
        },
        () = sleep(ceiling) => Outcome::Failed(Failure::Ceiling { ceiling, setting }),
    }
}

/// Sends a transition until the database answers, for as long as the claim can still be this worker's: work that
/// was done must not be done again because a connection broke.
pub(crate) async fn insist<T, F>(
    store: &Arc<dyn Store>,
    mut send: impl FnMut() -> F,
) -> flydocs_store::Result<T>
where
    F: Future<Output = flydocs_store::Result<T>>,
{
    let deadline = Instant::now() + store.options().heartbeat_timeout;
    let mut pause = Duration::from_millis(100);
    loop {
        match send().await {
            Err(error) if error.is_unavailable() && Instant::now() + pause < deadline => {
                warn!(
                    error = &error as &dyn std::error::Error,
                    "the database does not answer, trying again in {pause:?}"
                );
                sleep(pause).await;
                pause = (pause * 2).min(Duration::from_secs(2));
            }
            answer => return answer,
        }
    }
}
