//! A consumer group in this process: its members share one queue, which its readers fill.

use std::{
    collections::HashMap,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use tokio::time::Instant;

use super::{
    letters::Letters,
    reader::{Partitions, Reader},
    record,
};
use crate::{
    adapters::queue::{Entry, Queue, ledger::Feed},
    error::Result,
    event::Delivery,
    signal::Signal,
};

/// Where an entry of the queue came from.
#[derive(Debug)]
struct Place {
    partitions: Arc<Partitions>,
    topic: String,
    partition: i32,
    offset: i64,
}

impl Place {
    fn is_in(&self, partitions: &Arc<Partitions>, gone: &[(String, i32)]) -> bool {
        Arc::ptr_eq(&self.partitions, partitions)
            && gone
                .iter()
                .any(|(topic, partition)| *topic == self.topic && *partition == self.partition)
    }
}

#[derive(Debug)]
pub(super) struct Group {
    pub(super) name: String,
    pub(super) destinations: Vec<String>,
    pub(super) queue: Arc<Queue>,
    pub(super) members: AtomicUsize,
    readers: Mutex<Vec<Reader>>,
    places: Mutex<HashMap<i64, Place>>,
    last_id: AtomicI64,
    /// Rings when something was settled.
    settling: Condvar,
    capacity: usize,
    signal: Signal,
}

impl Group {
    pub(super) fn new(
        name: String,
        destinations: Vec<String>,
        capacity: usize,
        signal: Signal,
    ) -> Self {
        Self {
            queue: Arc::new(Queue::new(name.clone(), 0)),
            name,
            destinations,
            members: AtomicUsize::new(0),
            readers: Mutex::default(),
            places: Mutex::default(),
            last_id: AtomicI64::new(0),
            settling: Condvar::new(),
            capacity: capacity.max(2),
            signal,
        }
    }

    pub(super) fn readers(&self) -> MutexGuard<'_, Vec<Reader>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn places(&self) -> MutexGuard<'_, HashMap<i64, Place>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A record for this group.
    pub(super) fn arrived(
        &self,
        delivery: Delivery,
        partitions: &Arc<Partitions>,
        (topic, partition, offset): (&str, i32, i64),
    ) {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let place = Place {
            partitions: Arc::clone(partitions),
            topic: topic.to_owned(),
            partition,
            offset,
        };
        self.places().insert(id, place);
        self.queue
            .lock()
            .entries
            .insert(id, record::entry(delivery, id));
        self.signal.ring();
    }

    pub(super) fn waiting(&self) -> usize {
        self.queue.lock().entries.len()
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Removes those of the partitions that nobody holds.
    pub(super) fn drop_idle(&self, partitions: &Arc<Partitions>, gone: &[(String, i32)]) {
        let mut places = self.places();
        let mut state = self.queue.lock();
        places.retain(|id, place| {
            let is_idle = state
                .entries
                .get(id)
                .is_none_or(|entry| entry.holder.is_none());
            let goes = place.is_in(partitions, gone) && is_idle;
            if goes {
                state.entries.remove(id);
            }
            !goes
        });
    }

    /// Waits a little for a settlement; true while somebody holds one of them.
    pub(super) fn holds_any(
        &self,
        partitions: &Arc<Partitions>,
        gone: &[(String, i32)],
        wait: Duration,
    ) -> bool {
        let held = |places: &HashMap<i64, Place>| {
            let now = Instant::now();
            let state = self.queue.lock();
            places.iter().any(|(id, place)| {
                place.is_in(partitions, gone)
                    && state
                        .entries
                        .get(id)
                        .is_some_and(|entry| entry.holder.is_some() && entry.visible > now)
            })
        };
        let places = self.places();
        if !held(&places) {
            return false;
        }
        let (places, _timeout) = self
            .settling
            .wait_timeout(places, wait)
            .unwrap_or_else(PoisonError::into_inner);
        held(&places)
    }

    /// Removes all of them; tickets of those that are held are lost.
    pub(super) fn drop_all(&self, partitions: &Arc<Partitions>, gone: &[(String, i32)]) {
        let mut places = self.places();
        let mut state = self.queue.lock();
        places.retain(|id, place| {
            let goes = place.is_in(partitions, gone);
            if goes {
                state.entries.remove(id);
            }
            !goes
        });
    }

    /// The event is settled: its partition may be committed further.
    fn settled(&self, id: i64) {
        let place = self.places().remove(&id);
        if let Some(place) = place {
            place
                .partitions
                .settled(&place.topic, place.partition, place.offset);
        }
        self.settling.notify_all();
    }

    /// Leaves the broker's group in order. Blocks.
    pub(super) fn end(&self) {
        let readers: Vec<Reader> = self.readers().drain(..).collect();
        for reader in readers {
            reader.end();
        }
    }
}

/// The group as the feed of its members' ledgers.
#[derive(Debug)]
pub(super) struct KafkaFeed {
    pub(super) group: Arc<Group>,
    pub(super) letters: Arc<Letters>,
}

#[async_trait]
impl Feed for KafkaFeed {
    async fn fill(&self, _queue: &Queue) -> Result<(u32, bool)> {
        // The readers fill it by themselves.
        Ok((0, false))
    }

    async fn settled(&self, _queue: &Queue, entry: &Entry) -> Result<()> {
        self.group.settled(entry.delivery.ticket.outbox_id);
        Ok(())
    }

    async fn keep_letter(
        &self,
        queue: &Queue,
        delivery: &Delivery,
        reason: &str,
        error: Option<&str>,
    ) -> Result<()> {
        self.letters
            .keep(&queue.group, delivery, reason, error)
            .await
    }

    async fn left(&self) {
        if self.group.members.fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
        let group = Arc::clone(&self.group);
        if tokio::task::spawn_blocking(move || group.end())
            .await
            .is_err()
        {
            tracing::warn!("a group of kafka could not be left in order");
        }
    }
}
