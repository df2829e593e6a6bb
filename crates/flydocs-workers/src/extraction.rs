//! The extraction worker: `extraction.submitted` -> claim the row, beat, run the pipeline, settle.
//!
//! The event is a hint: the claim decides. Everything after it is done in the name of the claim's token, so a worker
//! that lost its claim can finish, fail or requeue nothing.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use flydocs_bus::Delivery;
use flydocs_contract::{EventType, ExtractionId, event::WORKERS_GROUP};
use flydocs_pipeline::{Input, Mode};
use flydocs_store::{Claim, Claimed, Requeue};
use tokio::time::Instant;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
use tracing::{Instrument as _, error, info, info_span, warn};

use crate::{
    attempt::{Outcome, insist, watched},
    disposition::{Disposition, Failure, retry_delay},
    error::Result,
    files,
    heart::{Held, Stop},
    intake::{Handler, Settlement},
    measure::{self, Kind},
    options::Options,
    ports::Services,
    session::{Role, Session, serve},
};

const KIND: Kind = Kind::Extraction;

/// The consumer of `extraction.submitted`.
#[derive(Debug, Clone)]
pub struct ExtractionWorker {
    services: Services,
    options: Options,
}

impl ExtractionWorker {
    /// A worker that has not begun.
    pub fn new(services: Services, options: Options) -> Self {
        Self { services, options }
    }

    /// Works until `shutdown` fires, then gives running work its grace and the rest back.
    pub async fn run(self, shutdown: CancellationToken) -> Result<()> {
        let role = Role {
            kind: KIND,
            group: WORKERS_GROUP,
            destination: self.services.store.options().jobs_topic.clone(),
            event_type: EventType::Submitted,
            slots: self.options.worker_concurrency,
        };
        let handler = |session| Extractions {
            services: self.services.clone(),
            options: self.options.clone(),
            session,
        };
        serve(&self.services, &self.options, &role, handler, shutdown).await
    }
}

struct Extractions {
    services: Services,
    options: Options,
    session: Session,
}

#[async_trait]
impl Handler for Extractions {
    async fn handle(&self, delivery: &Delivery) -> Settlement {
        let id = match subject(delivery) {
            Ok(id) => id,
            Err(why) => return Settlement::DeadLetter(why),
        };
        if self.session.ending.is_cancelled() {
            return Settlement::Defer(Duration::ZERO);
        }
        let asked_at = Instant::now();
        let store = &self.services.store;
        let claimed = match store.mark_running(id, &self.session.instance).await {
            Ok(claimed) => claimed,
            Err(error) => return not_reached(&self.options, id, &error),
        };
        match claimed {
            Claimed::Won(claim) => {
                measure::claim(KIND, "won");
                let span =
                    info_span!("extraction", extraction.id = %id, attempt = claim.token.attempts);
                traced(&span, delivery);
                self.run_claim(*claim, asked_at).instrument(span).await
            }
            Claimed::WorkerLost(_) => {
                measure::claim(KIND, "worker_lost");
                warn!(extraction.id = %id, "every attempt lost its worker: failed");
                Settlement::Done
            }
            Claimed::Cancelled(_) => {
                measure::claim(KIND, "cancelled");
                info!(extraction.id = %id, "it had lost its worker and its caller had asked to cancel: cancelled");
                Settlement::Done
            }
            Claimed::NotDue(wait) => {
                measure::claim(KIND, "not_due");
                Settlement::Defer(wait)
            }
            Claimed::Held => {
                measure::claim(KIND, "held");
                Settlement::Defer(self.options.held_elsewhere_delay)
            }
            Claimed::None => {
                measure::claim(KIND, "none");
                Settlement::Done
            }
        }
    }
}

impl Extractions {
    async fn run_claim(&self, claim: Claim, asked_at: Instant) -> Settlement {
        let began = Instant::now();
        let token = claim.token;
        let held = self.session.heart.hold(token.id, token.fence, asked_at);
        let held = Arc::new(held);
        let _watching = self.watch_for_cancel(&held, token.id, token.fence);
        let options = self.services.store.options();
        let wants_bbox = files::request(&claim.request).wants_bbox_refinement();
        let work = extract(self.services.clone(), claim, Arc::clone(&held));
        let outcome = watched(
            &held,
            options.async_timeout,
            "FLYDOCS_ASYNC_TIMEOUT_S",
            work,
        )
        .await;
        let (word, settlement) = self.settle(&token, wants_bbox, outcome).await;
        measure::attempt(KIND, word, began.elapsed());
        settlement
    }

    /// Stops the work as soon as the row says that its caller asked for it: a heartbeat may be seconds away.
    fn watch_for_cancel(
        &self,
        held: &Arc<Held>,
        id: ExtractionId,
        fence: u64,
    ) -> AbortOnDropHandle<()> {
        let store = Arc::clone(&self.services.store);
        let held = Arc::clone(held);
        let mut watch = store.watch(id);
        AbortOnDropHandle::new(tokio::spawn(async move {
            loop {
                watch.changed().await;
                // A failed look is no news: the heartbeat looks too.
                let Ok(Some(row)) = store.get(id, None).await else {
                    continue;
                };
                if row.fence == fence && row.cancel_requested_at.is_some() {
                    held.stop(Stop::Cancelled);
                }
            }
        }))
    }

    async fn settle(
        &self,
        token: &flydocs_store::Token,
        wants_bbox: bool,
        outcome: Outcome<String>,
    ) -> (&'static str, Settlement) {
        let store = &self.services.store;
        let (word, row) = match outcome {
            Outcome::Finished(result) => (
                "succeeded",
                insist(store, || store.mark_succeeded(token, &result, wants_bbox)).await,
            ),
            Outcome::Failed(failure) => {
                let attempts = store.options().job_max_attempts;
                match failure.disposition(token.attempts, attempts) {
                    Disposition::Fail(error) => {
                        warn!(
                            code = error.code,
                            error = &failure as &dyn std::error::Error,
                            "failed"
                        );
                        (
                            "failed",
                            insist(store, || store.mark_failed(token, &error)).await,
                        )
                    }
                    Disposition::Retry(error) => {
                        let chance = self.services.chance.as_ref();
                        let delay = retry_delay(
                            &self.options,
                            token.attempts,
                            failure.retry_after(),
                            chance,
                        );
                        warn!(
                            code = error.code,
                            error = &failure as &dyn std::error::Error,
                            "failed, again in {delay:?}"
                        );
                        let requeue = Requeue { delay, error };
                        (
                            "retry",
                            insist(store, || store.requeue_for_retry(token, &requeue)).await,
                        )
                    }
                }
            }
            Outcome::Stopped(Stop::Cancelled) => (
                "cancelled",
                insist(store, || store.settle_cancelled(token)).await,
            ),
            Outcome::Stopped(Stop::Shutdown | Stop::Silent) => {
                ("given_back", insist(store, || store.give_back(token)).await)
            }
            Outcome::Stopped(Stop::Lost) => {
                measure::claim_lost(KIND);
                return ("lost", Settlement::Done);
            }
        };
        match row {
            Ok(Some(row)) => {
                info!("{word}, now {}", row.extraction.status);
                (word, Settlement::Done)
            }
            Ok(None) => {
                measure::claim_lost(KIND);
                info!("the claim was lost before the end: nothing was changed");
                ("lost", Settlement::Done)
            }
            Err(error) => {
                error!(
                    error = &error as &dyn std::error::Error,
                    "the end of an attempt could not be written; a reaper will find the row"
                );
                (
                    "not_written",
                    Settlement::Defer(self.options.held_elsewhere_delay),
                )
            }
        }
    }
}

async fn extract(services: Services, claim: Claim, held: Arc<Held>) -> Result<String, Failure> {
    let files = files::read(services.store.as_ref(), &claim.request.files).await?;
    let input = Input {
        id: claim.token.id,
        request: files::request(&claim.request),
        files,
        mode: Mode::Async,
    };
    let cancel = held.token();
    let result = services.work.extract(input, held.progress(), &cancel).await;
    let result = result.map_err(Failure::Pipeline)?;
    serde_json::to_string(&result).map_err(|source| Failure::Result {
        verb: "written",
        source,
    })
}

/// Makes a span the child of whoever published the event.
pub(crate) fn traced(span: &tracing::Span, delivery: &Delivery) {
    let text = |name: &str| delivery.headers.get(name).and_then(|value| value.as_str());
    flydocs_traces::adopt(span, text("traceparent"), text("tracestate"));
}

/// The extraction an event is about.
pub(crate) fn subject(delivery: &Delivery) -> std::result::Result<ExtractionId, String> {
    /// Of the envelope only what is needed, so that a newer publisher is still understood.
    #[derive(serde::Deserialize)]
    struct About {
        extraction: Row,
    }
    #[derive(serde::Deserialize)]
    struct Row {
        id: ExtractionId,
    }
    serde_json::from_str::<About>(&delivery.payload)
        .map(|about| about.extraction.id)
        .map_err(|error| format!("the payload is no envelope: {error}"))
}

/// The store did not answer before anything was begun.
pub(crate) fn not_reached(
    options: &Options,
    id: ExtractionId,
    error: &flydocs_store::Error,
) -> Settlement {
    warn!(extraction.id = %id, error = error as &dyn std::error::Error, "the row could not be claimed");
    if error.is_unavailable() {
        Settlement::Defer(options.retry_base_delay)
    } else {
        Settlement::Retry(error.to_string())
    }
}
