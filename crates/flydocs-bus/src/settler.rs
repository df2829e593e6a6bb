//! Settlements of many handlers in one statement: while one batch is under way, the next one gathers.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::oneshot;
use tracing::debug;

use crate::{event::Ticket, ledger::Ledger};

/// As many as one statement settles.
const LARGEST_BATCH: usize = 256;

#[derive(Debug, Default)]
pub(crate) struct Settler {
    waiting: Arc<Mutex<Vec<Waiting>>>,
    /// Held while a batch is under way.
    under_way: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Debug)]
struct Waiting {
    ticket: Ticket,
    answer: oneshot::Sender<bool>,
}

impl Settler {
    /// Whether the ticket still held; `None` when the batch failed and the caller must try itself.
    pub(crate) async fn settle<L: Ledger>(&self, ledger: &Arc<L>, ticket: Ticket) -> Option<bool> {
        let (answer, answered) = oneshot::channel();
        self.lock().push(Waiting { ticket, answer });
        let turn = Arc::clone(&self.under_way).lock_owned().await;
        let batch = next_batch(&mut self.lock());
        if !batch.is_empty() {
            // A task of its own: a caller that gives up must not take the others' answers with it.
            let ledger = Arc::clone(ledger);
            tokio::spawn(async move {
                send(&*ledger, batch).await;
                drop(turn);
            });
        }
        answered.await.ok()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who still waits, each event once: two claims of one event settle one after the other.
fn next_batch(waiting: &mut Vec<Waiting>) -> Vec<Waiting> {
    let mut events = HashSet::new();
    let mut batch = Vec::new();
    let mut later = Vec::new();
    for asked in waiting.drain(..).filter(|asked| !asked.answer.is_closed()) {
        if batch.len() < LARGEST_BATCH && events.insert(asked.ticket.outbox_id) {
            batch.push(asked);
        } else {
            later.push(asked);
        }
    }
    *waiting = later;
    batch
}

async fn send<L: Ledger>(ledger: &L, batch: Vec<Waiting>) {
    let tickets: Vec<Ticket> = batch.iter().map(|waiting| waiting.ticket.clone()).collect();
    match ledger.done(&tickets).await {
        Ok(kept) => {
            let kept: HashSet<Ticket> = kept.into_iter().collect();
            for waiting in batch {
                // Whoever asked may have left.
                waiting
                    .answer
                    .send(kept.contains(&waiting.ticket))
                    .unwrap_or_default();
            }
        }
        // Dropped without an answer: each tries itself.
        Err(error) => {
            debug!(
                error = &error as &dyn std::error::Error,
                settlements = tickets.len(),
                "a batch of settlements failed"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn two_claims_of_one_event_are_never_in_one_batch() {
        let ask = |outbox_id| {
            let (answer, answered) = oneshot::channel();
            (
                Waiting {
                    ticket: Ticket {
                        outbox_id,
                        token: Uuid::new_v4(),
                    },
                    answer,
                },
                answered,
            )
        };
        let (mut waiting, answers): (Vec<_>, Vec<_>) = [1, 2, 1, 3].map(ask).into_iter().unzip();
        let ids = |batch: &[Waiting]| batch.iter().map(|w| w.ticket.outbox_id).collect::<Vec<_>>();
        assert_eq!(ids(&next_batch(&mut waiting)), [1, 2, 3]);
        assert_eq!(ids(&waiting), [1]);
        drop(answers);
        assert!(
            next_batch(&mut waiting).is_empty(),
            "who has left is not settled for"
        );
    }
}
