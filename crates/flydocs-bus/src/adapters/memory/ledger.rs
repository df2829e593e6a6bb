//! One member's view of a queue in memory.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use tokio::time::Instant;

use super::{feed, queue::Queue};
use crate::{
    error::{Error, Result, while_doing},
    event::{Delivery, Ticket},
    ledger::{Ask, Drained, Failed, Ledger, Pass},
    options::Options,
    signal::Signal,
    sqlite::Database,
};

/// For what another process sent back from the dead letters.
const LONGEST_POLL: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct MemoryLedger {
    pub(super) database: Database,
    pub(super) queue: Arc<Queue>,
    pub(super) claimed_by: String,
    pub(super) event_types: Vec<String>,
    pub(super) signal: Signal,
    pub(super) options: Options,
}

impl MemoryLedger {
    fn failed(&self, operation: &'static str) -> impl FnOnce(sqlx::Error) -> Error + use<> {
        while_doing(operation, format!("group {}", self.queue.group))
    }

    /// The letter is written before the queue forgets the event: a failure in between repeats, never loses.
    async fn give_up(
        &self,
        delivery: &Delivery,
        reason: &str,
        error: Option<&str>,
    ) -> sqlx::Result<()> {
        let mut conn = self.database.writer.acquire().await?;
        feed::keep_letter(&mut conn, &self.queue, delivery, reason, error).await
    }

    fn held(&self, ticket: &Ticket) -> Option<Delivery> {
        self.queue
            .lock()
            .held(ticket)
            .map(|entry| entry.delivery.clone())
    }
}

#[async_trait]
impl Ledger for MemoryLedger {
    async fn drain(&self) -> Result<Drained> {
        let Ok(_alone) = self.queue.feeding.try_lock() else {
            let found = self.queue.lock().look(Instant::now());
            return Ok(Drained {
                outcome: Pass::Lost,
                ..found
            });
        };
        let capacity = self.options.memory_capacity as usize;
        let (moved, full) = feed::fill(
            &self.database,
            &self.queue,
            capacity,
            self.options.drain_batch,
        )
        .await
        .map_err(self.failed("hand events to the group"))?;
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
            self.give_up(
                &delivery,
                "claimed repeatedly, never settled",
                error.as_deref(),
            )
            .await
            .map_err(self.failed("bury events"))?;
            let buried = self.queue.lock().entries.remove(id);
            if let Some(entry) = buried {
                feed::settled(&self.database, &self.queue, &entry)
                    .await
                    .map_err(self.failed("bury events"))?;
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
                feed::settled(&self.database, &self.queue, &entry)
                    .await
                    .map_err(self.failed("settle deliveries"))?;
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
        self.give_up(&delivery, reason, Some(error))
            .await
            .map_err(self.failed("keep a dead letter"))?;
        Ok(!self.done(std::slice::from_ref(ticket)).await?.is_empty())
    }

    async fn leave(&self) -> Result<u64> {
        Ok(self.queue.lock().leave(&self.claimed_by))
    }

    fn tell_others(&self) {
        self.signal.ring();
    }

    fn poll(&self) -> Duration {
        self.options.poll.min(LONGEST_POLL)
    }
}
