//! The outbox on SQLite.

use std::collections::HashSet;

use sqlx::SqliteConnection;

use crate::{
    error::{Result, while_doing},
    event::{NewEvent, Published},
};

const INSERT: &str = "\
INSERT INTO bus_outbox
  (event_id, destination, event_type, payload, headers, ordering_key, dedupe_key, available_at, created_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7,
  CAST(unixepoch('now', 'subsec') * 1000 AS INTEGER) + ?8, CAST(unixepoch('now', 'subsec') * 1000 AS INTEGER))
ON CONFLICT (destination, dedupe_key) WHERE dedupe_key IS NOT NULL DO NOTHING";

/// Events `o` that somebody still owes: handed out and not settled, not drained yet, wanted by nobody so far, or
/// carried to a broker lately, where it cannot be seen whether they are settled.
macro_rules! live {
    () => {
        "(EXISTS (SELECT 1 FROM bus_deliveries d WHERE d.outbox_id = o.id)
   OR NOT EXISTS (SELECT 1 FROM bus_offsets f WHERE f.last_event_id >= o.id
        AND o.destination IN (SELECT value FROM json_each(f.destinations))
        AND o.event_type IN (SELECT value FROM json_each(f.event_types))
        AND (o.only_group IS NULL OR o.only_group = f.consumer_group))
   OR EXISTS (SELECT 1 FROM bus_offsets f WHERE f.last_event_id < o.id
        AND o.destination IN (SELECT value FROM json_each(f.destinations))
        AND o.event_type IN (SELECT value FROM json_each(f.event_types))
        AND (o.only_group IS NULL OR o.only_group = f.consumer_group))
   OR (o.available_at > CAST(unixepoch('now', 'subsec') * 1000 AS INTEGER) - 600000
       AND EXISTS (SELECT 1 FROM bus_offsets f WHERE f.consumer_group = 'flydocs-relay')))"
    };
}

const FREE_KEY: &str = concat!(
    "UPDATE bus_outbox AS o SET dedupe_key = NULL WHERE o.destination = ?1 AND o.dedupe_key = ?2 AND NOT ",
    live!()
);

const LIVE_KEYS: &str = concat!(
    "SELECT o.dedupe_key FROM json_each(?2) k CROSS JOIN bus_outbox o
     ON o.destination = ?1 AND o.dedupe_key = k.value AND o.dedupe_key IS NOT NULL WHERE ",
    live!()
);

/// Writes the event in the caller's transaction (`BEGIN IMMEDIATE`); call [`crate::Bus::wake`] after the commit.
pub async fn publish(conn: &mut SqliteConnection, event: &NewEvent) -> Result<Published> {
    if insert(conn, event).await? {
        return Ok(Published::New);
    }
    let freed = sqlx::query(FREE_KEY)
        .bind(&event.destination)
        .bind(&event.dedupe_key)
        .execute(&mut *conn)
        .await
        .map_err(while_doing("free a dedupe key", &event.destination))?;
    if freed.rows_affected() > 0 && insert(conn, event).await? {
        return Ok(Published::New);
    }
    Ok(Published::Duplicate)
}

/// Which of these dedupe keys belong to a live event of the destination.
pub async fn live_keys(
    conn: &mut SqliteConnection,
    destination: &str,
    dedupe_keys: &[String],
) -> Result<HashSet<String>> {
    let keys: Vec<String> = sqlx::query_scalar(LIVE_KEYS)
        .bind(destination)
        .bind(serde_json::Value::from(dedupe_keys).to_string())
        .fetch_all(conn)
        .await
        .map_err(while_doing("look up live events", destination))?;
    Ok(keys.into_iter().collect())
}

/// True while an event of this dedupe key is live: waiting, leased, delayed or not drained yet.
pub async fn has_live_event(
    conn: &mut SqliteConnection,
    destination: &str,
    dedupe_key: &str,
) -> Result<bool> {
    Ok(!live_keys(conn, destination, &[dedupe_key.to_owned()])
        .await?
        .is_empty())
}

async fn insert(conn: &mut SqliteConnection, event: &NewEvent) -> Result<bool> {
    let written = sqlx::query(INSERT)
        .bind(event.event_id.to_string())
        .bind(&event.destination)
        .bind(&event.event_type)
        .bind(&event.payload)
        .bind(event.headers.to_string())
        .bind(&event.ordering_key)
        .bind(&event.dedupe_key)
        .bind(event.delay.as_millis() as i64)
        .execute(conn)
        .await
        .map_err(while_doing("publish an event", &event.destination))?;
    Ok(written.rows_affected() > 0)
}
