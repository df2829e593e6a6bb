//! A SQLite file of one test.

use std::{path::Path, sync::Arc};

use async_trait::async_trait;
use flydocs_bus::{Bus, NewEvent, Options, adapters::sqlite::SqliteBus, outbox, sqlite::Database};
use sqlx::migrate::Migrator;
use tempfile::TempDir;
use tokio::sync::oneshot;

use super::{House, OpenTransaction};

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
