//! Groups of a SQLite bus: registration, state, and the end.

use serde_json::json;
use sqlx::{Row as _, SqliteConnection, sqlite::SqliteRow};

use super::ledger::timestamp;
use crate::{
    bus::{Start, Subscription},
    group::group_lock_key,
    sqlite::Database,
    status::GroupStatus,
};

const KNOWN: &str = "SELECT destinations, event_types FROM bus_offsets WHERE consumer_group = ?1";

const INSERT: &str = concat!(
    "INSERT INTO bus_offsets (consumer_group, lock_key, destinations, event_types, last_event_id, updated_at)
VALUES (?1, ?2, ?3, ?4, CASE WHEN ?5 THEN coalesce((SELECT max(id) FROM bus_outbox), 0) ELSE 0 END, ",
    now!(), ")"
);

const GROW: &str =
    "UPDATE bus_offsets SET destinations = ?2, event_types = ?3 WHERE consumer_group = ?1";

/// What was passed by and the group wants from now on: `?2`, `?3` new; `?4`, `?5` old.
const CATCH_UP: &str = "
INSERT INTO bus_deliveries (consumer_group, outbox_id, event_type, ordering_key, visible_at)
SELECT f.consumer_group, o.id, o.event_type, o.ordering_key, o.available_at
FROM bus_offsets f JOIN bus_outbox o ON o.id <= max(f.last_event_id, ?6)
WHERE f.consumer_group = ?1
  AND o.destination IN (SELECT value FROM json_each(?2))
  AND o.event_type IN (SELECT value FROM json_each(?3))
  AND NOT (o.destination IN (SELECT value FROM json_each(?4))
           AND o.event_type IN (SELECT value FROM json_each(?5)))
  AND (o.only_group IS NULL OR o.only_group = f.consumer_group)
ON CONFLICT DO NOTHING";

const STATUS: &str = concat!(
    "SELECT f.consumer_group, f.lock_key, f.destinations, f.event_types, f.updated_at,
  (SELECT count(*) FROM bus_outbox o WHERE o.id > f.last_event_id
     AND o.destination IN (SELECT value FROM json_each(f.destinations))
     AND o.event_type IN (SELECT value FROM json_each(f.event_types))
     AND (o.only_group IS NULL OR o.only_group = f.consumer_group)) AS undrained,
  (SELECT count(*) FROM bus_deliveries d WHERE d.consumer_group = f.consumer_group
     AND d.visible_at <= ",
    now!(),
    ") AS due,
  (SELECT count(*) FROM bus_deliveries d WHERE d.consumer_group = f.consumer_group
     AND d.visible_at > ",
    now!(),
    " AND d.claim_token IS NULL) AS delayed,
  (SELECT count(*) FROM bus_deliveries d WHERE d.consumer_group = f.consumer_group
     AND d.visible_at > ",
    now!(),
    " AND d.claim_token IS NOT NULL) AS in_flight,
  (SELECT count(*) FROM bus_deliveries d WHERE d.consumer_group = f.consumer_group
     AND d.attempts - d.failures >= 2) AS suspects,
  (SELECT count(*) FROM bus_dead_letters l WHERE l.consumer_group = f.consumer_group
     AND l.requeued_at IS NULL) AS dead_letters,
  (SELECT ",
    now!(),
    " - min(d.visible_at) FROM bus_deliveries d
     WHERE d.consumer_group = f.consumer_group AND d.visible_at <= ",
    now!(),
    ") AS oldest_due
FROM bus_offsets f ORDER BY f.consumer_group"
);

/// Makes the group known, or grows what it wants; `passed` when events were read ahead of the group's mark.
pub(in crate::adapters) async fn register(
    database: &Database,
    subscription: &Subscription,
    passed: Option<i64>,
) -> sqlx::Result<()> {
    let mut tx = database.begin().await?;
    let known: Option<(String, String)> = sqlx::query_as(KNOWN)
        .bind(&subscription.group)
        .fetch_optional(&mut *tx)
        .await?;
    match known {
        None => insert(&mut tx, subscription).await?,
        Some((destinations, event_types)) => {
            grow(&mut tx, subscription, &destinations, &event_types, passed).await?;
        }
    }
    tx.commit().await
}

async fn insert(conn: &mut SqliteConnection, subscription: &Subscription) -> sqlx::Result<()> {
    sqlx::query(INSERT)
        .bind(&subscription.group)
        .bind(group_lock_key(&subscription.group))
        .bind(json!(subscription.destinations).to_string())
        .bind(json!(subscription.event_types).to_string())
        .bind(subscription.start == Start::Latest)
        .execute(conn)
        .await?;
    Ok(())
}

async fn grow(
    conn: &mut SqliteConnection,
    subscription: &Subscription,
    old_destinations: &str,
    old_types: &str,
    passed: Option<i64>,
) -> sqlx::Result<()> {
    let destinations = union(&list(old_destinations), &subscription.destinations);
    let types = union(&list(old_types), &subscription.event_types);
    if destinations == list(old_destinations) && types == list(old_types) {
        return Ok(());
    }
    let (destinations, types) = (json!(destinations).to_string(), json!(types).to_string());
    if subscription.start == Start::Earliest {
        sqlx::query(CATCH_UP)
            .bind(&subscription.group)
            .bind(&destinations)
            .bind(&types)
            .bind(old_destinations)
            .bind(old_types)
            .bind(passed.unwrap_or(0))
            .execute(&mut *conn)
            .await?;
    }
    sqlx::query(GROW)
        .bind(&subscription.group)
        .bind(&destinations)
        .bind(&types)
        .execute(conn)
        .await?;
    Ok(())
}

/// Every group as it stands; `holder` names who holds a group's lock.
pub(in crate::adapters) async fn status(
    database: &Database,
    holder: impl Fn(&str) -> Option<String>,
) -> sqlx::Result<(u64, Vec<GroupStatus>)> {
    let outbox: i64 = sqlx::query_scalar("SELECT count(*) FROM bus_outbox")
        .fetch_one(&database.reader)
        .await?;
    let rows = sqlx::query(STATUS).fetch_all(&database.reader).await?;
    let groups = rows
        .iter()
        .map(|row| group_status(row, &holder))
        .collect::<sqlx::Result<Vec<_>>>()?;
    Ok((outbox as u64, groups))
}

fn group_status(
    row: &SqliteRow,
    holder: impl Fn(&str) -> Option<String>,
) -> sqlx::Result<GroupStatus> {
    let group: String = row.try_get("consumer_group")?;
    let count = |column: &str| row.try_get::<i64, _>(column).map(|count| count as u64);
    let oldest: Option<i64> = row.try_get("oldest_due")?;
    Ok(GroupStatus {
        lock_key: row.try_get("lock_key")?,
        lock_holder: holder(&group),
        destinations: list(row.try_get("destinations")?),
        event_types: list(row.try_get("event_types")?),
        undrained: count("undrained")?,
        due: count("due")?,
        delayed: count("delayed")?,
        in_flight: count("in_flight")?,
        suspects: count("suspects")?,
        dead_letters: count("dead_letters")?,
        oldest_due_seconds: oldest.map(|millis| millis as f64 / 1000.0),
        last_drain_at: timestamp(row.try_get("updated_at")?),
        group,
    })
}

/// Removes the group; how many deliveries it still owed.
pub(in crate::adapters) async fn forget(database: &Database, group: &str) -> sqlx::Result<u64> {
    let mut tx = database.begin().await?;
    let owed = sqlx::query("DELETE FROM bus_deliveries WHERE consumer_group = ?1")
        .bind(group)
        .execute(&mut *tx)
        .await?;
    sqlx::query("DELETE FROM bus_offsets WHERE consumer_group = ?1")
        .bind(group)
        .execute(&mut *tx)
        .await?;
    tx.commit().await?;
    Ok(owed.rows_affected())
}

fn list(json: &str) -> Vec<String> {
    serde_json::from_str(json).unwrap_or_default()
}

fn union(old: &[String], new: &[String]) -> Vec<String> {
    let mut all = old.to_vec();
    all.extend(new.iter().filter(|item| !old.contains(item)).cloned());
    all
}
