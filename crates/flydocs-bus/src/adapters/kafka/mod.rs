//! The bus on Kafka: consumer groups of the broker, fed from the outbox by the relay.
//!
//! A partition belongs to one process of a group at a time; what that process holds is in its memory, leases and
//! retries too, and the broker knows up to where everything is settled. After a crash what lies above is handed out
//! again, its attempts forgotten.

mod config;
mod group;
mod letters;
mod offsets;
mod producer;
mod reader;
mod record;
mod sink;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
};

use async_trait::async_trait;
use chrono::Utc;
use tracing::warn;
use uuid::Uuid;

pub use self::config::KafkaOptions;
use self::{
    group::{Group, KafkaFeed},
    letters::Letters,
    producer::Successive,
    reader::Reader,
    sink::KafkaSink,
};
use super::queue::ledger::QueueLedger;
use crate::{
    bus::{Bus, Consumer, Start, Subscription},
    error::Result,
    event::{DeadLetter, NewEvent, Published},
    group::group_lock_key,
    measure,
    member::Member,
    options::Options,
    relay::{Outbox, Relay, Sink},
    signal::Signal,
    status::{BusStatus, GroupStatus, Health, Pruned},
};

/// The adapter `kafka`.
#[derive(Debug)]
pub struct KafkaBus {
    outbox: Outbox,
    kafka: KafkaOptions,
    sink: Arc<KafkaSink>,
    letters: Arc<Letters>,
    groups: Mutex<HashMap<String, Arc<Group>>>,
    options: Options,
    signal: Signal,
}

impl KafkaBus {
    /// A bus on these brokers. Connects in the background. Must be called on a tokio runtime.
    pub fn new(kafka: KafkaOptions, outbox: Outbox, options: Options) -> Result<Self> {
        let producer = Arc::new(Successive::new(kafka.clone())?);
        let destinations = outbox.destinations.clone();
        let sink = KafkaSink::new(kafka.clone(), Arc::clone(&producer), destinations.clone());
        let letters = Letters {
            options: kafka.clone(),
            producer,
            destinations,
        };
        Ok(Self {
            outbox,
            kafka,
            sink: Arc::new(sink),
            letters: Arc::new(letters),
            groups: Mutex::default(),
            options,
            signal: Signal::new(),
        })
    }

    fn groups(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<Group>>> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn group(&self, subscription: &Subscription) -> Arc<Group> {
        let mut groups = self.groups();
        let group = groups.entry(subscription.group.clone()).or_insert_with(|| {
            Arc::new(Group::new(
                subscription.group.clone(),
                subscription.destinations.clone(),
                self.options.memory_capacity as usize,
                self.signal.clone(),
            ))
        });
        Arc::clone(group)
    }

    /// One reader for each type that nobody here reads yet.
    fn read(&self, group: &Arc<Group>, subscription: &Subscription) -> Result<()> {
        let topics: Vec<String> = subscription
            .destinations
            .iter()
            .map(|destination| self.kafka.topic(destination))
            .collect();
        let mut readers = group.readers();
        for event_type in &subscription.event_types {
            if readers
                .iter()
                .any(|reader| reader.event_type == *event_type)
            {
                continue;
            }
            let id = self.kafka.group_id(&group.name, event_type);
            let from_the_end = subscription.start == Start::Latest;
            let config = self.kafka.consumer(&id, from_the_end)?;
            let reader = Reader::start(group, &self.kafka, &config, &topics, event_type)?;
            readers.push(reader);
        }
        Ok(())
    }
}

#[async_trait]
impl Bus for KafkaBus {
    fn adapter(&self) -> &'static str {
        "kafka"
    }

    async fn publish(&self, event: &NewEvent) -> Result<Published> {
        self.outbox.bus.publish(event).await
    }

    fn wake(&self, destination: &str) {
        self.outbox.bus.wake(destination);
    }

    async fn subscribe(&self, subscription: Subscription) -> Result<Arc<dyn Consumer>> {
        subscription.check()?;
        if let Err(error) = self.sink.make_topics().await {
            warn!(
                error = &error as &dyn std::error::Error,
                "the topics could not be looked at; the group {} begins when the broker answers",
                subscription.group
            );
        }
        let group = self.group(&subscription);
        self.read(&group, &subscription)?;
        group.members.fetch_add(1, Ordering::AcqRel);
        let feed = KafkaFeed {
            group: Arc::clone(&group),
            letters: Arc::clone(&self.letters),
        };
        let ledger = QueueLedger {
            feed: Arc::new(feed),
            queue: Arc::clone(&group.queue),
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
        super::broker::health(&self.outbox, &*self.sink).await
    }

    async fn status(&self) -> Result<BusStatus> {
        let outbox = self.outbox.bus.status().await?;
        let letters = self.letters.list(None, u32::MAX).await?;
        let known: Vec<Arc<Group>> = self.groups().values().cloned().collect();
        let mut groups: Vec<GroupStatus> = known
            .iter()
            .map(|group| {
                let dead = letters
                    .iter()
                    .filter(|letter| letter.group == group.name && letter.requeued_at.is_none());
                group_status(group, dead.count() as u64)
            })
            .collect();
        groups.sort_by(|a, b| a.group.cmp(&b.group));
        let status = super::broker::with_outbox(self.adapter(), outbox, groups);
        measure::status(&status);
        Ok(status)
    }

    async fn dead_letters(&self, group: Option<&str>, limit: u32) -> Result<Vec<DeadLetter>> {
        self.letters.list(group, limit).await
    }

    async fn requeue(&self, dead_letter: i64) -> Result<bool> {
        self.letters.requeue(dead_letter).await
    }

    async fn prune(&self) -> Result<Pruned> {
        self.outbox.bus.prune().await
    }

    async fn forget_group(&self, group: &str) -> Result<u64> {
        let Some(group) = self.groups().remove(group) else {
            return Ok(0);
        };
        let owed = group.waiting() as u64;
        let ending = tokio::task::spawn_blocking(move || group.end());
        if ending.await.is_err() {
            warn!("a group of kafka could not be left in order");
        }
        Ok(owed)
    }

    fn relay(&self) -> Option<Relay> {
        let sink = Arc::clone(&self.sink) as Arc<dyn Sink>;
        Some(Relay::new(self.outbox.clone(), sink))
    }
}

/// What this process knows of a group: what it holds of it.
fn group_status(group: &Group, dead_letters: u64) -> GroupStatus {
    let counts = group.queue.lock().counts();
    let event_types = group
        .readers()
        .iter()
        .map(|reader| reader.event_type.clone())
        .collect();
    GroupStatus {
        group: group.name.clone(),
        lock_key: group_lock_key(&group.name),
        lock_holder: None,
        destinations: group.destinations.clone(),
        event_types,
        undrained: 0,
        due: counts.due,
        delayed: counts.delayed,
        in_flight: counts.in_flight,
        suspects: counts.suspects,
        dead_letters,
        oldest_due_seconds: counts.oldest_due.map(|age| age.as_secs_f64()),
        last_drain_at: Utc::now(),
    }
}
