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
        let mut batch = {
            let mut waiting = self.lock();
            let count = waiting.len().min(LARGEST_BATCH);
            waiting.drain(..count).collect::<Vec<_>>()
        };
        batch.retain(|waiting| !waiting.answer.is_closed());
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
