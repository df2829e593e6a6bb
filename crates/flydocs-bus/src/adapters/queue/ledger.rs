//! One member's view of a queue in memory.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use tokio::time::Instant;

use super::{Entry, Queue};
use crate::{
    error::Result,
    event::{Delivery, Ticket},
    ledger::{Ask, Drained, Failed, Ledger, Pass},
    options::Options,
    signal::Signal,
};

/// For what another process sent back from the dead letters.
const LONGEST_POLL: Duration = Duration::from_secs(1);

/// Where the queue comes from, and what remembers how far it is settled.
#[async_trait]
pub(in crate::adapters) trait Feed: fmt::Debug + Send + Sync + 'static {
    /// Fills the queue; how many came and whether there may be more. Called by one member at a time.
    async fn fill(&self, queue: &Queue) -> Result<(u32, bool)>;
    /// The event is settled.
    async fn settled(&self, queue: &Queue, entry: &Entry) -> Result<()>;
    /// Keeps the event as a dead letter.
    async fn keep_letter(
        &self,
        queue: &Queue,
        delivery: &Delivery,
        reason: &str,
        error: Option<&str>,
    ) -> Result<()>;
    /// A member left.
    async fn left(&self) {}
}

#[derive(Debug)]
pub(in crate::adapters) struct QueueLedger<F> {
    pub(in crate::adapters) feed: Arc<F>,
    pub(in crate::adapters) queue: Arc<Queue>,
    pub(in crate::adapters) claimed_by: String,
    pub(in crate::adapters) event_types: Vec<String>,
    pub(in crate::adapters) signal: Signal,
    pub(in crate::adapters) options: Options,
}

impl<F: Feed> QueueLedger<F> {
    fn held(&self, ticket: &Ticket) -> Option<Delivery> {
        self.queue
            .lock()
            .held(ticket)
            .map(|entry| entry.delivery.clone())
    }
}

#[async_trait]
impl<F: Feed> Ledger for QueueLedger<F> {
    async fn drain(&self) -> Result<Drained> {
        let Ok(_alone) = self.queue.feeding.try_lock() else {
            let found = self.queue.lock().look(Instant::now());
            return Ok(Drained {
                outcome: Pass::Lost,
                ..found
            });
        };
        let (moved, full) = self.feed.fill(&self.queue).await?;
        let found = self.queue.lock().look(Instant::now());
        let outcome = if moved > 0 { Pass::Won } else { Pass::Idle };
        Ok(Drained {
            outcome,
            moved,
            full,
            ..found
        })
    }

    async fn bury(&self) -> Result<u64> {
        let overdue = self.queue.lock().overdue(self.options.max_unsettled);
        for id in &overdue {
            let entry = self
                .queue
                .lock()
                .entries
                .get(id)
                .map(|entry| (entry.delivery.clone(), entry.last_error.clone()));
            let Some((delivery, error)) = entry else {
                continue;
            };
            // The letter is written before the queue forgets the event: a failure in between repeats, never loses.
            let reason = "claimed repeatedly, never settled";
            self.feed
                .keep_letter(&self.queue, &delivery, reason, error.as_deref())
                .await?;
            let buried = self.queue.lock().entries.remove(id);
            if let Some(entry) = buried {
                self.feed.settled(&self.queue, &entry).await?;
            }
        }
        Ok(overdue.len() as u64)
    }

    async fn claim(&self, ask: Ask) -> Result<Vec<Delivery>> {
        Ok(self
            .queue
            .lock()
            .claim(ask, &self.event_types, &self.claimed_by, &self.options))
    }

    async fn beat(&self, held: &[Ticket]) -> Result<Vec<Ticket>> {
        let until = Instant::now() + self.options.lease;
        let mut state = self.queue.lock();
        let mut kept = Vec::with_capacity(held.len());
        for ticket in held {
            if let Some(entry) = state.held(ticket) {
                entry.visible = until;
                kept.push(ticket.clone());
            }
        }
        Ok(kept)
    }

    async fn done(&self, held: &[Ticket]) -> Result<Vec<Ticket>> {
        let mut kept = Vec::with_capacity(held.len());
        for ticket in held {
            let taken = self.queue.lock().take(ticket);
            if let Some(entry) = taken {
                self.feed.settled(&self.queue, &entry).await?;
                kept.push(ticket.clone());
            }
        }
        Ok(kept)
    }

    async fn retry(&self, ticket: &Ticket, delay: Option<Duration>, error: &str) -> Result<Failed> {
        let Some(delivery) = self.held(ticket) else {
            return Ok(Failed::Lost);
        };
        let failures = delivery.failures + 1;
        if failures >= self.options.max_failures {
            let kept = self.dead_letter(ticket, "handler failed", error).await?;
            return Ok(if kept {
                Failed::DeadLettered
            } else {
                Failed::Lost
            });
        }
        let (delay, _jitter) = self.options.pause_after(failures, delay);
        self.queue.lock().retry(ticket, delay, error);
        Ok(Failed::Again)
    }

    async fn defer(&self, ticket: &Ticket, delay: Duration) -> Result<bool> {
        Ok(self.queue.lock().defer(ticket, delay))
    }

    async fn dead_letter(&self, ticket: &Ticket, reason: &str, error: &str) -> Result<bool> {
        let Some(delivery) = self.held(ticket) else {
            return Ok(false);
        };
        self.feed
            .keep_letter(&self.queue, &delivery, reason, Some(error))
            .await?;
        Ok(!self.done(std::slice::from_ref(ticket)).await?.is_empty())
    }

    async fn leave(&self) -> Result<u64> {
        let back = self.queue.lock().leave(&self.claimed_by);
        self.feed.left().await;
        Ok(back)
    }

    fn tell_others(&self) {
        self.signal.ring();
    }

    fn poll(&self) -> Duration {
        self.options.poll.min(LONGEST_POLL)
    }
}
