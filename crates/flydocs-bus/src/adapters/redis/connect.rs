//! Connections to a Redis server: one that every call shares, and one of its own for wake-ups.

use std::time::Duration;

use futures::StreamExt as _;
use redis::{
    Client, ErrorKind, RedisError, ServerErrorKind,
    aio::{ConnectionManager, ConnectionManagerConfig},
};
use tokio::time::{sleep, timeout};
use tracing::warn;

use crate::{
    error::{Error, Result},
    signal::Signal,
};

/// No call blocks: whoever takes longer is gone.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
const CONNECT_WITHIN: Duration = Duration::from_secs(2);
/// How long the wake-up connection may be silent before it is tried.
const SILENCE: Duration = Duration::from_secs(15);
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// The client of an address such as `redis://:password@host:6379/0`; `rediss://` is TLS.
pub(super) fn client(url: &str) -> Result<Client> {
    // The first to come decides for the process; another library may have decided already.
    let _already = rustls::crypto::ring::default_provider().install_default();
    Client::open(url).map_err(|error| Error::BrokerSetting {
        setting: "FLYDOCS_REDIS_URL",
        detail: format!(
            "{}; redis://:password@host:6379/0, or rediss:// for TLS, is expected",
            error.category()
        ),
    })
}

/// A connection that connects when it is used, and again when it broke.
pub(super) fn manager(client: &Client) -> Result<ConnectionManager> {
    let config = ConnectionManagerConfig::new()
        .set_number_of_retries(1)
        .set_min_delay(Duration::from_millis(20))
        .set_max_delay(Duration::from_millis(200))
        .set_connection_timeout(Some(CONNECT_WITHIN))
        .set_response_timeout(Some(ANSWER_WITHIN));
    client
        .get_connection_manager_lazy(config)
        .map_err(while_doing("connect", "the server"))
}

/// Gives a driver's failure the operation and the subject it was about.
pub(super) fn while_doing(
    operation: &'static str,
    subject: impl Into<String>,
) -> impl FnOnce(RedisError) -> Error {
    let subject = subject.into();
    move |source| Error::Broker {
        operation,
        subject,
        broker: "redis",
        transient: is_transient(&source),
        source: Box::new(source),
    }
}

fn is_transient(error: &RedisError) -> bool {
    match error.kind() {
        ErrorKind::AuthenticationFailed
        | ErrorKind::InvalidClientConfig
        | ErrorKind::UnexpectedReturnType
        | ErrorKind::RESP3NotSupported => false,
        ErrorKind::Server(kind) => !matches!(
            kind,
            ServerErrorKind::ResponseError | ServerErrorKind::CrossSlot | ServerErrorKind::NoPerm
        ),
        // Out of memory, a replica that is not ready, a master that is being chosen.
        _ => !matches!(error.code(), Some("WRONGTYPE" | "NOAUTH" | "WRONGPASS")),
    }
}

/// The group is not there: the server was emptied, or another took over that had not heard of it.
pub(super) fn group_is_gone(error: &RedisError) -> bool {
    error.code() == Some("NOGROUP") || error.to_string().contains("no such key")
}

/// Rings whenever something was published on one of the channels, and after every time it could not hear.
pub(super) async fn listen(client: Client, channels: Vec<String>, signal: Signal) {
    let mut pause = FIRST_PAUSE;
    loop {
        match hear(&client, &channels, &signal, &mut pause).await {
            Ok(()) => {}
            Err(error) => {
                warn!(
                    error = &error as &dyn std::error::Error,
                    "wake-ups do not arrive from redis, polling; trying again in {pause:?}"
                );
            }
        }
        signal.ring();
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

async fn hear(
    client: &Client,
    channels: &[String],
    signal: &Signal,
    pause: &mut Duration,
) -> redis::RedisResult<()> {
    let connected = timeout(CONNECT_WITHIN, client.get_async_pubsub()).await;
    let mut pubsub = connected.map_err(late)??;
    for channel in channels {
        pubsub.subscribe(channel).await?;
    }
    // What was published before.
    signal.ring();
    *pause = FIRST_PAUSE;
    loop {
        let heard = timeout(SILENCE, pubsub.on_message().next()).await;
        match heard {
            Ok(Some(_message)) => signal.ring(),
            Ok(None) => return Ok(()),
            // A cut network is never noticed by listening.
            Err(_silence) => {
                let again = channels.first().map_or("", String::as_str);
                timeout(CONNECT_WITHIN, pubsub.subscribe(again))
                    .await
                    .map_err(late)??;
            }
        }
    }
}

fn late(_elapsed: tokio::time::error::Elapsed) -> RedisError {
    RedisError::from(std::io::Error::from(std::io::ErrorKind::TimedOut))
}
