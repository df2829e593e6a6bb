//! The outbox on PostgreSQL.

use std::collections::HashSet;

use sqlx::{PgConnection, Row as _};

use crate::{
    error::{Result, while_doing},
    event::{NewEvent, Published},
};

const INSERT: &str = "\
INSERT INTO bus.outbox
  (event_id, destination, event_type, payload, headers, ordering_key, dedupe_key, available_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, now() + make_interval(secs => $8))
ON CONFLICT (destination, dedupe_key) WHERE dedupe_key IS NOT NULL DO NOTHING";

/// Events `o` that somebody still owes: handed out and not settled, not drained yet, wanted by nobody so far, or
/// carried to a broker lately, where it cannot be seen whether they are settled.
macro_rules! live {
    () => {
        "(EXISTS (SELECT 1 FROM bus.offsets f JOIN bus.deliveries d
        ON d.consumer_group = f.consumer_group AND d.outbox_id = o.id AND d.done_at IS NULL)
   OR NOT EXISTS (SELECT 1 FROM bus.offsets f
        WHERE o.destination = ANY (f.destinations) AND o.event_type = ANY (f.event_types)
        AND (o.only_group IS NULL OR o.only_group = f.consumer_group)
        AND (o.txid < f.low_xid OR EXISTS (SELECT 1 FROM bus.deliveries d
             WHERE d.consumer_group = f.consumer_group AND d.outbox_id = o.id)))
   OR EXISTS (SELECT 1 FROM bus.offsets f
        WHERE o.destination = ANY (f.destinations) AND o.event_type = ANY (f.event_types)
        AND (o.only_group IS NULL OR o.only_group = f.consumer_group)
        AND o.txid >= f.low_xid AND NOT EXISTS (SELECT 1 FROM bus.deliveries d
             WHERE d.consumer_group = f.consumer_group AND d.outbox_id = o.id))
   OR (o.available_at > now() - interval '10 minutes'
       AND EXISTS (SELECT 1 FROM bus.offsets f WHERE f.consumer_group = 'flydocs-relay')))"
    };
}

const FREE_KEY: &str = concat!(
    "UPDATE bus.outbox AS o SET dedupe_key = NULL WHERE o.destination = $1 AND o.dedupe_key = $2 AND NOT ",
    live!()
);

const LIVE_KEYS: &str = concat!(
    "SELECT o.dedupe_key FROM bus.outbox o WHERE o.destination = $1 AND o.dedupe_key = ANY ($2)
     AND o.dedupe_key IS NOT NULL AND ",
    live!()
);

/// Whether the server keeps a prepared statement for the next time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Statements {
    Named,
    /// A transaction-mode pooler hands the next transaction to another session, where a name means nothing.
    Unnamed,
}

/// Writes the event in the caller's transaction; call [`crate::Bus::wake`] after the commit, never before.
///
/// A second publisher of a key that is just being published waits for the first to commit or roll back.
pub async fn publish(conn: &mut PgConnection, event: &NewEvent) -> Result<Published> {
    publish_with(conn, event, Statements::Named).await
}

/// The same for a connection that goes through a transaction-mode pooler.
pub async fn publish_behind_pooler(conn: &mut PgConnection, event: &NewEvent) -> Result<Published> {
    publish_with(conn, event, Statements::Unnamed).await
}

/// Which of these dedupe keys belong to a live event of the destination.
pub async fn live_keys(
    conn: &mut PgConnection,
    destination: &str,
    dedupe_keys: &[String],
) -> Result<HashSet<String>> {
    let rows = sqlx::query(LIVE_KEYS)
        // Asked seldom: not worth a name, and good behind any pooler inside a transaction.
        .persistent(false)
        .bind(destination)
        .bind(dedupe_keys)
        .fetch_all(conn)
        .await
        .map_err(while_doing("look up live events", destination))?;
    rows.iter()
        .map(|row| {
            row.try_get(0)
                .map_err(while_doing("look up live events", destination))
        })
        .collect()
}

/// True while an event of this dedupe key is live: waiting, leased, delayed or not drained yet.
pub async fn has_live_event(
    conn: &mut PgConnection,
    destination: &str,
    dedupe_key: &str,
) -> Result<bool> {
    Ok(!live_keys(conn, destination, &[dedupe_key.to_owned()])
        .await?
        .is_empty())
}

async fn publish_with(
    conn: &mut PgConnection,
    event: &NewEvent,
    statements: Statements,
) -> Result<Published> {
    if insert(conn, event, statements).await? {
        return Ok(Published::New);
    }
    let freed = sqlx::query(FREE_KEY)
        .persistent(statements == Statements::Named)
        .bind(&event.destination)
        .bind(&event.dedupe_key)
        .execute(&mut *conn)
        .await
        .map_err(while_doing("free a dedupe key", &event.destination))?;
    if freed.rows_affected() > 0 && insert(conn, event, statements).await? {
        return Ok(Published::New);
    }
    Ok(Published::Duplicate)
}

async fn insert(conn: &mut PgConnection, event: &NewEvent, statements: Statements) -> Result<bool> {
    let written = sqlx::query(INSERT)
        .persistent(statements == Statements::Named)
        .bind(event.event_id)
        .bind(&event.destination)
        .bind(&event.event_type)
        .bind(&event.payload)
        .bind(event.headers.to_string())
        .bind(&event.ordering_key)
        .bind(&event.dedupe_key)
        .bind(event.delay.as_secs_f64())
        .execute(conn)
        .await
        .map_err(while_doing("publish an event", &event.destination))?;
    Ok(written.rows_affected() > 0)
}
