//! The relay: from the outbox to a broker, for the adapters `redis` and `kafka`.
//!
//! Every process runs one; the one that holds the lock is active. To the outbox it is a consumer group like any
//! other, so that nothing is skipped that commits late, delays are honoured, and of one key one event is under way.
//! An event is settled when the broker has acknowledged it. While the broker is away events wait where they are.

mod lock;
mod sink;

use std::{fmt, sync::Arc, time::Duration};

use futures::future::join_all;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
use tracing::{debug, info, warn};

pub use self::lock::RelayLock;
pub(crate) use self::sink::{Sink, Trouble};
use crate::{
    bus::{Bus, Consumer, Start, Subscription},
    error::{Error, Result},
    event::{Delivery, Ticket},
    measure,
    status::GroupStatus,
};

/// The consumer group of the relay in the outbox.
pub const RELAY_GROUP: &str = "flydocs-relay";

/// How many events travel together.
const BATCH: usize = 500;
/// How long the broker may take for a batch.
const DELIVER_WITHIN: Duration = Duration::from_secs(10);
/// How often whoever is not active asks for the lock, and whoever is looks whether it still has it.
const LOCK_POLL: Duration = Duration::from_millis(250);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// How often what is handled is removed from the broker.
const TIDY: Duration = Duration::from_secs(10);
/// How many of these times groups of another adapter are looked for.
const LOOK_EVERY: u64 = 60;
/// A group of the outbox that nobody drained for this long belongs to an adapter of the past.
const ABANDONED: chrono::TimeDelta = chrono::TimeDelta::minutes(30);

/// Where events of an adapter with a broker come from.
#[derive(Debug, Clone)]
pub struct Outbox {
    /// The bus of the database the outbox is in, made with [`crate::Options::for_relay`].
    pub bus: Arc<dyn Bus>,
    /// What makes one relay the active one.
    pub lock: RelayLock,
    /// The topics that are carried.
    pub destinations: Vec<String>,
    /// The event types that are carried.
    pub event_types: Vec<String>,
}

impl Outbox {
    /// What the relay has still to carry, when it was ever there.
    pub(crate) async fn owed(&self) -> Result<Option<GroupStatus>> {
        let groups = self.bus.status().await?.groups;
        Ok(groups.into_iter().find(|group| group.group == RELAY_GROUP))
    }
}

/// One process's relay.
pub struct Relay {
    outbox: Outbox,
    sink: Arc<dyn Sink>,
}

impl fmt::Debug for Relay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relay")
            .field("sink", &self.sink)
            .finish_non_exhaustive()
    }
}

impl Relay {
    pub(crate) fn new(outbox: Outbox, sink: Arc<dyn Sink>) -> Self {
        Self { outbox, sink }
    }

    /// Carries events whenever this process holds the lock, until `shutdown` fires.
    pub async fn run(self, shutdown: CancellationToken) -> Result<()> {
        let mut pause = FIRST_PAUSE;
        while !shutdown.is_cancelled() {
            match self.turn(&shutdown).await {
                Ok(()) => pause = FIRST_PAUSE,
                Err(error) if error.is_transient() || matches!(error, Error::Schema { .. }) => {
                    warn!(
                        error = &error as &dyn std::error::Error,
                        "the relay stopped, trying again in {pause:?}"
                    );
                    wait(pause, &shutdown).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Waits for the lock and carries events as long as it is held.
    async fn turn(&self, shutdown: &CancellationToken) -> Result<()> {
        let held = tokio::select! {
            held = self.outbox.lock.lock(LOCK_POLL) => held?,
            () = shutdown.cancelled() => return Ok(()),
        };
        info!("this process relays events to {}", self.sink.broker());
        measure::relay_active(true);
        let ending = shutdown.child_token();
        let watching = AbortOnDropHandle::new(tokio::spawn({
            let lost = ending.clone();
            async move {
                held.until_lost(LOCK_POLL).await;
                lost.cancel();
            }
        }));
        let outcome = self.carry(&ending).await;
        drop(watching);
        measure::relay_active(false);
        // Another process knows from here on.
        self.sink.trouble().set(None);
        outcome
    }

    async fn carry(&self, ending: &CancellationToken) -> Result<()> {
        let consumer = self.outbox.bus.subscribe(self.subscription()).await?;
        let tidying = AbortOnDropHandle::new(tokio::spawn({
            let (sink, bus) = (Arc::clone(&self.sink), Arc::clone(&self.outbox.bus));
            async move { tidy(sink, bus).await }
        }));
        let outcome = self.carry_on(&consumer, ending).await;
        drop(tidying);
        if let Err(error) = consumer.close().await {
            debug!(
                error = &error as &dyn std::error::Error,
                "the relay could not leave; its leases run out by themselves"
            );
        }
        outcome
    }

    fn subscription(&self) -> Subscription {
        Subscription {
            group: RELAY_GROUP.to_owned(),
            destinations: self.outbox.destinations.clone(),
            event_types: self.outbox.event_types.clone(),
            consumer: format!("relay-{}", std::process::id()),
            start: Start::Earliest,
        }
    }

    async fn carry_on(
        &self,
        consumer: &Arc<dyn Consumer>,
        ending: &CancellationToken,
    ) -> Result<()> {
        let mut pause = FIRST_PAUSE;
        while !ending.is_cancelled() {
            // Nothing is taken out of the outbox for a broker that is away.
            if let Err(error) = self.sink.ready().await {
                self.trouble(&error, pause);
                wait(pause, ending).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
                continue;
            }
            let batch = consumer.claim(BATCH, ending).await?;
            if batch.is_empty() {
                continue;
            }
            if self.pass_on(consumer, &batch).await? {
                pause = FIRST_PAUSE;
            } else {
                wait(pause, ending).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
        Ok(())
    }

    /// Sends a batch and settles what was acknowledged; false when something was not.
    async fn pass_on(&self, consumer: &Arc<dyn Consumer>, batch: &[Delivery]) -> Result<bool> {
        let tickets: Vec<Ticket> = batch
            .iter()
            .map(|delivery| delivery.ticket.clone())
            .collect();
        let beating = AbortOnDropHandle::new(tokio::spawn({
            let (consumer, tickets) = (Arc::clone(consumer), tickets.clone());
            async move { beat(consumer, tickets).await }
        }));
        let outcomes = match timeout(DELIVER_WITHIN, self.sink.deliver(batch)).await {
            Ok(outcomes) => outcomes,
            Err(_late) => batch.iter().map(|_| Err(self.sink.late())).collect(),
        };
        drop(beating);
        let mut trouble = None;
        let mut settling = Vec::with_capacity(batch.len());
        for (ticket, outcome) in tickets.iter().zip(outcomes) {
            let carried = outcome.is_ok();
            if let Err(error) = outcome {
                trouble.get_or_insert(error);
            }
            settling.push(async move {
                if carried {
                    consumer.done(ticket).await
                } else {
                    consumer.defer(ticket, Duration::ZERO).await
                }
            });
        }
        self.sink.trouble().set(trouble.as_ref().map(with_causes));
        let settled = join_all(settling).await;
        measure::relayed(batch.len());
        for outcome in settled {
            // A lost ticket means that the event goes out once more: at least once.
            let _at_least_once = outcome?;
        }
        if let Some(error) = &trouble {
            self.trouble(error, FIRST_PAUSE);
        }
        Ok(trouble.is_none())
    }

    fn trouble(&self, error: &Error, pause: Duration) {
        warn!(
            error = error as &dyn std::error::Error,
            "{} does not take events, they wait in the outbox; trying again in {pause:?}",
            self.sink.broker()
        );
    }
}

/// An error and what caused it: the broker's own words are at the end.
fn with_causes(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

async fn beat(consumer: Arc<dyn Consumer>, tickets: Vec<Ticket>) {
    let mut ticks = interval(consumer.beat_interval());
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if let Err(error) = consumer.beat(&tickets).await {
            debug!(
                error = &error as &dyn std::error::Error,
                "the leases of the relay could not be renewed"
            );
        }
    }
}

async fn tidy(sink: Arc<dyn Sink>, bus: Arc<dyn Bus>) {
    for round in 0_u64.. {
        sleep(TIDY).await;
        if let Err(error) = sink.tidy().await {
            debug!(
                error = &error as &dyn std::error::Error,
                "{} could not be tidied",
                sink.broker()
            );
        }
        if !round.is_multiple_of(LOOK_EVERY) {
            continue;
        }
        if let Err(error) = forget_abandoned(bus.as_ref(), |group| group != RELAY_GROUP).await {
            debug!(
                error = &error as &dyn std::error::Error,
                "groups of another adapter could not be looked for"
            );
        }
    }
}

/// Forgets the relay when no process has run it for half an hour: the adapter of today has no broker, and what is
/// in the outbox is its own. What the relay still owed went to the other groups as well.
pub async fn forget_idle_relay(bus: &dyn Bus) -> Result<()> {
    if bus.relay().is_some() {
        return Ok(());
    }
    forget_abandoned(bus, |group| group == RELAY_GROUP).await
}

/// Groups of an adapter that is not in use any more would hold the outbox for ever.
async fn forget_abandoned(bus: &dyn Bus, which: impl Fn(&str) -> bool) -> Result<()> {
    let before = chrono::Utc::now() - ABANDONED;
    for group in bus.status().await?.groups {
        if which(&group.group) && group.last_drain_at < before && group.in_flight == 0 {
            let owed = bus.forget_group(&group.group).await?;
            info!(bus.group = %group.group, owed, "forgot a group that another adapter left behind");
        }
    }
    Ok(())
}

async fn wait(pause: Duration, ending: &CancellationToken) {
    tokio::select! {
        () = sleep(pause) => {}
        () = ending.cancelled() => {}
    }
}
