//! One consumer of librdkafka on a thread of its own: it polls, fills the queue of its group, commits what is settled
//! and gives partitions up in order. Handlers never hold it up: a full queue pauses its partitions.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use rdkafka::{
    ClientConfig, ClientContext, Message as _, Offset, TopicPartitionList,
    consumer::{BaseConsumer, CommitMode, Consumer as _, ConsumerContext, Rebalance},
    message::BorrowedMessage,
};
use tokio::time::Instant;
use tracing::{debug, warn};

use super::{
    config::{KafkaOptions, while_doing},
    group::Group,
    offsets::Prefix,
    record,
};
use crate::error::Result;

const POLL: Duration = Duration::from_millis(50);
/// How often offsets are committed.
const COMMIT: Duration = Duration::from_millis(200);
/// How long work on a partition that goes to another consumer may take to be settled.
const REVOKE_GRACE: Duration = Duration::from_secs(5);

/// The partitions of one reader.
#[derive(Debug, Default)]
pub(super) struct Partitions(Mutex<HashMap<(String, i32), Prefix>>);

impl Partitions {
    pub(super) fn settled(&self, topic: &str, partition: i32, offset: i64) {
        if let Some(prefix) = self.lock().get_mut(&(topic.to_owned(), partition)) {
            prefix.settled(offset);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(String, i32), Prefix>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What to commit, of all partitions.
    fn to_commit(&self) -> TopicPartitionList {
        let mut list = TopicPartitionList::new();
        for ((topic, partition), prefix) in &mut *self.lock() {
            if let Some(offset) = prefix.next_commit()
                && let Err(error) =
                    list.add_partition_offset(topic, *partition, Offset::Offset(offset))
            {
                debug!(%error, "an offset could not be listed");
            }
        }
        list
    }
}

/// A reader at work; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) event_type: String,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Reader {
    /// Joins the consumer group of this type.
    pub(super) fn start(
        group: &Arc<Group>,
        options: &KafkaOptions,
        config: &ClientConfig,
        topics: &[String],
        event_type: &str,
    ) -> Result<Self> {
        let failed = || while_doing("join a group", &group.name);
        let partitions = Arc::new(Partitions::default());
        let context = Context {
            group: Arc::downgrade(group),
            partitions: Arc::clone(&partitions),
        };
        let consumer: BaseConsumer<Context> =
            config.create_with_context(context).map_err(failed())?;
        let names: Vec<&str> = topics.iter().map(String::as_str).collect();
        consumer.subscribe(&names).map_err(failed())?;
        let stop = Arc::new(AtomicBool::new(false));
        let reading = Reading {
            group: Arc::downgrade(group),
            options: options.clone(),
            event_type: event_type.to_owned(),
            consumer,
            partitions,
            stop: Arc::clone(&stop),
            paused: false,
        };
        let thread = std::thread::Builder::new()
            .name("flydocs-kafka".to_owned())
            .spawn(move || reading.run())
            .map_err(|source| crate::Error::Broker {
                operation: "join a group",
                subject: "no thread".to_owned(),
                broker: "kafka",
                transient: false,
                source: Box::new(source),
            })?;
        Ok(Self {
            event_type: event_type.to_owned(),
            stop,
            thread: Some(thread),
        })
    }

    /// Leaves the group in order. Blocks until that is done.
    pub(super) fn end(mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            warn!("a reader of kafka ended with a panic");
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
    }
}

struct Reading {
    group: std::sync::Weak<Group>,
    options: KafkaOptions,
    event_type: String,
    consumer: BaseConsumer<Context>,
    partitions: Arc<Partitions>,
    stop: Arc<AtomicBool>,
    paused: bool,
}

impl Reading {
    fn run(mut self) {
        let mut committed = Instant::now();
        while !self.stop.load(Ordering::Acquire) {
            match self.consumer.poll(POLL) {
                Some(Ok(message)) => self.arrived(&message),
                // librdkafka reconnects by itself.
                Some(Err(error)) => debug!(%error, "kafka says"),
                None => {}
            }
            if committed.elapsed() >= COMMIT {
                commit(&self.consumer, &self.partitions, CommitMode::Async);
                committed = Instant::now();
            }
            self.keep_pace();
        }
        commit(&self.consumer, &self.partitions, CommitMode::Sync);
        // Dropping it leaves the group and passes through the revocation.
    }

    fn arrived(&self, message: &BorrowedMessage<'_>) {
        let Some(group) = self.group.upgrade() else {
            return;
        };
        let (topic, partition, offset) = (message.topic(), message.partition(), message.offset());
        let destination = self.options.destination(topic);
        let delivery = record::delivery(message, destination).filter(|delivery| {
            delivery.event_type == self.event_type
                && record::header(message, record::ONLY_GROUP).is_none_or(|only| only == group.name)
        });
        self.partitions
            .lock()
            .entry((topic.to_owned(), partition))
            .or_default()
            .arrived(offset, delivery.is_none());
        if let Some(delivery) = delivery {
            group.arrived(delivery, &self.partitions, (topic, partition, offset));
        }
    }

    /// A queue that is full pauses, one that has room again goes on.
    fn keep_pace(&mut self) {
        let Some(group) = self.group.upgrade() else {
            return;
        };
        let (waiting, most) = (group.waiting(), group.capacity());
        let outcome = if !self.paused && waiting >= most {
            self.paused = true;
            self.consumer
                .assignment()
                .and_then(|all| self.consumer.pause(&all))
        } else if self.paused && waiting < most / 2 {
            self.paused = false;
            self.consumer
                .assignment()
                .and_then(|all| self.consumer.resume(&all))
        } else {
            return;
        };
        if let Err(error) = outcome {
            debug!(%error, "partitions could not be paused or resumed");
        }
    }
}

fn commit(consumer: &BaseConsumer<Context>, partitions: &Partitions, mode: CommitMode) {
    let list = partitions.to_commit();
    if list.count() == 0 {
        return;
    }
    // Whoever lost the partition meanwhile may not commit; the records come again to whoever has it.
    if let Err(error) = consumer.commit(&list, mode) {
        debug!(%error, "offsets could not be committed");
    }
}

/// What happens when partitions come and go.
struct Context {
    group: std::sync::Weak<Group>,
    partitions: Arc<Partitions>,
}

impl ClientContext for Context {}

impl ConsumerContext for Context {
    fn pre_rebalance(&self, consumer: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        match rebalance {
            Rebalance::Assign(_) => {}
            Rebalance::Revoke(list) => {
                let gone: Vec<(String, i32)> = list
                    .elements()
                    .iter()
                    .map(|element| (element.topic().to_owned(), element.partition()))
                    .collect();
                self.give_up(consumer, &gone);
            }
            Rebalance::Error(error) => {
                debug!(%error, "the assignment is lost");
                let gone: Vec<(String, i32)> = self.partitions.lock().keys().cloned().collect();
                self.give_up(consumer, &gone);
            }
        }
    }
}

impl Context {
    /// What nobody holds goes at once; what is held may be settled; what is not settled then comes again elsewhere.
    fn give_up(&self, consumer: &BaseConsumer<Self>, gone: &[(String, i32)]) {
        if let Some(group) = self.group.upgrade() {
            group.drop_idle(&self.partitions, gone);
            let until = Instant::now() + REVOKE_GRACE;
            // Whoever was taken for dead has nothing to wait for: others work on it already.
            while !consumer.assignment_lost()
                && Instant::now() < until
                && group.holds_any(&self.partitions, gone, POLL)
            {}
            group.drop_all(&self.partitions, gone);
        }
        if !consumer.assignment_lost() {
            commit(consumer, &self.partitions, CommitMode::Sync);
        }
        let mut partitions = self.partitions.lock();
        for partition in gone {
            partitions.remove(partition);
        }
    }
}
