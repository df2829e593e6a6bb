//! The webhook deliverer: due deliveries -> guard, signature, one POST -> log and next step.
//!
//! A delivery is a row written with the change it announces, so a crash loses none; it is claimed for a lease and
//! settled with its token. Receivers are kept apart: a slow one holds few slots and delays nobody else.

mod guard;
mod listen;
mod policy;
mod post;
mod signature;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use flydocs_store::{
    AfterAttempt, DeliveryClaim, DeliveryToken, DeliveryWatch, DueDelivery, webhook::receiver,
};
use parking_lot::Mutex;
use tokio::{
    task::JoinSet,
    time::{MissedTickBehavior, interval, sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
use tracing::{Instrument as _, debug, info, info_span, warn};

use self::post::Poster;
pub use self::{
    guard::{Refused, check_callback},
    listen::{Heard, Listener},
    signature::{NotSigned, SignedHeaders, check_signature},
};
use crate::{error::Result, measure, options::Options, ports::Services};

/// A delivery that was just written is due now; its time is rounded and may lie a little ahead.
const SOON: Duration = Duration::from_millis(100);

/// Delivers webhooks.
#[derive(Debug)]
pub struct Deliverer {
    services: Services,
    options: Options,
    poster: Arc<Poster>,
}

/// The deliveries under way.
#[derive(Debug, Default)]
struct Flights {
    running: JoinSet<DeliveryToken>,
    /// Those whose leases are kept.
    kept: Arc<Mutex<HashSet<DeliveryToken>>>,
    /// By token: the receiver.
    receivers: HashMap<DeliveryToken, String>,
}

impl Deliverer {
    /// A deliverer that has not begun.
    pub fn new(services: Services, options: Options) -> Result<Self> {
        let poster = Arc::new(Poster::new(&services, &options.webhooks)?);
        Ok(Self {
            services,
            options,
            poster,
        })
    }

    /// Delivers until `shutdown` fires, then gives what is under way its grace and the rest back.
    pub async fn run(self, shutdown: CancellationToken) -> Result<()> {
        let mut flights = Flights::default();
        let mut written = self.services.store.watch_deliveries();
        let _leases = AbortOnDropHandle::new(tokio::spawn(self.keep_leases(&flights)));
        while !shutdown.is_cancelled() {
            let found = self.start_due(&mut flights).await;
            if found {
                continue;
            }
            tokio::select! {
                Some(()) = flights.landed() => {}
                () = self.next_written(&mut written) => {}
                () = self.next_due() => {}
                () = shutdown.cancelled() => {}
            }
        }
        let grace = self.options.shutdown_grace;
        let all_landed = timeout(grace, async { while flights.landed().await.is_some() {} }).await;
        if all_landed.is_err() {
            self.give_back(&mut flights).await;
        }
        Ok(())
    }

    /// Starts what is due and has a free slot; true when something was started.
    async fn start_due(&self, flights: &mut Flights) -> bool {
        let webhooks = &self.options.webhooks;
        let free = webhooks.concurrency.saturating_sub(flights.receivers.len());
        if free == 0 {
            return false;
        }
        let claim = DeliveryClaim {
            worker: self.options.name.clone(),
            limit: u32::try_from(free).unwrap_or(u32::MAX),
            lease: webhooks.lease,
            except_receivers: flights.full(webhooks.per_receiver),
        };
        let due = match self.services.store.claim_deliveries(&claim).await {
            Ok(due) => due,
            Err(error) => {
                warn!(
                    error = &error as &dyn std::error::Error,
                    "due deliveries could not be claimed"
                );
                return false;
            }
        };
        let mut started = false;
        let mut too_many = Vec::new();
        for delivery in due {
            if flights.to(&receiver(&delivery.url)) < webhooks.per_receiver {
                self.start(flights, delivery);
                started = true;
            } else {
                too_many.push(delivery.token);
            }
        }
        if !too_many.is_empty()
            && let Err(error) = self.services.store.give_back_deliveries(&too_many).await
        {
            warn!(
                error = &error as &dyn std::error::Error,
                "deliveries wait for the end of their lease"
            );
        }
        started
    }

    fn start(&self, flights: &mut Flights, delivery: DueDelivery) {
        let token = delivery.token;
        flights.receivers.insert(token, receiver(&delivery.url));
        flights.kept.lock().insert(token);
        let (services, options) = (self.services.clone(), self.options.clone());
        let poster = Arc::clone(&self.poster);
        let span = info_span!(
            "webhook",
            extraction.id = %delivery.extraction_id,
            webhook.id = %token.event_id,
            attempt = token.attempt,
        );
        let correlation = &delivery.correlation;
        flydocs_traces::adopt(
            &span,
            correlation.traceparent.as_deref(),
            correlation.tracestate.as_deref(),
        );
        flights.running.spawn(
            async move {
                deliver(&services, &options, &poster, &delivery).await;
                token
            }
            .instrument(span),
        );
    }

    /// Keeps the leases of what is under way, for ever; stop it by dropping it. When its process dies, others have
    /// the deliveries as soon as their leases are over.
    fn keep_leases(&self, flights: &Flights) -> impl Future<Output = ()> + Send + 'static {
        let (store, kept) = (Arc::clone(&self.services.store), Arc::clone(&flights.kept));
        let lease = self.options.webhooks.lease;
        async move {
            let mut ticks = interval(lease / 3);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                let tokens: Vec<DeliveryToken> = kept.lock().iter().copied().collect();
                if tokens.is_empty() {
                    continue;
                }
                // An attempt whose lease was lost goes on: whoever settles first has settled it.
                if let Err(error) = store.keep_deliveries(&tokens, lease).await {
                    warn!(
                        error = &error as &dyn std::error::Error,
                        "the leases of webhooks under way could not be renewed"
                    );
                }
            }
        }
    }

    /// Waits until a delivery is written that is due, in whatever process.
    async fn next_written(&self, written: &mut DeliveryWatch) {
        loop {
            written.changed().await;
            let next = self.services.store.next_delivery_in().await;
            if let Ok(Some(wait)) = next
                && wait <= SOON
            {
                return sleep(wait).await;
            }
        }
    }

    /// Waits until it is worth looking again, whether or not anything is told.
    async fn next_due(&self) {
        let poll = self.options.webhooks.poll;
        let next = self.services.store.next_delivery_in().await;
        let wait = next.ok().flatten().map_or(poll, |next| next.min(poll));
        // A delivery that is due and was not taken belongs to a receiver with no free slot: no hurry.
        sleep(wait.max(poll / 10)).await;
    }

    async fn give_back(&self, flights: &mut Flights) {
        flights.running.abort_all();
        while flights.running.join_next().await.is_some() {}
        let tokens: Vec<DeliveryToken> = flights.receivers.keys().copied().collect();
        match self.services.store.give_back_deliveries(&tokens).await {
            Ok(back) => info!(back, "deliveries were given back"),
            Err(error) => warn!(
                error = &error as &dyn std::error::Error,
                "deliveries could not be given back and wait for the end of their lease"
            ),
        }
    }
}

impl Flights {
    /// Waits for the next that ends; `None` when none is under way.
    async fn landed(&mut self) -> Option<()> {
        let token = self.running.join_next().await?;
        match token {
            Ok(token) => {
                self.receivers.remove(&token);
                self.kept.lock().remove(&token);
            }
            // Which one is not known: its slot stays taken until the others are through.
            Err(_panicked) if self.running.is_empty() => {
                self.receivers.clear();
                self.kept.lock().clear();
            }
            Err(_panicked) => {}
        }
        Some(())
    }

    fn to(&self, receiver: &str) -> usize {
        self.receivers.values().filter(|to| *to == receiver).count()
    }

    /// The receivers that have as many as they may.
    fn full(&self, per_receiver: usize) -> Vec<String> {
        let mut full: Vec<String> = self
            .receivers
            .values()
            .filter(|receiver| self.to(receiver) >= per_receiver)
            .cloned()
            .collect();
        full.sort_unstable();
        full.dedup();
        full
    }
}

async fn deliver(services: &Services, options: &Options, poster: &Poster, delivery: &DueDelivery) {
    let attempt = poster.post(delivery).await;
    let took = attempt.report.duration;
    let after = policy::after(
        &attempt.verdict,
        delivery,
        &options.webhooks,
        services.chance.as_ref(),
    );
    let word = match after {
        AfterAttempt::Delivered => "delivered",
        AfterAttempt::RetryIn(_) => "retry",
        AfterAttempt::GiveUp => "given_up",
    };
    measure::webhook(word, took);
    if after == AfterAttempt::GiveUp {
        measure::webhook_dead(match attempt.verdict {
            policy::Verdict::Never => "refused",
            policy::Verdict::Later(_) | policy::Verdict::Taken => "too_long",
        });
    }
    let (id, event) = (delivery.extraction_id, delivery.token.event_id);
    match after {
        AfterAttempt::Delivered => {
            debug!(extraction.id = %id, webhook.id = %event, "a webhook was delivered");
        }
        AfterAttempt::RetryIn(delay) => info!(
            extraction.id = %id, webhook.id = %event,
            status = attempt.report.status_code, error = attempt.report.error,
            "a webhook was not taken, again in {delay:?}"
        ),
        AfterAttempt::GiveUp => warn!(
            extraction.id = %id, webhook.id = %event,
            status = attempt.report.status_code, error = attempt.report.error,
            "a webhook was given up"
        ),
    }
    let settled = crate::attempt::insist(&services.store, || {
        services
            .store
            .settle_delivery(&delivery.token, &attempt.report, after)
    });
    match settled.await {
        Ok(true) => {}
        Ok(false) => {
            debug!(webhook.id = %event, "the delivery was somebody else's when it was settled");
        }
        Err(error) => warn!(
            webhook.id = %event,
            error = &error as &dyn std::error::Error,
            "an attempt could not be written; the webhook will be sent again"
        ),
    }
}
