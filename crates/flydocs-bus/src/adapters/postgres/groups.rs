//! Groups of a PostgreSQL bus: registration, state, and the end.

use sqlx::{PgConnection, Row as _, postgres::PgRow};

use super::session::Server;
use crate::{
    bus::{Start, Subscription},
    error::{Error, Result, while_doing},
    group::group_lock_key,
    status::GroupStatus,
};

const KNOWN: &str = "
SELECT bus.group_lock_key($1) AS lock_key, f.destinations, f.event_types
FROM (SELECT 1) one LEFT JOIN bus.offsets f ON f.consumer_group = $1";

const LOCK: &str = "SELECT pg_advisory_xact_lock($1)";

/// With `$5` the group begins at this snapshot: what is visible now and not final yet counts as handled.
const INSERT: &str = "
WITH passed AS (
    INSERT INTO bus.deliveries (consumer_group, outbox_id, txid, event_type, ordering_key, visible_at, done_at)
    SELECT $1, o.id, o.txid, o.event_type, o.ordering_key, o.available_at, now()
    FROM bus.outbox o
    WHERE $5 AND o.txid >= pg_snapshot_xmin(pg_current_snapshot())
      AND o.destination = ANY ($3) AND o.event_type = ANY ($4)
)
INSERT INTO bus.offsets (consumer_group, lock_key, destinations, event_types, low_xid)
VALUES ($1, $2, $3, $4, CASE WHEN $5 THEN pg_snapshot_xmin(pg_current_snapshot()) ELSE '0'::xid8 END)
ON CONFLICT DO NOTHING";

const GROW: &str =
    "UPDATE bus.offsets SET destinations = $2, event_types = $3 WHERE consumer_group = $1";

/// What the drain has passed by and the group wants from now on: `$2`, `$3` new; `$4`, `$5` old.
const CATCH_UP: &str = "
INSERT INTO bus.deliveries (consumer_group, outbox_id, txid, event_type, ordering_key, visible_at)
SELECT f.consumer_group, o.id, o.txid, o.event_type, o.ordering_key, o.available_at
FROM bus.offsets f JOIN bus.outbox o ON o.txid < f.low_xid
WHERE f.consumer_group = $1 AND o.destination = ANY ($2) AND o.event_type = ANY ($3)
  AND NOT (o.destination = ANY ($4) AND o.event_type = ANY ($5))
  AND (o.only_group IS NULL OR o.only_group = f.consumer_group)
ON CONFLICT DO NOTHING";

const STATUS: &str = "
SELECT f.consumer_group, f.lock_key, f.destinations, f.event_types, f.updated_at,
  (SELECT count(*) FROM bus.outbox o
     WHERE o.destination = ANY (f.destinations) AND o.event_type = ANY (f.event_types) AND o.txid >= f.low_xid
       AND (o.only_group IS NULL OR o.only_group = f.consumer_group)
       AND NOT EXISTS (SELECT 1 FROM bus.deliveries d
                       WHERE d.consumer_group = f.consumer_group AND d.outbox_id = o.id)) AS undrained,
  c.due, c.delayed, c.in_flight, c.suspects, c.oldest_due,
  (SELECT count(*) FROM bus.dead_letters l
     WHERE l.consumer_group = f.consumer_group AND l.requeued_at IS NULL) AS dead_letters,
  (SELECT format('pid %s%s%s', l.pid, coalesce(' ' || nullif(a.application_name, ''), ''),
                 coalesce(' from ' || a.client_addr::text, ''))
     FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
     WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
       AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
       AND l.classid::bigint = (f.lock_key >> 32) & 4294967295
       AND l.objid::bigint = f.lock_key & 4294967295 LIMIT 1) AS lock_holder
FROM bus.offsets f CROSS JOIN LATERAL (
  SELECT count(*) FILTER (WHERE d.visible_at <= now()) AS due,
         count(*) FILTER (WHERE d.visible_at > now() AND d.claim_token IS NULL) AS delayed,
         count(*) FILTER (WHERE d.visible_at > now() AND d.claim_token IS NOT NULL) AS in_flight,
         count(*) FILTER (WHERE d.attempts - d.failures >= 2) AS suspects,
         extract(epoch FROM now() - min(d.visible_at) FILTER (WHERE d.visible_at <= now()))::float8 AS oldest_due
  FROM bus.deliveries d WHERE d.consumer_group = f.consumer_group AND d.done_at IS NULL) c
ORDER BY f.consumer_group";

/// What the database knows of a group.
struct Known {
    lock_key: i64,
    wants: Option<(Vec<String>, Vec<String>)>,
}

/// Makes the group known, or grows what it wants.
pub(super) async fn register(server: &Server, subscription: &Subscription) -> Result<()> {
    let failed = || while_doing("register a group", subscription.group.clone());
    let mut session = server.session().await.map_err(failed())?;
    let known = known(server, &mut session, &subscription.group)
        .await
        .map_err(failed())?;
    session.finish().await.map_err(failed())?;
    let key = group_lock_key(&subscription.group);
    if known.lock_key != key {
        return Err(Error::Schema {
            detail: format!(
                "bus.group_lock_key answers {} instead of {key}",
                known.lock_key
            ),
        });
    }
    if let Some((destinations, event_types)) = &known.wants
        && subscription
            .destinations
            .iter()
            .all(|item| destinations.contains(item))
        && subscription
            .event_types
            .iter()
            .all(|item| event_types.contains(item))
    {
        return Ok(());
    }
    grow(server, subscription, key).await.map_err(failed())
}

async fn known(server: &Server, conn: &mut PgConnection, group: &str) -> sqlx::Result<Known> {
    let row = server
        .query(KNOWN)
        .bind(group.to_owned())
        .fetch_one(conn)
        .await?;
    let destinations: Option<Vec<String>> = row.try_get("destinations")?;
    let event_types: Option<Vec<String>> = row.try_get("event_types")?;
    Ok(Known {
        lock_key: row.try_get("lock_key")?,
        wants: destinations.zip(event_types),
    })
}

/// Under the group's lock: no drain passes by meanwhile.
async fn grow(server: &Server, subscription: &Subscription, key: i64) -> sqlx::Result<()> {
    let group = &subscription.group;
    let mut tx = server.transaction().await?;
    server.query(LOCK).bind(key).execute(&mut *tx).await?;
    let Some((old_destinations, old_types)) = known(server, &mut tx, group).await?.wants else {
        server
            .query(INSERT)
            .bind(group.clone())
            .bind(key)
            .bind(subscription.destinations.clone())
            .bind(subscription.event_types.clone())
            .bind(subscription.start == Start::Latest)
            .execute(&mut *tx)
            .await?;
        return tx.commit().await;
    };
    let destinations = union(&old_destinations, &subscription.destinations);
    let types = union(&old_types, &subscription.event_types);
    if subscription.start == Start::Earliest {
        server
            .query(CATCH_UP)
            .bind(group.clone())
            .bind(destinations.clone())
            .bind(types.clone())
            .bind(old_destinations)
            .bind(old_types)
            .execute(&mut *tx)
            .await?;
    }
    server
        .query(GROW)
        .bind(group.clone())
        .bind(destinations)
        .bind(types)
        .execute(&mut *tx)
        .await?;
    tx.commit().await
}

/// The number of events kept, and every group as it stands.
pub(super) async fn status(server: &Server) -> sqlx::Result<(u64, Vec<GroupStatus>)> {
    let outbox = server
        .fetch_one(server.query("SELECT count(*) FROM bus.outbox"))
        .await?;
    let rows = server.fetch_all(server.query(STATUS)).await?;
    let groups = rows
        .iter()
        .map(group_status)
        .collect::<sqlx::Result<Vec<_>>>()?;
    Ok((outbox.try_get::<i64, _>(0)? as u64, groups))
}

fn group_status(row: &PgRow) -> sqlx::Result<GroupStatus> {
    let count = |column: &str| row.try_get::<i64, _>(column).map(|count| count as u64);
    Ok(GroupStatus {
        group: row.try_get("consumer_group")?,
        lock_key: row.try_get("lock_key")?,
        lock_holder: row.try_get("lock_holder")?,
        destinations: row.try_get("destinations")?,
        event_types: row.try_get("event_types")?,
        undrained: count("undrained")?,
        due: count("due")?,
        delayed: count("delayed")?,
        in_flight: count("in_flight")?,
        suspects: count("suspects")?,
        dead_letters: count("dead_letters")?,
        oldest_due_seconds: row.try_get("oldest_due")?,
        last_drain_at: row.try_get("updated_at")?,
    })
}

/// Removes the group; how many deliveries it still owed.
pub(super) async fn forget(server: &Server, group: &str) -> sqlx::Result<u64> {
    let mut tx = server.transaction().await?;
    server
        .query(LOCK)
        .bind(group_lock_key(group))
        .execute(&mut *tx)
        .await?;
    let owed = server
        .query("DELETE FROM bus.deliveries WHERE consumer_group = $1 AND done_at IS NULL")
        .bind(group.to_owned())
        .execute(&mut *tx)
        .await?;
    for statement in [
        "DELETE FROM bus.deliveries WHERE consumer_group = $1",
        "DELETE FROM bus.offsets WHERE consumer_group = $1",
    ] {
        server
            .query(statement)
            .bind(group.to_owned())
            .execute(&mut *tx)
            .await?;
    }
    tx.commit().await?;
    Ok(owed.rows_affected())
}

fn union(old: &[String], new: &[String]) -> Vec<String> {
    let mut all = old.to_vec();
    all.extend(new.iter().filter(|item| !old.contains(item)).cloned());
    all
}
