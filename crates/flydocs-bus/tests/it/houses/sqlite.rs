//! A SQLite file of one test.

use std::{path::Path, sync::Arc};

use async_trait::async_trait;
use flydocs_bus::{
    Bus, Error, NewEvent, Options, Published, adapters::sqlite::SqliteBus, outbox, sqlite::Database,
};
use sqlx::migrate::Migrator;
use tempfile::TempDir;
use tokio::sync::oneshot;

use super::{House, OpenTransaction};
use crate::conformance::event;

#[derive(Debug)]
pub(crate) struct SqliteHouse {
    pub(crate) database: Database,
    _folder: TempDir,
}

impl SqliteHouse {
    pub(crate) async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = open(&folder.path().join("bus.db")).await;
        migrate(&database).await;
        Self {
            database,
            _folder: folder,
        }
    }
}

pub(crate) async fn open(path: &Path) -> Database {
    flydocs_bus::sqlite::open(path).await.unwrap()
}

pub(crate) async fn migrate(database: &Database) {
    Migrator::with_migrations(flydocs_bus::migrations::sqlite())
        .run(&database.writer)
        .await
        .unwrap();
}

/// Events of the statement are written in one go.
pub(crate) const FLOOD: &str = "
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?3)
INSERT INTO bus_outbox (event_id, destination, event_type, payload, available_at, created_at)
SELECT printf('00000000-0000-4000-8000-%012x', i), ?1, ?2, json_object('n', i), 0, 0 FROM n";

#[async_trait]
impl House for SqliteHouse {
    async fn bus(&self, options: Options) -> Arc<dyn Bus> {
        let database = open(&self.database.path).await;
        Arc::new(SqliteBus::new(database, options).unwrap())
    }

    async fn transaction(&self, events: &[NewEvent], commit: bool) {
        transaction(&self.database, events, commit).await;
    }

    async fn open_transaction(&self, event: NewEvent) -> OpenTransaction {
        open_transaction(&self.database, event).await
    }

    async fn live(&self, destination: &str, key: &str) -> bool {
        live(&self.database, destination, key).await
    }

    async fn flood(&self, destination: &str, event_type: &str, events: u32) {
        flood(&self.database, destination, event_type, events).await;
    }
}

pub(crate) async fn transaction(database: &Database, events: &[NewEvent], commit: bool) {
    let mut tx = database.begin().await.unwrap();
    for event in events {
        outbox::sqlite::publish(&mut tx, event).await.unwrap();
    }
    if commit {
        tx.commit().await.unwrap();
    } else {
        tx.rollback().await.unwrap();
    }
}

pub(crate) async fn open_transaction(database: &Database, event: NewEvent) -> OpenTransaction {
    let mut tx = database.begin().await.unwrap();
    outbox::sqlite::publish(&mut tx, &event).await.unwrap();
    let (commit, committed) = oneshot::channel();
    let ended = tokio::spawn(async move {
        committed.await.unwrap();
        tx.commit().await.unwrap();
    });
    OpenTransaction::new(commit, ended)
}

pub(crate) async fn live(database: &Database, destination: &str, key: &str) -> bool {
    let mut reader = database.reader.acquire().await.unwrap();
    outbox::sqlite::has_live_event(&mut reader, destination, key)
        .await
        .unwrap()
}

pub(crate) async fn flood(database: &Database, destination: &str, event_type: &str, events: u32) {
    sqlx::query(FLOOD)
        .bind(destination)
        .bind(event_type)
        .bind(i64::from(events))
        .execute(&database.writer)
        .await
        .unwrap();
}

crate::conformance::suite!(super::SqliteHouse::open().await);

/// A bus on the very connections of the file, so that a test can get at them.
async fn bus_on_one_file() -> (SqliteHouse, SqliteBus) {
    let house = SqliteHouse::open().await;
    let bus = SqliteBus::new(house.database.clone(), Options::default()).unwrap();
    (house, bus)
}

fn large(n: u32) -> NewEvent {
    NewEvent {
        payload: format!("{{\"n\":{n},\"text\":\"{}\"}}", "x".repeat(8_000)),
        ..event(n)
    }
}

async fn set_most_pages(database: &Database, pages: &str) {
    sqlx::query(sqlx::AssertSqlSafe(format!(
        "PRAGMA max_page_count = {pages}"
    )))
    .execute(&database.writer)
    .await
    .unwrap();
}

async fn most_pages(database: &Database) -> i64 {
    sqlx::query_scalar("PRAGMA max_page_count")
        .fetch_one(&database.writer)
        .await
        .unwrap()
}

async fn pages(database: &Database) -> i64 {
    sqlx::query_scalar("PRAGMA page_count")
        .fetch_one(&database.writer)
        .await
        .unwrap()
}

fn code(error: &Error) -> String {
    let Error::Database { source, .. } = error else {
        panic!("{error:?}");
    };
    let database = source.as_database_error();
    let database = database.unwrap_or_else(|| panic!("{error:?}"));
    database.code().unwrap().into_owned()
}

#[tokio::test]
async fn a_disk_that_was_full_for_a_moment_is_written_to_again() {
    let (house, bus) = bus_on_one_file().await;
    let full = pages(&house.database).await + 8;
    for round in 0..3 {
        set_most_pages(&house.database, &full.to_string()).await;
        let mut n = round * 1_000;
        let refused = loop {
            match bus.publish(&large(n)).await {
                Ok(_) => n += 1,
                Err(error) => break error,
            }
            assert!(n < round * 1_000 + 100, "it is never full");
        };
        assert_eq!(code(&refused), "13", "{refused:?}");
        assert!(refused.is_transient());
        set_most_pages(&house.database, "1000000").await;
        let published = bus.publish(&large(n)).await;
        assert!(matches!(published, Ok(Published::New)), "{published:?}");
        sqlx::query("DELETE FROM bus_outbox")
            .execute(&house.database.writer)
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn a_commit_that_the_database_refused_leaves_no_transaction_behind() {
    let (house, bus) = bus_on_one_file().await;
    let mut writer = house.database.writer.acquire().await.unwrap();
    let mut handle = writer.lock_handle().await.unwrap();
    handle.set_commit_hook(|| false);
    drop(handle);
    drop(writer);
    let refused = bus.publish(&event(1)).await;
    assert_eq!(code(&refused.unwrap_err()), "531");
    let published = bus.publish(&event(1)).await;
    assert!(matches!(published, Ok(Published::New)), "{published:?}");
}

#[tokio::test]
async fn a_transaction_that_is_undone_keeps_its_connection() {
    let (house, bus) = bus_on_one_file().await;
    set_most_pages(&house.database, "12345").await;
    for n in 0..100 {
        let mut tx = house.database.begin().await.unwrap();
        outbox::sqlite::publish(&mut tx, &event(n)).await.unwrap();
        drop(tx);
    }
    assert_eq!(most_pages(&house.database).await, 12_345);
    bus.publish(&event(1)).await.unwrap();
    assert_eq!(most_pages(&house.database).await, 12_345);
}
