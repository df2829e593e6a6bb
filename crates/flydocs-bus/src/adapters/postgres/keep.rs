//! Dead letters and pruning of a PostgreSQL bus.

use std::time::Duration;

use sqlx::{PgConnection, Row as _, postgres::PgRow};

use super::session::Server;
use crate::{event::DeadLetter, group::group_lock_key, options::Options, status::Pruned};

const BATCH: i64 = 1000;
/// One pruner at a time; its lock is the fold of this name.
const PRUNER: &str = "flydocs-bus-prune";

const LETTERS: &str = "
SELECT id, consumer_group, event_id, destination, event_type, payload, attempts, reason, error, failed_at,
       requeued_at
FROM bus.dead_letters WHERE $1::text IS NULL OR consumer_group = $1 ORDER BY id DESC LIMIT $2";

/// To its own group only; works after the event itself was pruned.
const REQUEUE: &str = "
WITH letter AS (
    UPDATE bus.dead_letters SET requeued_at = now() WHERE id = $1 AND requeued_at IS NULL
    RETURNING consumer_group, event_id, destination, event_type, payload, headers, ordering_key
)
INSERT INTO bus.outbox (event_id, destination, event_type, payload, headers, ordering_key, only_group)
SELECT event_id, destination, event_type, payload, headers, ordering_key, consumer_group FROM letter
RETURNING destination";

/// Tombstones that no drain can see again.
const PRUNE_DELIVERIES: &str = "
WITH gone AS (
    SELECT d.consumer_group, d.outbox_id FROM bus.offsets f CROSS JOIN LATERAL (
        SELECT x.consumer_group, x.outbox_id FROM bus.deliveries x
        WHERE x.consumer_group = f.consumer_group AND x.done_at IS NOT NULL AND x.txid < f.low_xid
        ORDER BY x.txid LIMIT $1 FOR UPDATE SKIP LOCKED) d
)
DELETE FROM bus.deliveries d USING gone g
WHERE d.consumer_group = g.consumer_group AND d.outbox_id = g.outbox_id";

/// Old events that every group of the destination has passed and none still owes.
const PRUNE_EVENTS: &str = "
WITH gone AS MATERIALIZED (
    SELECT o.id FROM bus.outbox o
    WHERE o.created_at < now() - make_interval(secs => $2)
      AND EXISTS (SELECT 1 FROM bus.offsets f WHERE o.destination = ANY (f.destinations))
      AND NOT EXISTS (SELECT 1 FROM bus.offsets f
                      WHERE o.destination = ANY (f.destinations) AND f.low_xid <= o.txid
                        AND (o.only_group IS NULL OR o.only_group = f.consumer_group))
      AND NOT EXISTS (SELECT 1 FROM bus.offsets f WHERE EXISTS (
          SELECT 1 FROM bus.deliveries d WHERE d.consumer_group = f.consumer_group AND d.outbox_id = o.id))
    ORDER BY o.created_at LIMIT $1 FOR UPDATE SKIP LOCKED
)
DELETE FROM bus.outbox o USING gone g WHERE o.id = g.id";

const PRUNE_LETTERS: &str = "
DELETE FROM bus.dead_letters WHERE id IN (
    SELECT id FROM bus.dead_letters WHERE failed_at < now() - make_interval(secs => $2) ORDER BY id LIMIT $1)";

pub(super) async fn letters(
    server: &Server,
    group: Option<&str>,
    limit: u32,
) -> sqlx::Result<Vec<DeadLetter>> {
    let query = server
        .query(LETTERS)
        .bind(group.map(str::to_owned))
        .bind(i64::from(limit));
    server.fetch_all(query).await?.iter().map(letter).collect()
}

fn letter(row: &PgRow) -> sqlx::Result<DeadLetter> {
    Ok(DeadLetter {
        id: row.try_get("id")?,
        group: row.try_get("consumer_group")?,
        event_id: row.try_get("event_id")?,
        destination: row.try_get("destination")?,
        event_type: row.try_get("event_type")?,
        payload: row.try_get("payload")?,
        attempts: row.try_get::<i32, _>("attempts")? as u32,
        reason: row.try_get("reason")?,
        error: row.try_get("error")?,
        failed_at: row.try_get("failed_at")?,
        requeued_at: row.try_get("requeued_at")?,
    })
}

/// Where the letter went, when it did.
pub(super) async fn requeue(server: &Server, letter: i64) -> sqlx::Result<Option<String>> {
    let rows = server.fetch_all(server.query(REQUEUE).bind(letter)).await?;
    rows.first()
        .map(|row| row.try_get("destination"))
        .transpose()
}

/// One batch of each kind; nothing when another replica is at it.
pub(super) async fn prune(server: &Server, options: &Options) -> sqlx::Result<Pruned> {
    let mut tx = server.transaction().await?;
    let alone: bool = server
        .query("SELECT pg_try_advisory_xact_lock($1)")
        .bind(group_lock_key(PRUNER))
        .fetch_one(&mut *tx)
        .await?
        .try_get(0)?;
    if !alone {
        return Ok(Pruned::default());
    }
    let deliveries = server
        .query(PRUNE_DELIVERIES)
        .bind(BATCH)
        .execute(&mut *tx)
        .await?;
    let deliveries = deliveries.rows_affected();
    let events = batch(server, &mut tx, PRUNE_EVENTS, options.keep_events).await?;
    let dead_letters = batch(server, &mut tx, PRUNE_LETTERS, options.keep_dead_letters).await?;
    tx.commit().await?;
    let more = events.max(dead_letters).max(deliveries) >= BATCH as u64;
    Ok(Pruned {
        events,
        deliveries,
        dead_letters,
        more,
    })
}

async fn batch(
    server: &Server,
    conn: &mut PgConnection,
    statement: &'static str,
    keep: Duration,
) -> sqlx::Result<u64> {
    let deleted = server
        .query(statement)
        .bind(BATCH)
        .bind(keep.as_secs_f64())
        .execute(conn)
        .await?;
    Ok(deleted.rows_affected())
}
