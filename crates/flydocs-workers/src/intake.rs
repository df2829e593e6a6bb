//! From the bus to handlers: takes only as many events as there are free slots, keeps their leases, settles them.

use std::{collections::HashSet, num::NonZeroUsize, sync::Arc, time::Duration};

use async_trait::async_trait;
use flydocs_bus::{Consumer, Delivery, Settled, Ticket};
use futures::FutureExt as _;
use parking_lot::Mutex;
use tokio::{
    task::JoinSet,
    time::{MissedTickBehavior, interval, timeout},
};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, warn};

use crate::measure::{self, Kind};

/// What becomes of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Settlement {
    /// It was handled, or nothing is left to do.
    Done,
    /// Not now.
    Defer(Duration),
    /// It failed for a reason that is not the extraction's own.
    Retry(String),
    /// Nobody will ever understand it.
    DeadLetter(String),
}

/// What is done with an event.
#[async_trait]
pub(crate) trait Handler: Send + Sync + 'static {
    async fn handle(&self, delivery: &Delivery) -> Settlement;
}

/// The slots of one consumer.
pub(crate) struct Intake<H> {
    consumer: Arc<dyn Consumer>,
    handler: Arc<H>,
    slots: NonZeroUsize,
    kind: Kind,
    held: Arc<Mutex<HashSet<Ticket>>>,
    running: JoinSet<()>,
}

impl<H: Handler> Intake<H> {
    pub(crate) fn new(
        consumer: Arc<dyn Consumer>,
        handler: Arc<H>,
        slots: NonZeroUsize,
        kind: Kind,
    ) -> Self {
        Self {
            consumer,
            handler,
            slots,
            kind,
            held: Arc::default(),
            running: JoinSet::new(),
        }
    }

    /// Takes and starts events until `stop` fires.
    pub(crate) async fn take_until(&mut self, stop: &CancellationToken) -> flydocs_bus::Result<()> {
        while !stop.is_cancelled() {
            let free = self.slots.get().saturating_sub(self.running.len());
            if free == 0 {
                tokio::select! {
                    Some(()) = next(&mut self.running) => {}
                    () = stop.cancelled() => {}
                }
                continue;
            }
            let consumer = Arc::clone(&self.consumer);
            // The bus asks not to drop a claim under way: it ends by itself when `stop` fires.
            let claim = consumer.claim(free, stop);
            tokio::pin!(claim);
            let deliveries = loop {
                tokio::select! {
                    deliveries = &mut claim => break deliveries?,
                    Some(()) = next(&mut self.running) => measure::busy(self.kind, self.running.len()),
                }
            };
            for delivery in deliveries {
                self.start(delivery);
            }
        }
        Ok(())
    }

    fn start(&mut self, delivery: Delivery) {
        let (consumer, handler) = (Arc::clone(&self.consumer), Arc::clone(&self.handler));
        let held = Arc::clone(&self.held);
        held.lock().insert(delivery.ticket.clone());
        self.running.spawn(async move {
            let handled = std::panic::AssertUnwindSafe(handler.handle(&delivery));
            let settlement = handled.catch_unwind().await.unwrap_or_else(|_panic| {
                error!(bus.event_id = %delivery.event_id, "the handler of an event panicked");
                Settlement::Retry("the handler panicked".to_owned())
            });
            settle(consumer.as_ref(), &delivery, settlement).await;
            held.lock().remove(&delivery.ticket);
        });
        measure::busy(self.kind, self.running.len());
    }

    /// Keeps the leases of what runs, for ever; stop it by dropping it.
    pub(crate) fn keep_leases(&self) -> impl Future<Output = ()> + Send + 'static {
        let (consumer, held) = (Arc::clone(&self.consumer), Arc::clone(&self.held));
        async move {
            let mut ticks = interval(consumer.beat_interval());
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                let tickets: Vec<Ticket> = held.lock().iter().cloned().collect();
                match consumer.beat(&tickets).await {
                    // The claim of the row decides, not the lease of the event: the work goes on, and whoever gets
                    // the event next finds the row taken.
                    Ok(lost) => held.lock().retain(|ticket| !lost.contains(ticket)),
                    Err(error) => warn!(
                        error = &error as &dyn std::error::Error,
                        "the leases of events could not be renewed"
                    ),
                }
            }
        }
    }

    /// Waits until everything that was started is settled; false when that took longer than `at_most`.
    pub(crate) async fn finish_within(&mut self, at_most: Duration) -> bool {
        timeout(at_most, async {
            while next(&mut self.running).await.is_some() {
                measure::busy(self.kind, self.running.len());
            }
        })
        .await
        .is_ok()
    }

    /// How many are running.
    pub(crate) fn running(&self) -> usize {
        self.running.len()
    }
}

/// The next that ends; `None` when none runs. Handlers catch their panics, so there is nothing to look at.
async fn next(running: &mut JoinSet<()>) -> Option<()> {
    running.join_next().await.map(|_ended| ())
}

async fn settle(consumer: &dyn Consumer, delivery: &Delivery, settlement: Settlement) {
    let ticket = &delivery.ticket;
    let settled = match &settlement {
        Settlement::Done => consumer.done(ticket).await,
        Settlement::Defer(delay) => consumer.defer(ticket, *delay).await,
        Settlement::Retry(error) => consumer.retry(ticket, None, error).await,
        Settlement::DeadLetter(why) => consumer.dead_letter(ticket, "not understood", why).await,
    };
    match settled {
        Ok(Settled::Settled) => {}
        Ok(Settled::DeadLettered) => {
            warn!(bus.event_id = %delivery.event_id, "an event became a dead letter");
        }
        Ok(Settled::Lost) => {
            debug!(bus.event_id = %delivery.event_id, "an event was somebody else's when it was settled");
        }
        Err(error) => warn!(
            bus.event_id = %delivery.event_id,
            error = &error as &dyn std::error::Error,
            "an event could not be settled and will come again"
        ),
    }
}
