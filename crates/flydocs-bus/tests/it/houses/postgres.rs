//! A PostgreSQL database of one test, and what only this adapter promises.

use std::{str::FromStr as _, sync::Arc, time::Duration};

use async_trait::async_trait;
use flydocs_bus::{
    Bus, NewEvent, Options, adapters::postgres::PostgresBus, group_lock_key, outbox,
};
use flydocs_testkit::{
    pgbouncer::Pooler,
    postgres::{Server, database, database_on},
};
use sqlx::{
    Connection as _, Executor as _, PgConnection, PgPool,
    migrate::Migrator,
    postgres::{PgConnectOptions, PgPoolOptions},
};
use tokio::{sync::oneshot, time::timeout};

use super::{House, OpenTransaction, options};
use crate::conformance::{GROUP, TOPIC, event, exactly, join, n, one, settle};

#[derive(Debug)]
pub(crate) struct PostgresHouse {
    pub(crate) url: String,
    pub(crate) pool: PgPool,
}

impl PostgresHouse {
    pub(crate) async fn open() -> Self {
        Self::at(database().await.unwrap().url).await
    }

    async fn at(url: String) -> Self {
        let pool = pool(&url);
        migrate(&pool).await;
        Self { url, pool }
    }

    async fn admin(&self) -> PgConnection {
        PgConnection::connect(&self.url).await.unwrap()
    }
}

pub(crate) async fn migrate(pool: &PgPool) {
    Migrator::with_migrations(flydocs_bus::migrations::postgres())
        .run(pool)
        .await
        .unwrap();
}

pub(crate) fn pool(url: &str) -> PgPool {
    PgPoolOptions::new()
        .max_connections(4)
        .test_before_acquire(false)
        .acquire_timeout(Duration::from_secs(20))
        .connect_lazy(url)
        .unwrap()
}

fn direct(url: &str) -> PgConnectOptions {
    PgConnectOptions::from_str(url).unwrap()
}

#[async_trait]
impl House for PostgresHouse {
    async fn bus(&self, options: Options) -> Arc<dyn Bus> {
        Arc::new(PostgresBus::new(
            pool(&self.url),
            Some(direct(&self.url)),
            options,
        ))
    }

    async fn transaction(&self, events: &[NewEvent], commit: bool) {
        let mut tx = self.pool.begin().await.unwrap();
        for event in events {
            outbox::postgres::publish(&mut tx, event).await.unwrap();
        }
        if commit {
            tx.commit().await.unwrap();
        } else {
            tx.rollback().await.unwrap();
        }
    }

    async fn open_transaction(&self, event: NewEvent) -> OpenTransaction {
        let mut tx = self.pool.begin().await.unwrap();
        outbox::postgres::publish(&mut tx, &event).await.unwrap();
        let (commit, committed) = oneshot::channel();
        let ended = tokio::spawn(async move {
            committed.await.unwrap();
            tx.commit().await.unwrap();
        });
        OpenTransaction::new(commit, ended)
    }

    async fn live(&self, destination: &str, key: &str) -> bool {
        let mut conn = self.pool.acquire().await.unwrap();
        outbox::postgres::has_live_event(&mut conn, destination, key)
            .await
            .unwrap()
    }

    async fn flood(&self, destination: &str, event_type: &str, events: u32) {
        sqlx::query(
            "INSERT INTO bus.outbox (event_id, destination, event_type, payload)
             SELECT gen_random_uuid(), $1, $2, json_build_object('n', i)::text FROM generate_series(1, $3) i",
        )
        .bind(destination)
        .bind(event_type)
        .bind(events as i32)
        .execute(&self.pool)
        .await
        .unwrap();
    }
}

crate::conformance::suite!(super::PostgresHouse::open().await);

#[tokio::test]
async fn the_database_folds_a_groups_name_as_we_do() {
    let house = PostgresHouse::open().await;
    for group in [GROUP, "flydocs-bbox-workers", "grüppe"] {
        let folded: i64 = sqlx::query_scalar("SELECT bus.group_lock_key($1)")
            .bind(group)
            .fetch_one(&house.pool)
            .await
            .unwrap();
        assert_eq!(folded, group_lock_key(group));
    }
    assert_eq!(group_lock_key(GROUP), -6_664_241_359_945_616_607);
}

#[tokio::test]
async fn whoever_holds_the_groups_key_stops_its_drain_and_is_shown() {
    let house = PostgresHouse::open().await;
    let bus = house.bus(options()).await;
    let consumer = join(&bus, "a").await;
    let mut operator = house.admin().await;
    sqlx::query("SELECT pg_advisory_lock($1)")
        .bind(group_lock_key(GROUP))
        .execute(&mut operator)
        .await
        .unwrap();
    bus.publish(&event(1)).await.unwrap();

    let nothing = timeout(Duration::from_millis(300), one(&consumer)).await;
    assert!(nothing.is_err());
    let group = bus.status().await.unwrap().groups.remove(0);
    assert!(
        group
            .lock_holder
            .is_some_and(|holder| holder.starts_with("pid "))
    );
    assert_eq!(group.undrained, 1);

    // A crash frees it.
    operator.close_hard().await.unwrap();
    assert_eq!(n(&one(&consumer).await), 1);
}

#[tokio::test]
async fn a_long_open_transaction_holds_nobody_up_and_is_drained_after_its_commit() {
    let house = PostgresHouse::open().await;
    let bus = house.bus(options()).await;
    let consumer = join(&bus, "a").await;
    let late = house.open_transaction(event(0)).await;
    for round in 1..=20 {
        bus.publish(&event(round)).await.unwrap();
        let delivery = one(&consumer).await;
        assert_eq!(n(&delivery), round);
        settle(&consumer, &[delivery]).await;
    }
    late.commit().await;
    bus.wake(TOPIC);
    assert_eq!(n(&one(&consumer).await), 0);
}

#[tokio::test]
async fn a_terminated_listener_comes_back_and_nothing_is_missed_meanwhile() {
    let house = PostgresHouse::open().await;
    let (bus, publisher) = (house.bus(options()).await, house.bus(options()).await);
    let consumer = join(&bus, "a").await;
    let mut admin = house.admin().await;
    for round in 0..3 {
        let waiting = tokio::spawn({
            let consumer = consumer.clone();
            async move { exactly(&consumer, 1).await }
        });
        // Until the listener is there, and then is not.
        let mut killed = 0;
        while killed == 0 {
            killed = sqlx::query(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                 WHERE datname = current_database() AND query LIKE 'LISTEN%'",
            )
            .execute(&mut admin)
            .await
            .unwrap()
            .rows_affected();
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        publisher.publish(&event(round)).await.unwrap();
        let claimed = waiting.await.unwrap();
        assert_eq!(n(&claimed[0]), round);
        settle(&consumer, &claimed).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_restart_is_survived_with_work_in_hand() {
    let server = Arc::new(
        tokio::task::spawn_blocking(Server::start)
            .await
            .unwrap()
            .unwrap(),
    );
    let house = PostgresHouse::at(database_on(&server).await.unwrap().url).await;
    let bus = house.bus(options()).await;
    let consumer = join(&bus, "a").await;
    house.transaction(&[event(1), event(2)], true).await;
    bus.wake(TOPIC);
    let held = one(&consumer).await;

    let crashing = Arc::clone(&server);
    tokio::task::spawn_blocking(move || crashing.crash())
        .await
        .unwrap()
        .unwrap();
    assert!(!bus.health().await.up);
    let settling = tokio::spawn({
        let consumer = consumer.clone();
        async move {
            settle(&consumer, &[held]).await;
            one(&consumer).await
        }
    });
    let resuming = Arc::clone(&server);
    tokio::task::spawn_blocking(move || resuming.resume())
        .await
        .unwrap()
        .unwrap();

    assert_eq!(n(&settling.await.unwrap()), 2);
    assert!(bus.health().await.up);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_works_behind_a_transaction_mode_pooler_by_polling() {
    let server = Arc::new(
        tokio::task::spawn_blocking(Server::start)
            .await
            .unwrap()
            .unwrap(),
    );
    let database = database_on(&server).await.unwrap();
    PostgresHouse::at(database.url.clone()).await;
    let behind = Arc::clone(&server);
    let pooler = tokio::task::spawn_blocking(move || Pooler::start(&behind))
        .await
        .unwrap()
        .unwrap();
    let url = pooler.url(&database.name);
    let buses: Vec<Arc<dyn Bus>> = (0..2)
        .map(|_| Arc::new(PostgresBus::behind_pooler(pool(&url), None, options())) as Arc<dyn Bus>)
        .collect();
    let (a, b) = (join(&buses[0], "a").await, join(&buses[1], "b").await);
    let health = buses[0].health().await;
    assert_eq!((health.up, health.wakes_by), (true, "poll-only"));

    for round in 0..40 {
        buses[round as usize % 2]
            .publish(&event(round))
            .await
            .unwrap();
    }
    let (mut seen, other) = tokio::join!(exactly(&a, 20), exactly(&b, 20));
    assert!(a.beat(&[seen[0].ticket.clone()]).await.unwrap().is_empty());
    let failed = seen.remove(0);
    let retried = a
        .retry(&failed.ticket, Some(Duration::ZERO), "again")
        .await
        .unwrap();
    assert_eq!(retried, flydocs_bus::Settled::Settled);
    settle(&a, &seen).await;
    settle(&b, &other).await;
    settle(&b, &[one(&b).await]).await;
    buses[0].status().await.unwrap();
    buses[0].prune().await.unwrap();
    let locks: i64 =
        sqlx::query_scalar("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")
            .fetch_one(&mut PgConnection::connect(&database.url).await.unwrap())
            .await
            .unwrap();
    assert_eq!(locks, 0);
}

#[tokio::test]
async fn a_restored_dump_with_foreign_transaction_ids_is_repaired() {
    let house = PostgresHouse::open().await;
    let bus = house.bus(options()).await;
    let consumer = join(&bus, "a").await;
    house.transaction(&[event(1), event(2)], true).await;
    bus.wake(TOPIC);
    let both = exactly(&consumer, 2).await;
    settle(&consumer, &both[..1]).await;
    // As if another server, whose counter was far ahead, had written all of it; one event is not drained.
    let mut admin = house.admin().await;
    admin
        .execute("UPDATE bus.offsets SET low_xid = '900000000000'")
        .await
        .unwrap();
    admin
        .execute("UPDATE bus.outbox SET txid = '800000000000'")
        .await
        .unwrap();
    admin
        .execute("UPDATE bus.deliveries SET txid = '800000000000'")
        .await
        .unwrap();
    house.transaction(&[event(3)], true).await;
    admin
        .execute("UPDATE bus.outbox SET txid = '900000000001' WHERE payload LIKE '%3%'")
        .await
        .unwrap();
    bus.publish(&event(4)).await.unwrap();

    let mut seen = exactly(&consumer, 2).await;
    seen.sort_by_key(n);
    assert_eq!(seen.iter().map(n).collect::<Vec<_>>(), [3, 4]);
    settle(&consumer, &seen).await;
    settle(&consumer, &both[1..]).await;
}

#[tokio::test]
async fn under_another_isolation_level_the_drain_refuses_instead_of_skipping() {
    let house = PostgresHouse::open().await;
    let mut admin = house.admin().await;
    admin
        .execute("SET default_transaction_isolation = 'repeatable read'")
        .await
        .unwrap();
    let bus = house.bus(options()).await;
    join(&bus, "a").await;
    let refused = sqlx::query("SELECT * FROM bus.drain($1, 500)")
        .bind(GROUP)
        .execute(&mut admin);
    assert!(
        refused
            .await
            .unwrap_err()
            .to_string()
            .contains("needs read committed")
    );
}

#[tokio::test]
async fn a_schema_that_is_not_there_is_named() {
    let database = database().await.unwrap();
    let bus = PostgresBus::new(pool(&database.url), None, options());
    let refused = bus
        .subscribe(crate::conformance::subscription("a"))
        .await
        .unwrap_err();
    assert!(refused.to_string().contains("flydocs migrate"), "{refused}");
    assert!(!bus.health().await.up);
}
