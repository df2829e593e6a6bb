//! The bus on Redis Streams: any number of processes on any number of hosts, fed from the outbox by the relay.
//!
//! A topic is a stream, a group a consumer group of it. What is claimed is pending on the server under its consumer,
//! and its idle time is its lease. What comes back (a retry, a delay, work that was given up) lies beside the stream
//! in keys of the group alone. Every step is one script: all keys carry one hash tag.

mod connect;
mod keep;
mod keys;
mod ledger;
mod scripts;
mod sink;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use redis::{Client, aio::ConnectionManager};
use tokio::time::{Instant, sleep};
use tokio_util::task::AbortOnDropHandle;
use tracing::warn;

use self::{keys::Keys, ledger::RedisLedger, sink::RedisSink};
use crate::{
    bus::{Bus, Consumer, Start, Subscription},
    error::Result,
    event::{DeadLetter, NewEvent, Published},
    measure,
    member::Member,
    options::Options,
    relay::{Outbox, Relay, Sink},
    signal::Signal,
    status::{BusStatus, Health, Pruned},
};

/// How long a group that begins with what comes next waits for the relay to carry what came before.
const CARRIED_WITHIN: Duration = Duration::from_secs(5);

/// The adapter `redis`.
#[derive(Debug)]
pub struct RedisBus {
    outbox: Outbox,
    client: Client,
    connection: ConnectionManager,
    keys: Keys,
    sink: Arc<RedisSink>,
    options: Options,
    signal: Signal,
    /// One for each set of topics that somebody here listens to.
    listeners: Mutex<HashMap<String, AbortOnDropHandle<()>>>,
}

impl RedisBus {
    /// A bus on the server of the URL; `prefix` is in the name of every key. Connects when it is used. Must be
    /// called on a tokio runtime.
    pub fn new(url: &str, prefix: &str, outbox: Outbox, options: Options) -> Result<Self> {
        let client = connect::client(url)?;
        let keys = Keys::new(prefix);
        let sink = RedisSink::new(
            &client,
            keys.clone(),
            outbox.destinations.clone(),
            options.clone(),
        )?;
        Ok(Self {
            connection: connect::manager(&client)?,
            outbox,
            client,
            keys,
            sink: Arc::new(sink),
            options,
            signal: Signal::new(),
            listeners: Mutex::default(),
        })
    }

    fn listen(&self, destinations: &[String]) {
        let mut listeners = self
            .listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for destination in destinations {
            let channel = self.keys.channel(destination);
            listeners.entry(channel.clone()).or_insert_with(|| {
                let hearing =
                    connect::listen(self.client.clone(), vec![channel], self.signal.clone());
                AbortOnDropHandle::new(tokio::spawn(hearing))
            });
        }
    }

    /// What was published before is to be in the streams before a group begins at their end.
    async fn carried(&self) -> Result<()> {
        let until = Instant::now() + CARRIED_WITHIN;
        while Instant::now() < until {
            // Before its first turn the relay is not known there, and owes everything.
            let owed = self.outbox.owed().await?;
            if owed.is_some_and(|relay| relay.undrained + relay.due + relay.in_flight == 0) {
                break;
            }
            sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }
}

#[async_trait]
impl Bus for RedisBus {
    fn adapter(&self) -> &'static str {
        "redis"
    }

    async fn publish(&self, event: &NewEvent) -> Result<Published> {
        self.outbox.bus.publish(event).await
    }

    fn wake(&self, destination: &str) {
        self.outbox.bus.wake(destination);
    }

    async fn subscribe(&self, subscription: Subscription) -> Result<Arc<dyn Consumer>> {
        subscription.check()?;
        if subscription.start == Start::Latest {
            self.carried().await?;
        }
        let (group, consumer) = (subscription.group.clone(), subscription.consumer.clone());
        let (destinations, start) = (subscription.destinations.clone(), subscription.start);
        let ledger = RedisLedger::new(
            self.connection.clone(),
            self.keys.clone(),
            subscription,
            self.options.clone(),
        );
        match ledger.register().await {
            // Whoever does not find the group makes it: a worker starts before its server.
            Err(error) if error.is_transient() && start == Start::Earliest => {
                warn!(
                    error = &error as &dyn std::error::Error,
                    "redis does not answer yet; the group {group} is registered when it does"
                );
            }
            registered => registered?,
        }
        self.listen(&destinations);
        Ok(Arc::new(Member::new(
            group,
            consumer,
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
        let groups = keep::status(&self.connection, &self.keys, &self.options).await?;
        let status = super::broker::with_outbox(self.adapter(), outbox, groups);
        measure::status(&status);
        Ok(status)
    }

    async fn dead_letters(&self, group: Option<&str>, limit: u32) -> Result<Vec<DeadLetter>> {
        keep::letters(&self.connection, &self.keys, group, limit).await
    }

    async fn requeue(&self, dead_letter: i64) -> Result<bool> {
        keep::requeue(&self.connection, &self.keys, dead_letter).await
    }

    async fn prune(&self) -> Result<Pruned> {
        let mut pruned = self.outbox.bus.prune().await?;
        let (_entries, letters) = keep::trim(
            &self.connection,
            &self.keys,
            &self.outbox.destinations,
            &self.options,
        )
        .await?;
        pruned.dead_letters += letters;
        Ok(pruned)
    }

    async fn forget_group(&self, group: &str) -> Result<u64> {
        keep::forget(&self.connection, &self.keys, &self.options, group).await
    }

    fn relay(&self) -> Option<Relay> {
        let sink = Arc::clone(&self.sink) as Arc<dyn Sink>;
        Some(Relay::new(self.outbox.clone(), sink))
    }
}
