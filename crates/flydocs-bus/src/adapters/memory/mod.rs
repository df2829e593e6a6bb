//! Bounded queues in the memory of one process, fed from the outbox of the embedded store.
//!
//! An event still commits with its state change: the outbox row is the durable part, and the group's mark says up
//! to where everything is settled. After a crash whatever lies above the mark is handed out again. Leases,
//! attempts and failures live in memory only. A second process on the same database is refused.

mod feed;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use lockfn::{LockFile, LockGuard};
use uuid::Uuid;

use self::feed::OutboxFeed;
use super::{
    queue::{Queue, ledger::QueueLedger},
    sqlite::{beside, groups, keep},
};
use crate::{
    bus::{Bus, Consumer, Subscription},
    error::{Error, Result, while_doing},
    event::{DeadLetter, NewEvent, Published},
    measure,
    member::Member,
    options::Options,
    outbox,
    signal::Signal,
    sqlite::Database,
    status::{BusStatus, Health, Pruned},
};

/// The adapter `memory`.
#[derive(Debug)]
pub struct MemoryBus {
    database: Database,
    options: Options,
    signal: Signal,
    queues: Mutex<HashMap<String, Arc<Queue>>>,
    /// Held as long as this bus lives.
    _only_process: LockGuard,
}

impl MemoryBus {
    /// A bus in an open database whose schema is in place ([`crate::migrations::sqlite`]).
    pub fn new(database: Database, options: Options) -> Result<Self> {
        let path = beside(&database.path, ".bus-memory.lock");
        let lock = LockFile::at(&path).called("the memory bus");
        let only_process = match lock.try_lock() {
            Ok(Some(guard)) => guard,
            Ok(None) => return Err(Error::SecondProcess { path }),
            Err(source) => return Err(Error::Lock { path, source }),
        };
        let queues = Mutex::default();
        Ok(Self {
            database,
            options,
            signal: Signal::new(),
            queues,
            _only_process: only_process,
        })
    }

    fn queues(&self) -> MutexGuard<'_, HashMap<String, Arc<Queue>>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The group's queue, which looks into the table again: a registration may have left something there.
    async fn queue(&self, group: &str) -> sqlx::Result<Arc<Queue>> {
        let settled: i64 =
            sqlx::query_scalar("SELECT last_event_id FROM bus_offsets WHERE consumer_group = ?1")
                .bind(group)
                .fetch_one(&self.database.writer)
                .await?;
        let queue = Arc::clone(
            self.queues()
                .entry(group.to_owned())
                .or_insert_with(|| Arc::new(Queue::new(group.to_owned(), settled))),
        );
        queue.lock().table_read = 0;
        Ok(queue)
    }
}

#[async_trait]
impl Bus for MemoryBus {
    fn adapter(&self) -> &'static str {
        "memory"
    }

    async fn publish(&self, event: &NewEvent) -> Result<Published> {
        let failed = || while_doing("publish an event", &event.destination);
        let mut tx = self.database.begin().await.map_err(failed())?;
        let published = outbox::sqlite::publish(&mut tx, event).await?;
        tx.commit().await.map_err(failed())?;
        self.signal.ring();
        Ok(published)
    }

    fn wake(&self, _destination: &str) {
        self.signal.ring();
    }

    async fn subscribe(&self, subscription: Subscription) -> Result<Arc<dyn Consumer>> {
        subscription.check()?;
        let failed = || while_doing("register a group", &subscription.group);
        // The queue reads ahead of the group's mark: what it passed by counts as passed by.
        let known = self.queues().get(&subscription.group).cloned();
        let _no_feed = match &known {
            Some(queue) => Some(queue.feeding.lock().await),
            None => None,
        };
        let passed = known.as_ref().map(|queue| queue.lock().read);
        groups::register(&self.database, &subscription, passed)
            .await
            .map_err(failed())?;
        let queue = self.queue(&subscription.group).await.map_err(failed())?;
        let feed = OutboxFeed {
            database: self.database.clone(),
            options: self.options.clone(),
        };
        let ledger = QueueLedger {
            feed: Arc::new(feed),
            queue,
            claimed_by: format!("{}#{}", subscription.consumer, Uuid::new_v4().simple()),
            event_types: subscription.event_types,
            signal: self.signal.clone(),
            options: self.options.clone(),
        };
        Ok(Arc::new(Member::new(
            subscription.group,
            subscription.consumer,
            Arc::new(ledger),
            self.signal.clone(),
            self.options.clone(),
        )))
    }

    async fn health(&self) -> Health {
        let answer = sqlx::query("SELECT 1 FROM bus_offsets LIMIT 1")
            .execute(&self.database.reader)
            .await;
        Health {
            up: answer.is_ok(),
            wakes_by: "in-process",
            detail: answer
                .err()
                .map(|error| format!("the database file does not answer: {error}")),
        }
    }

    async fn status(&self) -> Result<BusStatus> {
        let (outbox, mut groups) = groups::status(&self.database, |_| None)
            .await
            .map_err(while_doing("read the status", "all groups"))?;
        for group in &mut groups {
            let Some(queue) = self.queues().get(&group.group).cloned() else {
                continue;
            };
            let (counts, read) = {
                let state = queue.lock();
                (state.counts(), state.read)
            };
            group.undrained = feed::unread(&self.database, &group.group, read)
                .await
                .map_err(while_doing("read the status", &group.group))?;
            group.due = counts.due;
            group.delayed = counts.delayed;
            group.in_flight = counts.in_flight;
            group.suspects = counts.suspects;
            group.oldest_due_seconds = counts.oldest_due.map(|age| age.as_secs_f64());
        }
        let status = BusStatus {
            adapter: self.adapter(),
            outbox,
            groups,
        };
        measure::status(&status);
        Ok(status)
    }

    async fn dead_letters(&self, group: Option<&str>, limit: u32) -> Result<Vec<DeadLetter>> {
        keep::letters(&self.database, group, limit)
            .await
            .map_err(while_doing(
                "list dead letters",
                group.unwrap_or("all groups"),
            ))
    }

    async fn requeue(&self, dead_letter: i64) -> Result<bool> {
        let back = keep::requeue(&self.database, dead_letter)
            .await
            .map_err(while_doing(
                "send a dead letter back",
                dead_letter.to_string(),
            ))?;
        self.signal.ring();
        Ok(back)
    }

    async fn prune(&self) -> Result<Pruned> {
        keep::prune(&self.database, &self.options)
            .await
            .map_err(while_doing("prune", "the outbox"))
    }

    async fn forget_group(&self, group: &str) -> Result<u64> {
        let in_table = groups::forget(&self.database, group)
            .await
            .map_err(while_doing("forget a group", group))?;
        let queue = self.queues().remove(group);
        let owed = queue.map_or(0, |queue| {
            queue
                .lock()
                .entries
                .values()
                .filter(|e| !e.in_table)
                .count()
        });
        Ok(in_table + owed as u64)
    }
}
