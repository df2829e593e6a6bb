//! Dead letters: records of a topic beside each, `<topic>.DLT`. That one went back is a record there, too.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use chrono::{DateTime, Utc};
use rdkafka::{
    Message as _, Offset, TopicPartitionList,
    consumer::{BaseConsumer, Consumer as _},
    error::KafkaError,
    message::{BorrowedMessage, OwnedHeaders},
};

use super::{
    config::{KafkaOptions, while_doing},
    producer::Successive,
    record::{self, header},
};
use crate::{
    error::{Error, Result},
    event::{DeadLetter, Delivery},
};

const GROUP: &str = "group";
const REASON: &str = "reason";
const ERROR: &str = "error";
const ATTEMPTS: &str = "attempts";
const FAILED_AT: &str = "failed_at";
const REQUEUED: &str = "requeued";

/// How long the broker may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// A topic that says nothing for this long is at its end, whatever it says that end is.
const SILENCE: Duration = Duration::from_secs(2);
/// Of an id the lower bits are the offset, the upper ones the topic and the partition.
const OFFSET_BITS: u32 = 44;
const PARTITION_BITS: u32 = 12;

pub(super) struct Letters {
    pub(super) options: KafkaOptions,
    pub(super) producer: Arc<Successive>,
    pub(super) destinations: Vec<String>,
}

impl std::fmt::Debug for Letters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Letters").finish_non_exhaustive()
    }
}

/// What lies in the topics of dead letters.
#[derive(Default)]
struct Found {
    letters: Vec<(DeadLetter, Delivery)>,
    requeued: HashMap<i64, DateTime<Utc>>,
}

impl Letters {
    pub(super) async fn keep(
        &self,
        group: &str,
        delivery: &Delivery,
        reason: &str,
        error: Option<&str>,
    ) -> Result<()> {
        let topic = self.options.dead(&delivery.destination);
        let error: String = error.unwrap_or_default().chars().take(4000).collect();
        let headers = record::with(
            record::headers(delivery),
            &[
                (GROUP, group.to_owned()),
                (REASON, reason.to_owned()),
                (ERROR, error),
                (ATTEMPTS, delivery.attempts.to_string()),
                (FAILED_AT, Utc::now().timestamp_millis().to_string()),
            ],
        );
        self.send(&topic, &record::key(delivery), &delivery.payload, headers)
            .await
            .map_err(while_doing("keep a dead letter", format!("group {group}")))
    }

    async fn send(
        &self,
        topic: &str,
        key: &str,
        payload: &str,
        headers: OwnedHeaders,
    ) -> std::result::Result<(), KafkaError> {
        let record = record::record(topic, key, payload, headers);
        self.producer.send(record).await
    }

    /// The newest first; of one group or of all.
    pub(super) async fn list(&self, group: Option<&str>, limit: u32) -> Result<Vec<DeadLetter>> {
        let found = self.read().await?;
        let mut letters: Vec<DeadLetter> = found
            .letters
            .into_iter()
            .map(|(letter, _)| letter)
            .filter(|letter| group.is_none_or(|group| letter.group == group))
            .map(|mut letter| {
                letter.requeued_at = found.requeued.get(&letter.id).copied();
                letter
            })
            .collect();
        letters.sort_by_key(|letter| std::cmp::Reverse((letter.failed_at, letter.id)));
        letters.truncate(limit as usize);
        Ok(letters)
    }

    /// True when the letter went back to its group.
    pub(super) async fn requeue(&self, id: i64) -> Result<bool> {
        let found = self.read().await?;
        if found.requeued.contains_key(&id) {
            return Ok(false);
        }
        let Some((letter, delivery)) = found.letters.into_iter().find(|(l, _)| l.id == id) else {
            return Ok(false);
        };
        let failed = || while_doing("send a dead letter back", id.to_string());
        let key = record::key(&delivery);
        let headers = record::with(
            record::headers(&delivery),
            &[(record::ONLY_GROUP, letter.group)],
        );
        self.send(
            &self.options.topic(&delivery.destination),
            &key,
            &delivery.payload,
            headers,
        )
        .await
        .map_err(failed())?;
        let mark = record::with(
            OwnedHeaders::new(),
            &[
                (REQUEUED, id.to_string()),
                (FAILED_AT, Utc::now().timestamp_millis().to_string()),
            ],
        );
        self.send(&self.options.dead(&delivery.destination), &key, "", mark)
            .await
            .map_err(failed())?;
        Ok(true)
    }

    async fn read(&self) -> Result<Found> {
        let (options, destinations) = (self.options.clone(), self.destinations.clone());
        let failed = || while_doing("list dead letters", "all groups");
        let config = options.reader()?;
        let reading = tokio::task::spawn_blocking(move || {
            let consumer: BaseConsumer = config.create()?;
            read_all(&consumer, &options, &destinations)
        });
        match reading.await {
            Ok(found) => found.map_err(failed()),
            Err(_panic) => Err(Error::Broker {
                operation: "list dead letters",
                subject: "the reader".to_owned(),
                broker: "kafka",
                transient: true,
                source: "the reader ended".into(),
            }),
        }
    }
}

fn read_all(
    consumer: &BaseConsumer,
    options: &KafkaOptions,
    destinations: &[String],
) -> std::result::Result<Found, KafkaError> {
    let mut list = TopicPartitionList::new();
    let mut open = HashSet::new();
    let mut topics = HashMap::new();
    for (number, destination) in destinations.iter().enumerate() {
        let topic = options.dead(destination);
        let metadata = consumer.fetch_metadata(Some(&topic), ANSWER_WITHIN)?;
        for partition in metadata
            .topics()
            .iter()
            .flat_map(rdkafka::metadata::MetadataTopic::partitions)
        {
            list.add_partition_offset(&topic, partition.id(), Offset::Beginning)?;
            open.insert((topic.clone(), partition.id()));
        }
        topics.insert(topic, (number as i64, destination.clone()));
    }
    consumer.assign(&list)?;
    let mut found = Found::default();
    while !open.is_empty() {
        match consumer.poll(SILENCE) {
            None => break,
            Some(Err(KafkaError::PartitionEOF(_partition))) if open.len() == 1 => break,
            Some(Err(KafkaError::PartitionEOF(partition))) => {
                // The error does not name the topic; a partition of each is enough to know.
                if let Some(one) = open.iter().find(|(_, p)| *p == partition).cloned() {
                    open.remove(&one);
                }
            }
            Some(Err(error)) => return Err(error),
            Some(Ok(message)) => {
                if let Some((number, destination)) = topics.get(message.topic()) {
                    take(&mut found, &message, *number, destination);
                }
            }
        }
    }
    Ok(found)
}

fn take(found: &mut Found, message: &BorrowedMessage<'_>, number: i64, destination: &str) {
    let at = record::time(message, FAILED_AT);
    if let Some(back) = header(message, REQUEUED).and_then(|id| id.parse().ok()) {
        found.requeued.insert(back, at);
        return;
    }
    let Some(delivery) = record::delivery(message, destination) else {
        return;
    };
    let partition = i64::from(message.partition());
    let letter = DeadLetter {
        id: (((number << PARTITION_BITS) | partition) << OFFSET_BITS) | message.offset(),
        group: header(message, GROUP).unwrap_or_default(),
        event_id: delivery.event_id,
        destination: destination.to_owned(),
        event_type: delivery.event_type.clone(),
        payload: delivery.payload.clone(),
        attempts: header(message, ATTEMPTS)
            .and_then(|text| text.parse().ok())
            .unwrap_or_default(),
        reason: header(message, REASON).unwrap_or_default(),
        error: header(message, ERROR).filter(|error| !error.is_empty()),
        failed_at: at,
        requeued_at: None,
    };
    found.letters.push((letter, delivery));
}
