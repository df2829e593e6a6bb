//! The producer that the relay and the dead letters share, and its successor.
//!
//! An idempotent producer whose numbering the broker no longer accepts (a broker that was away for longer than a record
//! may take, or forgot the producer) sends nothing any more, ever. Its records are still in the outbox: another producer
//! takes its place and they go out again.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rdkafka::{
    error::{KafkaError, RDKafkaErrorCode},
    producer::{FutureProducer, FutureRecord, Producer as _},
};
use tracing::warn;

use super::config::{KafkaOptions, while_doing};
use crate::error::Result;

/// How long a record may wait for a place in the queue.
const QUEUE_WITHIN: Duration = Duration::from_secs(1);

pub(super) struct Successive {
    options: KafkaOptions,
    current: Mutex<(u64, FutureProducer)>,
}

impl Successive {
    pub(super) fn new(options: KafkaOptions) -> Result<Self> {
        let first = create(&options)?;
        Ok(Self {
            options,
            current: Mutex::new((0, first)),
        })
    }

    pub(super) fn current(&self) -> FutureProducer {
        self.lock().1.clone()
    }

    pub(super) async fn send(
        &self,
        record: FutureRecord<'_, str, str>,
    ) -> std::result::Result<(), KafkaError> {
        let (number, producer) = {
            let current = self.lock();
            (current.0, current.1.clone())
        };
        let Err((error, _record)) = producer.send(record, QUEUE_WITHIN).await else {
            return Ok(());
        };
        if is_over(&producer, &error) {
            self.succeed(number, &error);
        }
        Err(error)
    }

    /// Replaces the producer of this number, unless somebody has.
    fn succeed(&self, number: u64, error: &KafkaError) {
        let mut current = self.lock();
        if current.0 != number {
            return;
        }
        match create(&self.options) {
            Ok(next) => {
                warn!(
                    error = error as &dyn std::error::Error,
                    "kafka takes nothing from this producer any more, another one takes its place"
                );
                *current = (number + 1, next);
            }
            Err(failed) => warn!(
                error = &failed as &dyn std::error::Error,
                "no producer could take the place of one that is over"
            ),
        }
    }

    fn lock(&self) -> MutexGuard<'_, (u64, FutureProducer)> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn create(options: &KafkaOptions) -> Result<FutureProducer> {
    options
        .producer()?
        .create()
        .map_err(while_doing("connect", "the producer"))
}

/// Whether this producer can send nothing any more.
fn is_over(producer: &FutureProducer, error: &KafkaError) -> bool {
    producer.client().fatal_error().is_some()
        || matches!(
            error.rdkafka_error_code(),
            Some(
                RDKafkaErrorCode::Fatal
                    | RDKafkaErrorCode::Fenced
                    | RDKafkaErrorCode::ProducerFenced
                    | RDKafkaErrorCode::InvalidProducerEpoch
                    | RDKafkaErrorCode::InvalidProducerIdMapping
                    | RDKafkaErrorCode::UnknownProducerId
                    | RDKafkaErrorCode::OutOfOrderSequenceNumber
            )
        )
}
