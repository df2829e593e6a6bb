//! [`Member`]: the consumer of every adapter that keeps a ledger. The rules of waiting, leases and suspects.
//!
//! One round: drain (when the group's lock is free) -> bury -> claim. While claims come back full, rounds claim without
//! draining first, until the last pass is [`STRAIGHT`] old. Between rounds it waits for a ring, for the next due time,
//! for the poll, or for the end.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use tokio::{
    sync::Mutex,
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};
use uuid::Uuid;

use crate::{
    bus::{Consumer, Settled},
    error::{Error, Result},
    event::{Delivery, Ticket},
    held::{Held, Load},
    ledger::{Ask, Drained, Failed, Ledger, Pass},
    measure,
    options::Options,
    settler::Settler,
    signal::{Ear, Signal},
};

/// A pass lasts milliseconds: whoever lost the lock looks again after this long.
const AFTER_LOST_LOCK: Duration = Duration::from_millis(10);
/// How long a cancelled claim may still wait for the database.
const CANCEL_GRACE: Duration = Duration::from_secs(2);
/// For so long after a pass a backlog is claimed from without another one. What is new waits behind the backlog anyway;
/// suspects wait this much longer.
const STRAIGHT: Duration = Duration::from_millis(50);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct Member<L> {
    pub(crate) group: String,
    pub(crate) consumer: String,
    pub(crate) ledger: Arc<L>,
    pub(crate) signal: Signal,
    pub(crate) options: Options,
    held: Held,
    claiming: Mutex<()>,
    settler: Settler,
    /// A round waits until nothing is in flight.
    wants_to_be_idle: AtomicBool,
    /// Until when a claim needs no pass before it: the last one came back full.
    straight_until: std::sync::Mutex<Option<Instant>>,
}

/// What a round came to.
enum Round {
    Claimed(Vec<Delivery>),
    Nothing { look_again: Duration },
}

impl<L: Ledger> Member<L> {
    pub(crate) fn new(
        group: String,
        consumer: String,
        ledger: Arc<L>,
        signal: Signal,
        options: Options,
    ) -> Self {
        Self {
            group,
            consumer,
            ledger,
            signal,
            options,
            held: Held::default(),
            claiming: Mutex::new(()),
            settler: Settler::default(),
            wants_to_be_idle: AtomicBool::new(false),
            straight_until: std::sync::Mutex::new(None),
        }
    }

    /// What a backlog gives without a pass before it; nothing when a pass is due.
    async fn straight(&self, limit: usize) -> Result<Vec<Delivery>> {
        let until = *self.straight_until();
        let now = Instant::now();
        if until.is_none_or(|until| until <= now)
            || self.wants_to_be_idle.load(Ordering::Acquire)
            || self.held.load(now) == Load::Suspect
        {
            return Ok(Vec::new());
        }
        let deliveries = self.lease(limit, false).await?;
        if deliveries.len() < limit {
            *self.straight_until() = None;
        }
        Ok(deliveries)
    }

    fn straight_until(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.straight_until
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    async fn round(&self, limit: usize) -> Result<Round> {
        let straight = self.straight(limit).await?;
        if !straight.is_empty() {
            return Ok(Round::Claimed(straight));
        }
        let drained = self.drain().await?;
        let load = self.held.load(Instant::now());
        self.wants_to_be_idle.store(
            load == Load::Suspect || (drained.suspects && load == Load::Busy),
            Ordering::Release,
        );
        if load == Load::Suspect {
            return Ok(Round::Nothing {
                look_again: self.ledger.poll(),
            });
        }
        if drained.suspects {
            let buried = self.ledger.bury().await?;
            if buried > 0 {
                measure::dead_letters(&self.group, buried);
                warn!(bus.group = %self.group, buried, "buried events that were claimed repeatedly and never settled");
            }
            if load == Load::Idle {
                let alone = self.lease(1, true).await?;
                if !alone.is_empty() {
                    return Ok(Round::Claimed(alone));
                }
            }
        }
        if drained.due {
            let passed = Instant::now();
            let deliveries = self.lease(limit, false).await?;
            *self.straight_until() = (deliveries.len() >= limit).then(|| passed + STRAIGHT);
            if !deliveries.is_empty() {
                if drained.moved as usize > deliveries.len() {
                    self.ledger.tell_others();
                }
                return Ok(Round::Claimed(deliveries));
            }
        }
        if drained.moved > 0 {
            self.ledger.tell_others();
        }
        Ok(Round::Nothing {
            look_again: self.pause(&drained),
        })
    }

    async fn drain(&self) -> Result<Drained> {
        let began = Instant::now();
        let drained = self.ledger.drain().await?;
        measure::drain_pass(&self.group, &drained, began.elapsed());
        Ok(drained)
    }

    async fn lease(&self, limit: usize, suspects: bool) -> Result<Vec<Delivery>> {
        // The clock of the lease starts before the claim is sent: here it ends no later than there.
        let until = Instant::now() + self.options.lease;
        let token = Uuid::new_v4();
        let deliveries = self
            .ledger
            .claim(Ask {
                limit,
                suspects,
                token,
            })
            .await?;
        self.held.take(&deliveries, until, suspects);
        measure::claimed(&self.group, deliveries.len());
        Ok(deliveries)
    }

    fn pause(&self, drained: &Drained) -> Duration {
        if drained.full {
            return Duration::ZERO;
        }
        let poll = self.ledger.poll();
        let next = drained.next_due.map_or(poll, |due| due.min(poll));
        if drained.outcome == Pass::Lost {
            next.min(AFTER_LOST_LOCK)
        } else {
            next
        }
    }

    async fn wait_for_work(
        &self,
        limit: usize,
        ear: &mut Ear,
        cancel: &CancellationToken,
    ) -> Result<Vec<Delivery>> {
        let mut pause = FIRST_PAUSE;
        while !cancel.is_cancelled() {
            ear.attend();
            let look_again = match self.round(limit).await {
                Ok(Round::Claimed(deliveries)) => return Ok(deliveries),
                Ok(Round::Nothing { look_again }) => {
                    pause = FIRST_PAUSE;
                    look_again
                }
                Err(error) if error.is_transient() => {
                    warn!(bus.group = %self.group, error = &error as &dyn std::error::Error,
                        "the bus does not answer, trying again in {pause:?}");
                    tokio::select! {
                        () = sleep(pause) => {}
                        () = cancel.cancelled() => {}
                    }
                    pause = (pause * 2).min(LONGEST_PAUSE);
                    continue;
                }
                Err(error) => return Err(error),
            };
            tokio::select! {
                () = ear.rung() => {}
                () = sleep(look_again) => {}
                () = cancel.cancelled() => {}
            }
        }
        Ok(Vec::new())
    }

    /// Sends a settlement until it is answered or the lease is over: work that was done must not be done
    /// again because a connection broke.
    async fn settle<T, F>(&self, ticket: &Ticket, mut send: impl FnMut() -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        let deadline = Instant::now() + self.held.remaining(ticket, Instant::now());
        let mut pause = FIRST_PAUSE;
        loop {
            match send().await {
                Err(error) if error.is_transient() && Instant::now() + pause < deadline => {
                    debug!(bus.group = %self.group, bus.ticket = %ticket,
                        error = &error as &dyn std::error::Error, "settling again in {pause:?}");
                    sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                outcome => return outcome,
            }
        }
    }

    fn settled(&self, ticket: &Ticket, outcome: Settled, word: &'static str) -> Settled {
        let idle = self.held.drop_ticket(ticket);
        measure::settled(
            &self.group,
            if outcome == Settled::Lost {
                "lost"
            } else {
                word
            },
        );
        if idle && self.wants_to_be_idle.swap(false, Ordering::AcqRel) {
            self.signal.ring();
        }
        outcome
    }
}

#[async_trait]
impl<L: Ledger> Consumer for Member<L> {
    async fn claim(&self, limit: usize, cancel: &CancellationToken) -> Result<Vec<Delivery>> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        let _alone = self.claiming.lock().await;
        let mut ear = self.signal.listen();
        let given_up = async {
            cancel.cancelled().await;
            sleep(CANCEL_GRACE).await;
        };
        let deliveries = tokio::select! {
            biased;
            deliveries = self.wait_for_work(limit, &mut ear, cancel) => deliveries?,
            () = given_up => Vec::new(),
        };
        if cancel.is_cancelled() {
            for delivery in &deliveries {
                let outcome = self.defer(&delivery.ticket, Duration::ZERO).await?;
                debug!(bus.ticket = %delivery.ticket, ?outcome, "claimed while being cancelled");
            }
            return Ok(Vec::new());
        }
        Ok(deliveries)
    }

    async fn beat(&self, held: &[Ticket]) -> Result<Vec<Ticket>> {
        if held.is_empty() {
            return Ok(Vec::new());
        }
        let until = Instant::now() + self.options.lease;
        let kept = match timeout(self.options.lease, self.ledger.beat(held)).await {
            Ok(kept) => kept?,
            Err(_late) => {
                return Err(Error::Database {
                    operation: "renew leases",
                    subject: self.group.clone(),
                    source: sqlx::Error::PoolTimedOut,
                });
            }
        };
        self.held.renew(&kept, until);
        let lost: Vec<Ticket> = held
            .iter()
            .filter(|ticket| !kept.contains(ticket))
            .cloned()
            .collect();
        for ticket in &lost {
            self.held.drop_ticket(ticket);
        }
        if !lost.is_empty() {
            measure::leases_lost(&self.group, lost.len());
            warn!(bus.group = %self.group, lost = lost.len(), "lost leases: their work must stop");
        }
        Ok(lost)
    }

    fn beat_interval(&self) -> Duration {
        self.options.lease / 3
    }

    async fn done(&self, ticket: &Ticket) -> Result<Settled> {
        let kept = match self.settler.settle(&self.ledger, ticket.clone()).await {
            Some(kept) => kept,
            // The batch failed: on its own, as long as the lease holds.
            None => {
                self.settle(ticket, || self.ledger.done(std::slice::from_ref(ticket)))
                    .await?
                    .len()
                    == 1
            }
        };
        let outcome = if kept {
            Settled::Settled
        } else {
            Settled::Lost
        };
        Ok(self.settled(ticket, outcome, "done"))
    }

    async fn retry(
        &self,
        ticket: &Ticket,
        delay: Option<Duration>,
        error: &str,
    ) -> Result<Settled> {
        let failed = self
            .settle(ticket, || self.ledger.retry(ticket, delay, error))
            .await?;
        let (outcome, word) = match failed {
            Failed::Again => (Settled::Settled, "retry"),
            Failed::DeadLettered => (Settled::DeadLettered, "dead_letter"),
            Failed::Lost => (Settled::Lost, "lost"),
        };
        if outcome == Settled::DeadLettered {
            measure::dead_letters(&self.group, 1);
            warn!(bus.group = %self.group, bus.ticket = %ticket, "the event used up its failures and is a dead letter");
        }
        Ok(self.settled(ticket, outcome, word))
    }

    async fn defer(&self, ticket: &Ticket, delay: Duration) -> Result<Settled> {
        let kept = self
            .settle(ticket, || self.ledger.defer(ticket, delay))
            .await?;
        let outcome = if kept {
            Settled::Settled
        } else {
            Settled::Lost
        };
        if kept && delay.is_zero() {
            self.ledger.tell_others();
        }
        Ok(self.settled(ticket, outcome, "defer"))
    }

    async fn dead_letter(&self, ticket: &Ticket, reason: &str, error: &str) -> Result<Settled> {
        let kept = self
            .settle(ticket, || self.ledger.dead_letter(ticket, reason, error))
            .await?;
        let outcome = if kept {
            Settled::DeadLettered
        } else {
            Settled::Lost
        };
        if kept {
            measure::dead_letters(&self.group, 1);
        }
        Ok(self.settled(ticket, outcome, "dead_letter"))
    }

    async fn close(&self) -> Result<()> {
        let back = self.ledger.leave().await?;
        if back > 0 {
            info!(bus.group = %self.group, bus.consumer = %self.consumer, back, "gave back what was not finished");
        }
        // Also for what waits behind a key that this member settled last.
        self.ledger.tell_others();
        Ok(())
    }
}

#[cfg(test)]
#[path = "member_tests.rs"]
mod tests;
