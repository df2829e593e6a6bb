//! Dead letters and pruning of a SQLite bus.

use sqlx::{Row as _, sqlite::SqliteRow};

use super::ledger::timestamp;
use crate::{event::DeadLetter, options::Options, sqlite::Database, status::Pruned};

const BATCH: i64 = 1000;

const LETTERS: &str = "
SELECT id, consumer_group, event_id, destination, event_type, payload, attempts, reason, error, failed_at,
       requeued_at
FROM bus_dead_letters WHERE ?1 IS NULL OR consumer_group = ?1 ORDER BY id DESC LIMIT ?2";

const TAKE_LETTER: &str = concat!(
    "UPDATE bus_dead_letters SET requeued_at = ",
    now!(),
    " WHERE id = ?1 AND requeued_at IS NULL"
);

/// To its own group only; works after the event itself was pruned.
const SEND_BACK: &str = concat!(
    "INSERT INTO bus_outbox (event_id, destination, event_type, payload, headers, ordering_key, only_group,
  available_at, created_at)
SELECT event_id, destination, event_type, payload, headers, ordering_key, consumer_group, ", now!(), ", ", now!(), "
FROM bus_dead_letters WHERE id = ?1"
);

/// Old events that every group of the destination has passed and none still owes.
const PRUNE_EVENTS: &str = concat!(
    "DELETE FROM bus_outbox WHERE id IN (
  SELECT o.id FROM bus_outbox o
  WHERE o.created_at < ", now!(), " - ?1
    AND EXISTS (SELECT 1 FROM bus_offsets f WHERE o.destination IN (SELECT value FROM json_each(f.destinations)))
    AND NOT EXISTS (SELECT 1 FROM bus_offsets f
      WHERE f.last_event_id < o.id AND o.destination IN (SELECT value FROM json_each(f.destinations))
        AND (o.only_group IS NULL OR o.only_group = f.consumer_group))
    AND NOT EXISTS (SELECT 1 FROM bus_deliveries d WHERE d.outbox_id = o.id)
  ORDER BY o.created_at LIMIT ?2)"
);

const PRUNE_LETTERS: &str = concat!(
    "DELETE FROM bus_dead_letters WHERE id IN (
  SELECT id FROM bus_dead_letters WHERE failed_at < ",
    now!(),
    " - ?1 ORDER BY id LIMIT ?2)"
);

pub(in crate::adapters) async fn letters(
    database: &Database,
    group: Option<&str>,
    limit: u32,
) -> sqlx::Result<Vec<DeadLetter>> {
    let rows = sqlx::query(LETTERS)
        .bind(group)
        .bind(i64::from(limit))
        .fetch_all(&database.reader)
        .await?;
    rows.iter().map(letter).collect()
}

fn letter(row: &SqliteRow) -> sqlx::Result<DeadLetter> {
    let event_id: String = row.try_get("event_id")?;
    Ok(DeadLetter {
        id: row.try_get("id")?,
        group: row.try_get("consumer_group")?,
        event_id: event_id
            .parse()
            .map_err(|e| sqlx::Error::Decode(Box::new(e)))?,
        destination: row.try_get("destination")?,
        event_type: row.try_get("event_type")?,
        payload: row.try_get("payload")?,
        attempts: row.try_get::<i64, _>("attempts")? as u32,
        reason: row.try_get("reason")?,
        error: row.try_get("error")?,
        failed_at: timestamp(row.try_get("failed_at")?),
        requeued_at: row.try_get::<Option<i64>, _>("requeued_at")?.map(timestamp),
    })
}

/// True when the letter went back to its group.
pub(in crate::adapters) async fn requeue(database: &Database, letter: i64) -> sqlx::Result<bool> {
    let mut tx = database.begin().await?;
    let taken = sqlx::query(TAKE_LETTER)
        .bind(letter)
        .execute(&mut *tx)
        .await?;
    if taken.rows_affected() == 0 {
        return Ok(false);
    }
    sqlx::query(SEND_BACK)
        .bind(letter)
        .execute(&mut *tx)
        .await?;
    tx.commit().await?;
    Ok(true)
}

/// One batch of each kind.
pub(in crate::adapters) async fn prune(
    database: &Database,
    options: &Options,
) -> sqlx::Result<Pruned> {
    let events = batch(database, PRUNE_EVENTS, options.keep_events).await?;
    let dead_letters = batch(database, PRUNE_LETTERS, options.keep_dead_letters).await?;
    let more = events.max(dead_letters) >= BATCH as u64;
    Ok(Pruned {
        events,
        deliveries: 0,
        dead_letters,
        more,
    })
}

async fn batch(
    database: &Database,
    statement: &'static str,
    keep: std::time::Duration,
) -> sqlx::Result<u64> {
    let deleted = sqlx::query(statement)
        .bind(keep.as_millis() as i64)
        .bind(BATCH)
        .execute(&database.writer)
        .await?;
    Ok(deleted.rows_affected())
}
