//! Where the relay sends events: one record each, acknowledged by every replica.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use futures::future::join_all;
use rdkafka::{
    admin::{AdminClient, AdminOptions, NewTopic, TopicReplication},
    client::DefaultClientContext,
    error::{KafkaError, RDKafkaErrorCode},
    producer::Producer as _,
};
use tokio::time::{Instant, timeout};
use tracing::debug;

use super::{
    config::{KafkaOptions, while_doing},
    producer::Successive,
    record,
};
use crate::{
    error::Result,
    event::Delivery,
    relay::{Sink, Trouble},
};

/// How long the broker may take to say that it is there.
const ANSWER_WITHIN: Duration = Duration::from_millis(1500);
/// An answer is good for this long.
const RECENTLY: Duration = Duration::from_secs(1);

pub(super) struct KafkaSink {
    options: KafkaOptions,
    producer: Arc<Successive>,
    destinations: Vec<String>,
    answered: Mutex<Option<Instant>>,
    made: tokio::sync::Mutex<bool>,
    trouble: Trouble,
}

impl std::fmt::Debug for KafkaSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KafkaSink").finish_non_exhaustive()
    }
}

impl KafkaSink {
    pub(super) fn new(
        options: KafkaOptions,
        producer: Arc<Successive>,
        destinations: Vec<String>,
    ) -> Self {
        Self {
            options,
            producer,
            destinations,
            answered: Mutex::default(),
            made: tokio::sync::Mutex::default(),
            trouble: Trouble::default(),
        }
    }

    /// Makes the topics once.
    pub(super) async fn make_topics(&self) -> Result<()> {
        let mut made = self.made.lock().await;
        if !*made {
            make_topics(&self.options, &self.destinations).await?;
            *made = true;
        }
        Ok(())
    }

    fn note(&self, answer: Option<Instant>) {
        *self.answered.lock().unwrap_or_else(PoisonError::into_inner) = answer;
    }

    fn answered_recently(&self) -> bool {
        let answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        answered.is_some_and(|at| at.elapsed() < RECENTLY)
    }

    async fn send(&self, event: &Delivery) -> std::result::Result<(), KafkaError> {
        let topic = self.options.topic(&event.destination);
        let key = record::key(event);
        let record = record::record(&topic, &key, &event.payload, record::headers(event));
        self.producer.send(record).await
    }
}

#[async_trait]
impl Sink for KafkaSink {
    fn broker(&self) -> &'static str {
        "kafka"
    }

    fn trouble(&self) -> &Trouble {
        &self.trouble
    }

    async fn ready(&self) -> Result<()> {
        if self.answered_recently() {
            return Ok(());
        }
        let producer = self.producer.current();
        let asking = tokio::task::spawn_blocking(move || {
            producer
                .client()
                .fetch_metadata(None, ANSWER_WITHIN)
                .map(drop)
        });
        match asking.await {
            Ok(answer) => answer.map_err(while_doing("relay events", "no broker answers"))?,
            Err(_panic) => return Err(self.late()),
        }
        self.note(Some(Instant::now()));
        if let Err(error) = self.make_topics().await {
            debug!(
                error = &error as &dyn std::error::Error,
                "topics are left to their operator"
            );
        }
        Ok(())
    }

    async fn deliver(&self, batch: &[Delivery]) -> Vec<Result<()>> {
        // Polled in this order: records go out in the order of the batch.
        let outcomes = join_all(batch.iter().map(|event| self.send(event))).await;
        let all_well = outcomes.iter().all(std::result::Result::is_ok);
        self.note(all_well.then(Instant::now));
        outcomes
            .into_iter()
            .zip(batch)
            .map(|(outcome, event)| {
                outcome.map_err(while_doing("relay an event", &event.destination))
            })
            .collect()
    }

    async fn tidy(&self) -> Result<()> {
        // The broker keeps records as long as its topics say.
        Ok(())
    }
}

/// Makes the topics, those of dead letters too, that are not there yet. A broker that does not let us leaves it to its
/// operator.
async fn make_topics(options: &KafkaOptions, destinations: &[String]) -> Result<()> {
    let admin: AdminClient<DefaultClientContext> = options
        .producer()?
        .create()
        .map_err(while_doing("make topics", "the client"))?;
    let names: Vec<(String, i32)> = destinations
        .iter()
        .flat_map(|destination| {
            [
                (options.topic(destination), options.partitions),
                (options.dead(destination), 1),
            ]
        })
        .collect();
    let limits = AdminOptions::new().request_timeout(Some(Duration::from_secs(5)));
    // The broker's own replication, or one where it has none to offer.
    for replicas in [-1, 1] {
        let topics: Vec<NewTopic<'_>> = names
            .iter()
            .map(|(name, partitions)| {
                NewTopic::new(name, *partitions, TopicReplication::Fixed(replicas))
            })
            .collect();
        let made = timeout(
            Duration::from_secs(10),
            admin.create_topics(&topics, &limits),
        )
        .await;
        let made = match made {
            Ok(made) => made.map_err(while_doing("make topics", "the broker"))?,
            Err(_late) => return Ok(()),
        };
        let refused: Vec<(String, RDKafkaErrorCode)> = made
            .into_iter()
            .filter_map(std::result::Result::err)
            .filter(|(_, code)| *code != RDKafkaErrorCode::TopicAlreadyExists)
            .collect();
        if refused.is_empty() {
            return Ok(());
        }
        debug!(?refused, replicas, "topics were not made");
    }
    Ok(())
}
