//! Changes made by other processes, for those who wait for a row. Nothing is looked at while nobody waits.
//!
//! SQLite counts the commits of others (`data_version`): asking for that number costs microseconds, and only when it
//! moved are the rows looked at, the watched ones alone.

use std::{collections::HashMap, time::Duration};

use sqlx::{SqliteConnection, SqlitePool};
use tokio::task::JoinHandle;

use crate::change::{Changes, Seen};

/// How long another process's change may go unnoticed.
const TICK: Duration = Duration::from_millis(20);
/// The same while only deliverers wait, who do so as long as their process lives.
const DELIVERY_TICK: Duration = Duration::from_millis(100);
/// How long to wait when the database cannot be asked.
const PAUSE: Duration = Duration::from_secs(1);

const REVISIONS: &str = "\
SELECT id, revision FROM extractions WHERE id IN (SELECT value FROM json_each($1))";

/// The task that looks.
#[derive(Debug)]
pub(super) struct Watcher {
    task: JoinHandle<()>,
}

impl Watcher {
    pub(super) fn start(reader: SqlitePool, changes: Changes) -> Self {
        Self {
            task: tokio::spawn(watch(reader, changes)),
        }
    }

    pub(super) fn stop(&self) {
        self.task.abort();
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn watch(reader: SqlitePool, changes: Changes) {
    loop {
        changes.somebody_listens().await;
        let looked = async {
            let mut connection = reader.acquire().await?;
            look(&mut connection, &changes).await
        };
        if let Err(error) = looked.await {
            tracing::warn!(%error, "cannot look for changes of other processes");
            changes.tell_all();
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Returns when nobody waits any more.
async fn look(connection: &mut SqliteConnection, changes: &Changes) -> sqlx::Result<()> {
    let mut seen = Seen::default();
    let mut version = None;
    loop {
        let watched = changes.watched();
        if watched.is_empty() && !changes.watches_deliveries() {
            return Ok(());
        }
        let (now,): (i64,) = sqlx::query_as("PRAGMA data_version")
            .fetch_one(&mut *connection)
            .await?;
        let moved = version.replace(now) != Some(now);
        if moved {
            changes.tell_deliveries();
        }
        if watched.is_empty() {
            tokio::select! {
                () = tokio::time::sleep(DELIVERY_TICK) => {}
                () = changes.somebody_waits() => {}
            }
            continue;
        }
        if !moved && seen.knows(&watched) {
            tokio::time::sleep(TICK).await;
            continue;
        }
        let ids = serde_json::json!(watched).to_string();
        let rows: Vec<(String, i64)> = sqlx::query_as(REVISIONS)
            .bind(ids)
            .fetch_all(&mut *connection)
            .await?;
        let found: HashMap<String, i64> = rows.into_iter().collect();
        seen.compare(&watched, &found, changes);
        tokio::time::sleep(TICK).await;
    }
}
