//! A Redis server and the outbox in PostgreSQL, with a relay between them; and what only this adapter promises.

use std::{
    str::FromStr as _,
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use flydocs_bus::{
    Bus, NewEvent, Options,
    adapters::{postgres::PostgresBus, redis::RedisBus},
    relay::{Outbox, RelayLock},
};
use flydocs_testkit::{
    cable::Cable,
    redis::{Server, shared},
};
use redis::AsyncCommands as _;
use sqlx::postgres::PgConnectOptions;
use tokio::time::timeout;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
use uuid::Uuid;

use super::{House, OpenTransaction, options, postgres::PostgresHouse};
use crate::conformance::{
    GROUP, KIND, TOPIC, assert_nothing_due, event, exactly, join, n, one, settle,
};

#[derive(Debug)]
pub(crate) struct RedisHouse {
    pub(crate) outbox: PostgresHouse,
    pub(crate) url: String,
    pub(crate) prefix: String,
    _relay: Option<AbortOnDropHandle<()>>,
}

impl RedisHouse {
    pub(crate) async fn open() -> Self {
        let url = tokio::task::spawn_blocking(shared).await.unwrap().unwrap();
        Self::at(url).await
    }

    /// Whose relays are other processes.
    pub(crate) async fn without_relay() -> Self {
        let url = tokio::task::spawn_blocking(shared).await.unwrap().unwrap();
        Self {
            outbox: PostgresHouse::open().await,
            url,
            prefix: format!("test-{}", Uuid::new_v4().simple()),
            _relay: None,
        }
    }

    async fn at(url: String) -> Self {
        let outbox = PostgresHouse::open().await;
        let prefix = format!("test-{}", Uuid::new_v4().simple());
        let relay = relay(redis(&outbox, &url, &prefix, options()));
        Self {
            outbox,
            url,
            prefix,
            _relay: Some(relay),
        }
    }

    async fn admin(&self) -> redis::aio::MultiplexedConnection {
        let client = redis::Client::open(self.url.as_str()).unwrap();
        client.get_multiplexed_async_connection().await.unwrap()
    }
}

fn redis(outbox: &PostgresHouse, url: &str, prefix: &str, options: Options) -> Arc<dyn Bus> {
    Arc::new(RedisBus::new(url, prefix, outbox_of(outbox, &options), options).unwrap())
}

/// The outbox as a process with a broker opens it.
pub(crate) fn outbox_of(house: &PostgresHouse, options: &Options) -> Outbox {
    let direct = PgConnectOptions::from_str(&house.url).unwrap();
    let bus = PostgresBus::new(
        super::postgres::pool(&house.url),
        Some(direct.clone()),
        options.clone().for_relay(),
    );
    Outbox {
        bus: Arc::new(bus),
        lock: RelayLock::postgres(direct),
        destinations: vec![TOPIC.to_owned()],
        event_types: vec![KIND.to_owned(), "extraction.completed".to_owned()],
    }
}

/// Runs the relay of a bus until the handle is dropped, as a crash would end it.
pub(crate) fn relay(bus: Arc<dyn Bus>) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(async move {
        let relay = bus.relay().unwrap();
        relay.run(CancellationToken::new()).await.unwrap();
    }))
}

#[async_trait]
impl House for RedisHouse {
    async fn bus(&self, options: Options) -> Arc<dyn Bus> {
        redis(&self.outbox, &self.url, &self.prefix, options)
    }

    async fn transaction(&self, events: &[NewEvent], commit: bool) {
        self.outbox.transaction(events, commit).await;
    }

    async fn open_transaction(&self, event: NewEvent) -> OpenTransaction {
        self.outbox.open_transaction(event).await
    }

    async fn live(&self, destination: &str, key: &str) -> bool {
        self.outbox.live(destination, key).await
    }

    async fn flood(&self, destination: &str, event_type: &str, events: u32) {
        self.outbox.flood(destination, event_type, events).await;
    }
}

crate::conformance::suite_with_a_broker!(super::RedisHouse::open().await);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_dies_and_comes_back_has_lost_nothing() {
    let server = Arc::new(started(&[]).await);
    let house = RedisHouse::at(server.url()).await;
    // What is in hand outlives the outage, however slow the machine is.
    let lease = Duration::from_mins(10);
    let bus = house.bus(Options { lease, ..options() }).await;
    let consumer = join(&bus, "a").await;
    house
        .transaction(&[event(1), event(2), event(3)], true)
        .await;
    bus.wake(TOPIC);
    let held = one(&consumer).await;

    let dying = Arc::clone(&server);
    tokio::task::spawn_blocking(move || dying.crash())
        .await
        .unwrap()
        .unwrap();
    let health = bus.health().await;
    assert!(health.up && health.detail.unwrap().contains("degraded"));
    // Submissions go on meanwhile.
    house.transaction(&[event(4)], true).await;
    bus.wake(TOPIC);
    let settling = tokio::spawn({
        let consumer = consumer.clone();
        async move {
            settle(&consumer, &[held]).await;
            exactly(&consumer, 3).await
        }
    });
    let _server = tokio::task::spawn_blocking(move || server.resume().map(|()| server))
        .await
        .unwrap()
        .unwrap();

    let rest = settling.await.unwrap();
    assert_eq!(rest.iter().map(n).collect::<Vec<_>>(), [2, 3, 4]);
    settle(&consumer, &rest).await;
    assert_eq!(bus.health().await.detail, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_answers_and_takes_nothing_shows_in_the_health() {
    let server = started(&[]).await;
    let house = RedisHouse {
        _relay: None,
        ..RedisHouse::at(server.url()).await
    };
    let bus = house.bus(options()).await;
    let _relay = relay(Arc::clone(&bus));
    let consumer = join(&bus, "a").await;
    let memory = |bytes: u32| {
        let url = server.url();
        async move {
            let client = redis::Client::open(url).unwrap();
            let mut connection = client.get_multiplexed_async_connection().await.unwrap();
            redis::cmd("CONFIG")
                .arg(&["SET", "maxmemory", &bytes.to_string()])
                .exec_async(&mut connection)
                .await
                .unwrap();
        }
    };
    memory(1).await;
    bus.publish(&event(1)).await.unwrap();
    let detail = until(&bus, Option::is_some).await.unwrap();
    assert!(
        detail.contains("degraded") && detail.contains("maxmemory"),
        "{detail}"
    );
    memory(0).await;
    assert_eq!(n(&one(&consumer).await), 1);
    assert_eq!(until(&bus, Option::is_none).await, None);
}

/// The detail of the health once it is as asked, or after a long time.
async fn until(
    bus: &Arc<dyn flydocs_bus::Bus>,
    as_asked: fn(&Option<String>) -> bool,
) -> Option<String> {
    let began = Instant::now();
    loop {
        let detail = bus.health().await.detail;
        if as_asked(&detail) {
            return detail;
        }
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "still {detail:?}"
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cut_network_is_survived_with_work_in_hand() {
    let server = started(&[]).await;
    let cable = Cable::to(server.address()).await.unwrap();
    let house = RedisHouse::at(format!("redis://{}/0", cable.address())).await;
    let bus = house.bus(options()).await;
    let consumer = join(&bus, "a").await;
    house.transaction(&[event(1), event(2)], true).await;
    bus.wake(TOPIC);
    let held = one(&consumer).await;
    for round in 3..6 {
        cable.cut();
        house.transaction(&[event(round)], true).await;
        bus.wake(TOPIC);
        assert!(bus.health().await.detail.unwrap().contains("degraded"));
        cable.mend();
    }
    settle(&consumer, &[held]).await;
    let rest = exactly(&consumer, 4).await;
    assert_eq!(rest.iter().map(n).collect::<Vec<_>>(), [2, 3, 4, 5]);
    settle(&consumer, &rest).await;
    assert_nothing_due(&bus, &consumer).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_lost_everything_is_set_up_again() {
    let server = started(&[]).await;
    let house = RedisHouse::at(server.url()).await;
    let bus = house
        .bus(Options {
            poll: Duration::from_millis(50),
            ..options()
        })
        .await;
    let consumer = join(&bus, "a").await;
    bus.publish(&event(1)).await.unwrap();
    let held = one(&consumer).await;
    let () = redis::cmd("FLUSHALL")
        .query_async(&mut house.admin().await)
        .await
        .unwrap();
    bus.publish(&event(2)).await.unwrap();
    let next = one(&consumer).await;
    assert_eq!(n(&next), 2);
    settle(&consumer, &[next]).await;
    assert_eq!(
        consumer.done(&held.ticket).await.unwrap(),
        flydocs_bus::Settled::Lost
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_is_used_and_a_wrong_one_is_an_error_without_it() {
    let server = started(&["--requirepass", "open-sesame"]).await;
    let url = server.url().replace("redis://", "redis://:open-sesame@");
    let house = RedisHouse::at(url).await;
    let bus = house.bus(options()).await;
    let consumer = join(&bus, "a").await;
    bus.publish(&event(1)).await.unwrap();
    assert_eq!(n(&one(&consumer).await), 1);

    let wrong = server.url().replace("redis://", "redis://:wrong-word@");
    let refused = redis(&house.outbox, &wrong, "x", options());
    let error = refused
        .subscribe(crate::conformance::subscription("a"))
        .await
        .unwrap_err();
    assert!(!error.is_transient(), "{error:?}");
    assert!(!format!("{error:?} {error}").contains("wrong-word"));
    let misspelt = RedisBus::new(
        "redis//:secret@nowhere",
        "x",
        outbox_of(&house.outbox, &options()),
        options(),
    );
    let said = misspelt.unwrap_err().to_string();
    assert!(
        said.contains("FLYDOCS_REDIS_URL") && !said.contains("secret"),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_are_trimmed_behind_the_slowest_group() {
    let house = RedisHouse::open().await;
    let keep_nothing = Options {
        keep_events: Duration::ZERO,
        ..options()
    };
    let bus = house.bus(keep_nothing).await;
    let fast = join(&bus, "a").await;
    let slow = bus
        .subscribe(flydocs_bus::Subscription {
            group: "slow".to_owned(),
            ..crate::conformance::subscription("b")
        })
        .await
        .unwrap();
    // Streams are trimmed by whole nodes of a hundred entries.
    house.flood(TOPIC, KIND, 300).await;
    bus.wake(TOPIC);
    let all = exactly(&fast, 300).await;
    settle(&fast, &all).await;
    let key = format!("{{{}}}:topic:{TOPIC}", house.prefix);
    let mut admin = house.admin().await;
    bus.prune().await.unwrap();
    let length: u64 = admin.xlen(&key).await.unwrap();
    assert_eq!(length, 300, "the slow group owes all of it");

    let all = exactly(&slow, 300).await;
    settle(&slow, &all).await;
    bus.prune().await.unwrap();
    let length: u64 = admin.xlen(&key).await.unwrap();
    assert!(length <= 100, "{length} entries are left");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_relay_takes_over_from_one_that_is_gone() {
    let house = RedisHouse::open().await;
    let bus = house.bus(options()).await;
    let consumer = join(&bus, "a").await;
    let mut active = relay(house.bus(options()).await);
    for round in 0..3 {
        let standing_by = relay(house.bus(options()).await);
        bus.publish(&event(round)).await.unwrap();
        drop(std::mem::replace(&mut active, standing_by));
        let delivery = one(&consumer).await;
        assert_eq!(n(&delivery), round);
        settle(&consumer, &[delivery]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_server_is_away_events_wait_in_order_and_then_all_come() {
    const EVENTS: u32 = 5_000;
    let server = started(&[]).await;
    let house = RedisHouse::at(server.url()).await;
    let bus = house.bus(options()).await;
    let consumer = join(&bus, "a").await;
    server.crash().unwrap();
    house.flood(TOPIC, KIND, EVENTS).await;
    bus.wake(TOPIC);
    let nothing = timeout(Duration::from_millis(300), one(&consumer)).await;
    assert!(nothing.is_err());
    server.resume().unwrap();
    let mut seen = Vec::new();
    while seen.len() < EVENTS as usize {
        let batch = crate::conformance::some(&consumer, 200).await;
        seen.extend(batch.iter().map(n));
        let settling = batch.iter().map(|delivery| consumer.done(&delivery.ticket));
        for settled in futures::future::join_all(settling).await {
            assert_eq!(settled.unwrap(), flydocs_bus::Settled::Settled);
        }
    }
    assert!(seen.is_sorted(), "they left the outbox in their order");
    let group = crate::conformance::status_at_rest(&bus)
        .await
        .groups
        .remove(0);
    assert_eq!(
        (group.group.as_str(), group.undrained, group.due),
        (GROUP, 0, 0)
    );
}

async fn started(settings: &'static [&'static str]) -> Server {
    tokio::task::spawn_blocking(|| Server::start_with(settings))
        .await
        .unwrap()
        .unwrap()
}
