//! The room a stage works in: its ceiling, its cancellation, and the bounded fan-out of its units.
//!
//! A unit (a file, a segment, a task) that fails, panics or runs late is lost alone; the others keep what they did.

use std::{
    collections::HashMap,
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use flydocs_contract::ErrorCode;
use flydocs_engines::Engine;
use flydocs_pages::Reader;
use tokio::{task::JoinSet, time::Instant};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::{
    error::{Error, Result},
    failure::Failure,
    options::Options,
    ports::{Clock, EngineSource, Progress},
};

/// What the outside gives a pipeline.
#[derive(Debug)]
pub(crate) struct Services {
    pub(crate) reader: Arc<dyn Reader>,
    pub(crate) engines: Arc<dyn EngineSource>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) options: Options,
}

/// How a unit ended.
#[derive(Debug)]
pub(crate) enum Outcome<T> {
    Done(T),
    Failed(Failure),
    /// The ceiling passed first; the runner says so once for the stage.
    Late,
}

/// One stage while it runs.
pub(crate) struct Scope {
    pub(crate) node: &'static str,
    pub(crate) services: Arc<Services>,
    pub(crate) progress: Arc<dyn Progress>,
    pub(crate) deadline: Instant,
    /// Fires when the caller takes the work back.
    cancel: CancellationToken,
    /// Fires then, and when the ceiling passes: what units listen to.
    stop: CancellationToken,
    late: AtomicUsize,
}

impl Scope {
    pub(crate) fn open(
        node: &'static str,
        ceiling: Duration,
        services: &Arc<Services>,
        progress: &Arc<dyn Progress>,
        cancel: &CancellationToken,
    ) -> Self {
        Self {
            node,
            services: Arc::clone(services),
            progress: Arc::clone(progress),
            deadline: Instant::now() + ceiling,
            cancel: cancel.clone(),
            stop: cancel.child_token(),
            late: AtomicUsize::new(0),
        }
    }

    pub(crate) fn stop(&self) -> CancellationToken {
        self.stop.clone()
    }

    pub(crate) fn late(&self) -> usize {
        self.late.load(Ordering::Relaxed)
    }

    /// The engine of a model, as a failure of this stage when there is none.
    pub(crate) fn engine(&self, model: Option<&str>) -> Result<Arc<dyn Engine>, Failure> {
        let engine = self.services.engines.engine(model);
        engine.map_err(|error| Failure::of_engine(&error, self.node))
    }

    /// Runs one unit for each item, at most `FLYDOCS_STAGE_CONCURRENCY` at once; outcomes in the items' order.
    pub(crate) async fn each<I, T, W>(
        &self,
        items: impl IntoIterator<Item = I>,
        unit: impl Fn(I) -> W,
    ) -> Result<Vec<Outcome<T>>>
    where
        T: Send + 'static,
        W: Future<Output = Result<T, Failure>> + Send + 'static,
    {
        let mut waiting = items.into_iter().map(unit).enumerate();
        let mut outcomes = Vec::new();
        let mut running = JoinSet::new();
        let mut places = HashMap::new();
        loop {
            while running.len() < self.services.options.stage_concurrency.get()
                && let Some((place, work)) = waiting.next()
            {
                outcomes.push(Outcome::Late);
                let task = running.spawn(work.in_current_span());
                places.insert(task.id(), place);
            }
            let (id, outcome) = tokio::select! {
                biased;
                () = self.cancel.cancelled() => return Err(Error::Cancelled),
                joined = running.join_next_with_id() => match joined {
                    None => break,
                    Some(Ok((id, Ok(value)))) => (id, Outcome::Done(value)),
                    Some(Ok((id, Err(failure)))) => (id, Outcome::Failed(failure)),
                    Some(Err(error)) => (error.id(), Outcome::Failed(self.panicked())),
                },
                () = tokio::time::sleep_until(self.deadline) => {
                    self.stop.cancel();
                    break;
                }
            };
            if let Some(slot) = places.get(&id).and_then(|place| outcomes.get_mut(*place)) {
                *slot = outcome;
            }
        }
        outcomes.extend(waiting.map(|_| Outcome::Late));
        let late = outcomes.iter().filter(|o| matches!(o, Outcome::Late));
        self.late.fetch_add(late.count(), Ordering::Relaxed);
        Ok(outcomes)
    }

    /// Runs work that computes on the blocking pool, one unit an item; `work` looks at the token between steps.
    pub(crate) async fn each_blocking<I, T>(
        &self,
        items: impl IntoIterator<Item = I>,
        work: impl Fn(I, &CancellationToken) -> T + Send + Sync + 'static,
    ) -> Result<Vec<Outcome<T>>>
    where
        I: Send + 'static,
        T: Send + 'static,
    {
        let work = Arc::new(work);
        let lost = Failure {
            code: ErrorCode::Internal,
            ..self.panicked()
        };
        self.each(items, |item| {
            let (work, stop, lost) = (Arc::clone(&work), self.stop(), lost.clone());
            async move {
                let done = tokio::task::spawn_blocking(move || work(item, &stop)).await;
                done.map_err(|_| lost)
            }
        })
        .await
    }

    /// A unit's panic: its text may hold parts of a document, so it is not repeated.
    fn panicked(&self) -> Failure {
        Failure::transient(
            ErrorCode::EngineError,
            format!("a part of {} stopped unexpectedly", self.node),
        )
    }
}
