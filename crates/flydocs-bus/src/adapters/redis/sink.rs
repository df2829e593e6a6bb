//! Where the relay sends events: one entry of the topic's stream each, in one pipeline a batch.

use std::{collections::BTreeSet, time::Duration};

use async_trait::async_trait;
use redis::{Client, Pipeline, Value, aio::ConnectionManager};
use tokio::time::sleep;

use super::{
    connect::{self, while_doing},
    keep,
    keys::Keys,
};
use crate::{
    error::Result,
    event::Delivery,
    options::Options,
    relay::{Sink, Trouble},
};

const ASK_AGAIN: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(super) struct RedisSink {
    connection: ConnectionManager,
    keys: Keys,
    destinations: Vec<String>,
    options: Options,
    trouble: Trouble,
}

impl RedisSink {
    /// On a connection of its own: a large batch holds nobody up.
    pub(super) fn new(
        client: &Client,
        keys: Keys,
        destinations: Vec<String>,
        options: Options,
    ) -> Result<Self> {
        Ok(Self {
            connection: connect::manager(client)?,
            keys,
            destinations,
            options,
            trouble: Trouble::default(),
        })
    }

    fn entry(&self, pipeline: &mut Pipeline, event: &Delivery) {
        let key = event.ordering_key.as_deref().unwrap_or_default();
        pipeline
            .cmd("XADD")
            .arg(self.keys.topic(&event.destination))
            .arg("*")
            .arg(&[
                ("e", event.event_id.to_string().as_str()),
                ("t", &event.event_type),
                ("p", &event.payload),
                ("h", &event.headers.to_string()),
                ("k", key),
                ("c", &event.published_at.timestamp_millis().to_string()),
                ("a", &event.available_at.timestamp_millis().to_string()),
            ]);
    }
}

#[async_trait]
impl Sink for RedisSink {
    fn broker(&self) -> &'static str {
        "redis"
    }

    fn trouble(&self) -> &Trouble {
        &self.trouble
    }

    async fn ready(&self) -> Result<()> {
        let ask = || async {
            redis::cmd("PING")
                .exec_async(&mut self.connection.clone())
                .await
        };
        // The first answer after an outage is that of the last attempt to connect.
        let answer = match ask().await {
            Err(_before) => {
                sleep(ASK_AGAIN).await;
                ask().await
            }
            answer => answer,
        };
        answer.map_err(while_doing("relay events", "the server does not answer"))
    }

    async fn deliver(&self, batch: &[Delivery]) -> Vec<Result<()>> {
        let mut pipeline = redis::pipe();
        for event in batch {
            self.entry(&mut pipeline, event);
        }
        let woken: BTreeSet<&str> = batch
            .iter()
            .map(|event| event.destination.as_str())
            .collect();
        for destination in woken {
            pipeline
                .cmd("PUBLISH")
                .arg(self.keys.channel(destination))
                .arg("")
                .ignore();
        }
        // Each entry has an answer of its own: one that is refused does not take the others with it.
        pipeline.ignore_errors();
        let answers: redis::RedisResult<Vec<redis::RedisResult<Value>>> =
            pipeline.query_async(&mut self.connection.clone()).await;
        match answers {
            Ok(answers) => answers
                .into_iter()
                .zip(batch)
                .map(|(answer, event)| {
                    answer
                        .map(drop)
                        .map_err(while_doing("relay an event", &event.destination))
                })
                .collect(),
            Err(error) => batch
                .iter()
                .map(|event| {
                    Err(while_doing("relay an event", &event.destination)(
                        error.clone(),
                    ))
                })
                .collect(),
        }
    }

    async fn tidy(&self) -> Result<()> {
        keep::trim(
            &self.connection,
            &self.keys,
            &self.destinations,
            &self.options,
        )
        .await
        .map(drop)
    }
}
