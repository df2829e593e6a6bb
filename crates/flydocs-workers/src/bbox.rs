//! The bbox worker: `extraction.post_processing.requested` -> claim the leg, beat, ground the boxes, settle.
//!
//! The extraction itself stays succeeded whatever happens here; only its leg and its boxes change.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use flydocs_bus::Delivery;
use flydocs_contract::{EventType, event::BBOX_WORKERS_GROUP};
use flydocs_pipeline::RefineInput;
use flydocs_store::{LegClaim, LegClaimed, LegToken, Requeue};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, error, info, info_span, warn};

use crate::{
    attempt::{Outcome, insist, watched},
    disposition::{Disposition, Failure, retry_delay},
    error::Result,
    extraction::{not_reached, subject, traced},
    files,
    heart::{Held, Stop},
    intake::{Handler, Settlement},
    measure::{self, Kind},
    options::Options,
    ports::Services,
    session::{Role, Session, serve},
};

const KIND: Kind = Kind::Bbox;

/// The consumer of `extraction.post_processing.requested`.
#[derive(Debug, Clone)]
pub struct BboxWorker {
    services: Services,
    options: Options,
}

impl BboxWorker {
    /// A worker that has not begun.
    pub fn new(services: Services, options: Options) -> Self {
        Self { services, options }
    }

    /// Works until `shutdown` fires, then gives running work its grace and the rest back.
    pub async fn run(self, shutdown: CancellationToken) -> Result<()> {
        let role = Role {
            kind: KIND,
            group: BBOX_WORKERS_GROUP,
            destination: self.services.store.options().bbox_refine_topic.clone(),
            event_type: EventType::PostProcessingRequested,
            slots: self.options.bbox_worker_concurrency,
        };
        let handler = |session| Refinements {
            services: self.services.clone(),
            options: self.options.clone(),
            session,
        };
        serve(&self.services, &self.options, &role, handler, shutdown).await
    }
}

struct Refinements {
    services: Services,
    options: Options,
    session: Session,
}

#[async_trait]
impl Handler for Refinements {
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
        let instance = &self.session.instance;
        let claimed = match store.mark_bbox_refinement_running(id, instance).await {
            Ok(claimed) => claimed,
            Err(error) => return not_reached(&self.options, id, &error),
        };
        match claimed {
            LegClaimed::Won(claim) => {
                measure::claim(KIND, "won");
                let span = info_span!("bbox_refinement", extraction.id = %id, attempt = claim.token.attempts);
                traced(&span, delivery);
                self.run_claim(*claim, asked_at).instrument(span).await
            }
            LegClaimed::WorkerLost(_) => {
                measure::claim(KIND, "worker_lost");
                warn!(extraction.id = %id, "every attempt at its boxes lost its worker: they stay as they were");
                Settlement::Done
            }
            LegClaimed::NotDue(wait) => {
                measure::claim(KIND, "not_due");
                Settlement::Defer(wait)
            }
            LegClaimed::Held => {
                measure::claim(KIND, "held");
                Settlement::Defer(self.options.held_elsewhere_delay)
            }
            LegClaimed::None => {
                measure::claim(KIND, "none");
                Settlement::Done
            }
        }
    }
}

impl Refinements {
    async fn run_claim(&self, claim: LegClaim, asked_at: Instant) -> Settlement {
        let began = Instant::now();
        let token = claim.token;
        let held = self.session.heart.hold(token.id, token.fence, asked_at);
        let held = Arc::new(held);
        let ceiling = self.services.store.options().bbox_refine_timeout;
        let work = refine(self.services.clone(), claim, Arc::clone(&held));
        let outcome = watched(&held, ceiling, "FLYDOCS_BBOX_REFINE_TIMEOUT_S", work).await;
        let (word, settlement) = self.settle(&token, outcome).await;
        measure::attempt(KIND, word, began.elapsed());
        settlement
    }

    async fn settle(
        &self,
        token: &LegToken,
        outcome: Outcome<String>,
    ) -> (&'static str, Settlement) {
        let store = &self.services.store;
        let (word, row) = match outcome {
            Outcome::Finished(result) => (
                "succeeded",
                insist(store, || {
                    store.mark_bbox_refinement_succeeded(token, &result)
                })
                .await,
            ),
            Outcome::Failed(failure) => {
                let attempts = store.options().bbox_refine_max_attempts;
                match failure.disposition(token.attempts, attempts) {
                    Disposition::Fail(error) => {
                        warn!(
                            code = error.code,
                            error = &failure as &dyn std::error::Error,
                            "failed"
                        );
                        let failed =
                            insist(store, || store.mark_bbox_refinement_failed(token, &error));
                        ("failed", failed.await)
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
                        let again =
                            insist(store, || store.requeue_bbox_refinement(token, &requeue));
                        ("retry", again.await)
                    }
                }
            }
            Outcome::Stopped(Stop::Shutdown | Stop::Silent | Stop::Cancelled) => (
                "given_back",
                insist(store, || store.give_back_bbox_refinement(token)).await,
            ),
            Outcome::Stopped(Stop::Lost) => {
                measure::claim_lost(KIND);
                return ("lost", Settlement::Done);
            }
        };
        match row {
            Ok(Some(_)) => {
                info!("{word}");
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

async fn refine(services: Services, claim: LegClaim, held: Arc<Held>) -> Result<String, Failure> {
    let result = serde_json::from_str(&claim.result).map_err(|source| Failure::Result {
        verb: "read",
        source,
    })?;
    let input = RefineInput {
        result,
        request: files::request(&claim.request),
        files: files::read(services.store.as_ref(), &claim.request.files).await?,
    };
    let cancel = held.token();
    let refined = services.work.refine(input, held.progress(), &cancel).await;
    let refined = refined.map_err(Failure::Pipeline)?;
    serde_json::to_string(&refined).map_err(|source| Failure::Result {
        verb: "written",
        source,
    })
}
