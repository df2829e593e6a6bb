//! What ties the queue to the outbox: reading new events, remembering what is settled, keeping dead letters.

use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use sqlx::{Row as _, SqliteConnection, sqlite::SqliteRow};
use tokio::time::Instant;
use uuid::Uuid;

use crate::{
    adapters::queue::{Entry, Queue, ledger::Feed},
    error::{Result, while_doing},
    event::{Delivery, Ticket},
    options::Options,
    sqlite::Database,
};

/// The outbox as the feed of the queues.
#[derive(Debug)]
pub(super) struct OutboxFeed {
    pub(super) database: Database,
    pub(super) options: Options,
}

#[async_trait]
impl Feed for OutboxFeed {
    async fn fill(&self, queue: &Queue) -> Result<(u32, bool)> {
        let capacity = self.options.memory_capacity as usize;
        fill(&self.database, queue, capacity, self.options.drain_batch)
            .await
            .map_err(while_doing("hand events to the group", &queue.group))
    }

    async fn settled(&self, queue: &Queue, entry: &Entry) -> Result<()> {
        settled(&self.database, queue, entry)
            .await
            .map_err(while_doing("settle deliveries", &queue.group))
    }

    async fn keep_letter(
        &self,
        queue: &Queue,
        delivery: &Delivery,
        reason: &str,
        error: Option<&str>,
    ) -> Result<()> {
        let keep = async {
            let mut conn = self.database.writer.acquire().await?;
            keep_letter(&mut conn, queue, delivery, reason, error).await
        };
        keep.await
            .map_err(while_doing("keep a dead letter", &queue.group))
    }
}

macro_rules! event_columns {
    () => {
        "o.id, o.event_id, o.destination, o.event_type, o.payload, o.headers, o.ordering_key, o.created_at,
         o.available_at"
    };
}

/// The next ids, wanted or not: the cursor moves over all of them.
const READ: &str = concat!(
    "SELECT ",
    event_columns!(),
    ", o.available_at - ",
    now!(),
    " AS wait, 0 AS attempts, 0 AS failures,
  o.destination IN (SELECT value FROM json_each(f.destinations))
  AND o.event_type IN (SELECT value FROM json_each(f.event_types))
  AND (o.only_group IS NULL OR o.only_group = f.consumer_group) AS wanted
FROM bus_offsets f JOIN bus_outbox o ON o.id > ?2
WHERE f.consumer_group = ?1 ORDER BY o.id LIMIT ?3"
);

/// What a registration, or another adapter before, left in the table.
const READ_TABLE: &str = concat!(
    "SELECT ",
    event_columns!(),
    ", d.visible_at - ",
    now!(),
    " AS wait, d.attempts, d.failures, 1 AS wanted
FROM bus_deliveries d JOIN bus_outbox o ON o.id = d.outbox_id
WHERE d.consumer_group = ?1 AND d.outbox_id > ?2 ORDER BY d.outbox_id LIMIT ?3"
);

const SAVE: &str = concat!(
    "UPDATE bus_offsets SET last_event_id = max(last_event_id, ?2), updated_at = ",
    now!(),
    "
WHERE consumer_group = ?1"
);

const FORGET: &str = "DELETE FROM bus_deliveries WHERE consumer_group = ?1 AND outbox_id = ?2";

const KEEP_LETTER: &str = concat!(
    "INSERT INTO bus_dead_letters (consumer_group, outbox_id, event_id, destination, event_type, payload,
  headers, ordering_key, attempts, reason, error, failed_at)
SELECT ?1, o.id, o.event_id, o.destination, o.event_type, o.payload,
  o.headers, o.ordering_key, ?3, ?4, substr(?5, 1, 4000), ", now!(), "
FROM bus_outbox o WHERE o.id = ?2
ON CONFLICT (consumer_group, outbox_id) DO NOTHING"
);

const UNREAD: &str = "
SELECT count(*) FROM bus_offsets f JOIN bus_outbox o ON o.id > ?2
WHERE f.consumer_group = ?1
  AND o.destination IN (SELECT value FROM json_each(f.destinations))
  AND o.event_type IN (SELECT value FROM json_each(f.event_types))
  AND (o.only_group IS NULL OR o.only_group = f.consumer_group)";

/// How many events the group wants that were not read yet.
pub(super) async fn unread(database: &Database, group: &str, read: i64) -> sqlx::Result<u64> {
    let count: i64 = sqlx::query_scalar(UNREAD)
        .bind(group)
        .bind(read)
        .fetch_one(&database.reader)
        .await?;
    Ok(count as u64)
}

/// Reads as much as there is room for; how many events came and whether there may be more.
async fn fill(
    database: &Database,
    queue: &Queue,
    capacity: usize,
    batch: u32,
) -> sqlx::Result<(u32, bool)> {
    let (from_table, more_in_table) = read(database, queue, capacity, batch, Source::Table).await?;
    let (from_outbox, more) = read(database, queue, capacity, batch, Source::Outbox).await?;
    save(database, queue).await?;
    Ok((from_table + from_outbox, more_in_table || more))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Table,
    Outbox,
}

async fn read(
    database: &Database,
    queue: &Queue,
    capacity: usize,
    batch: u32,
    source: Source,
) -> sqlx::Result<(u32, bool)> {
    let (after, room) = {
        let state = queue.lock();
        let after = if source == Source::Table {
            state.table_read
        } else {
            state.read
        };
        (
            after,
            capacity
                .saturating_sub(state.entries.len())
                .min(batch as usize),
        )
    };
    if room == 0 {
        return Ok((0, false));
    }
    let rows = sqlx::query(if source == Source::Table {
        READ_TABLE
    } else {
        READ
    })
    .bind(&queue.group)
    .bind(after)
    .bind(room as i64)
    .fetch_all(&database.reader)
    .await?;
    let now = Instant::now();
    let mut moved = 0;
    let mut state = queue.lock();
    for row in &rows {
        let id: i64 = row.try_get("id")?;
        match source {
            Source::Table => state.table_read = id,
            Source::Outbox => state.read = id,
        }
        if row.try_get("wanted")? && !state.entries.contains_key(&id) {
            state
                .entries
                .insert(id, entry(row, now, source == Source::Table)?);
            moved += 1;
        }
    }
    Ok((moved, rows.len() == room))
}

fn entry(row: &SqliteRow, now: Instant, in_table: bool) -> sqlx::Result<Entry> {
    let event_id: String = row.try_get("event_id")?;
    let headers: String = row.try_get("headers")?;
    let wait: i64 = row.try_get("wait")?;
    let decode = |error: Box<dyn std::error::Error + Send + Sync>| sqlx::Error::Decode(error);
    let delivery = Delivery {
        ticket: Ticket {
            outbox_id: row.try_get("id")?,
            token: Uuid::nil(),
        },
        event_id: event_id.parse().map_err(|e| decode(Box::new(e)))?,
        destination: row.try_get("destination")?,
        event_type: row.try_get("event_type")?,
        payload: row.try_get("payload")?,
        headers: serde_json::from_str(&headers).map_err(|e| decode(Box::new(e)))?,
        ordering_key: row.try_get("ordering_key")?,
        attempts: row.try_get::<i64, _>("attempts")? as u32,
        failures: row.try_get::<i64, _>("failures")? as u32,
        published_at: timestamp(row.try_get("created_at")?),
        available_at: timestamp(row.try_get("available_at")?),
    };
    Ok(Entry {
        delivery,
        visible: now + Duration::from_millis(u64::try_from(wait).unwrap_or(0)),
        holder: None,
        claimed_by: String::new(),
        last_error: None,
        in_table,
    })
}

fn timestamp(millis: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(millis).unwrap_or_default()
}

/// Remembers up to where everything is settled, when that moved.
async fn save(database: &Database, queue: &Queue) -> sqlx::Result<()> {
    let settled = {
        let state = queue.lock();
        let settled = state.settled_up_to();
        if settled <= state.saved {
            return Ok(());
        }
        settled
    };
    sqlx::query(SAVE)
        .bind(&queue.group)
        .bind(settled)
        .execute(&database.writer)
        .await?;
    let mut state = queue.lock();
    state.saved = state.saved.max(settled);
    Ok(())
}

/// The event is settled: its row of the table goes, and the mark moves.
async fn settled(database: &Database, queue: &Queue, entry: &Entry) -> sqlx::Result<()> {
    if entry.in_table {
        sqlx::query(FORGET)
            .bind(&queue.group)
            .bind(entry.delivery.ticket.outbox_id)
            .execute(&database.writer)
            .await?;
    }
    save(database, queue).await
}

/// Keeps the event as a dead letter.
async fn keep_letter(
    conn: &mut SqliteConnection,
    queue: &Queue,
    delivery: &Delivery,
    reason: &str,
    error: Option<&str>,
) -> sqlx::Result<()> {
    sqlx::query(KEEP_LETTER)
        .bind(&queue.group)
        .bind(delivery.ticket.outbox_id)
        .bind(i64::from(delivery.attempts))
        .bind(reason)
        .bind(error)
        .execute(conn)
        .await?;
    Ok(())
}
