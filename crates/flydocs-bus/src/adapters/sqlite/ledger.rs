//! One member's book in a SQLite file.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use lockfn::LockFile;
use serde_json::json;
use sqlx::{Row as _, sqlite::SqliteRow};
use uuid::Uuid;

use super::{bell::Bell, sql};
use crate::{
    error::{Error, Result, while_doing},
    event::{Delivery, Ticket},
    ledger::{Ask, Drained, Failed, Ledger, Pass},
    options::Options,
    signal::Signal,
    sqlite::Database,
};

/// A look at the file costs microseconds.
const LONGEST_POLL: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct SqliteLedger {
    pub(super) database: Database,
    pub(super) group: String,
    /// Unique for this member: what it holds can be given back as a whole.
    pub(super) claimed_by: String,
    /// JSON array of the types that this process handles.
    pub(super) event_types: String,
    pub(super) lock: LockFile,
    pub(super) bell: Arc<Bell>,
    pub(super) signal: Signal,
    pub(super) options: Options,
}

impl SqliteLedger {
    fn failed(&self, operation: &'static str) -> impl FnOnce(sqlx::Error) -> Error + use<> {
        while_doing(operation, format!("group {}", self.group))
    }

    async fn look(&self) -> Result<(bool, Drained)> {
        let row = sqlx::query(sql::LOOK)
            .bind(&self.group)
            .fetch_optional(&self.database.reader)
            .await
            .map_err(self.failed("look for events"))?
            .ok_or_else(|| Error::Schema {
                detail: format!("the group {} is not registered any more", self.group),
            })?;
        let read = |row: &SqliteRow| -> sqlx::Result<(bool, Drained)> {
            Ok((
                row.try_get("undrained")?,
                Drained {
                    due: row.try_get("due")?,
                    suspects: row.try_get("suspects")?,
                    next_due: row.try_get::<Option<i64>, _>("next_due")?.map(millis),
                    ..Drained::default()
                },
            ))
        };
        read(&row).map_err(self.failed("look for events"))
    }

    /// One pass under the group's lock: milliseconds, no handler.
    async fn pass(&self) -> Result<Drained> {
        let guard = self.lock.try_lock().map_err(|source| Error::Lock {
            path: self.lock.path().to_owned(),
            source,
        })?;
        let Some(_guard) = guard else {
            return Ok(Drained {
                outcome: Pass::Lost,
                ..Drained::default()
            });
        };
        let (moved, full) = self
            .move_batch()
            .await
            .map_err(self.failed("hand events to the group"))?;
        Ok(Drained {
            outcome: Pass::Won,
            moved,
            full,
            ..Drained::default()
        })
    }

    async fn move_batch(&self) -> sqlx::Result<(u32, bool)> {
        let batch = i64::from(self.options.drain_batch.max(1));
        let mut tx = self.database.begin().await?;
        let (last, ids): (Option<i64>, i64) = sqlx::query_as(sql::BATCH)
            .bind(&self.group)
            .bind(batch)
            .fetch_one(&mut *tx)
            .await?;
        let Some(last) = last else {
            return Ok((0, false));
        };
        let moved = sqlx::query(sql::DRAIN)
            .bind(&self.group)
            .bind(last)
            .execute(&mut *tx)
            .await?;
        sqlx::query(sql::ADVANCE)
            .bind(&self.group)
            .bind(last)
            .execute(&mut *tx)
            .await?;
        tx.commit().await?;
        Ok((moved.rows_affected() as u32, ids == batch))
    }

    fn delivery(&self, row: &SqliteRow, token: Uuid) -> Result<Delivery> {
        let failed = || self.failed("read a delivery");
        let outbox_id: i64 = row.try_get("outbox_id").map_err(failed())?;
        let text = |column: &str| row.try_get::<String, _>(column).map_err(failed());
        let number = |column: &str| row.try_get::<i64, _>(column).map_err(failed());
        let unreadable = |what: &'static str| {
            move |source: Box<dyn std::error::Error + Send + Sync>| Error::Decode {
                what,
                subject: format!("event {outbox_id}"),
                source,
            }
        };
        Ok(Delivery {
            ticket: Ticket { outbox_id, token },
            event_id: text("event_id")?
                .parse()
                .map_err(|e| unreadable("event_id")(Box::new(e)))?,
            destination: text("destination")?,
            event_type: text("event_type")?,
            payload: text("payload")?,
            headers: serde_json::from_str(&text("headers")?)
                .map_err(|e| unreadable("headers")(Box::new(e)))?,
            ordering_key: row.try_get("ordering_key").map_err(failed())?,
            attempts: number("attempts")? as u32,
            failures: number("failures")? as u32,
            published_at: timestamp(number("created_at")?),
            available_at: timestamp(number("available_at")?),
        })
    }

    async fn lease(&self, ask: Ask, token: &str) -> sqlx::Result<Vec<SqliteRow>> {
        let mut tx = self.database.begin().await?;
        let claimed = sqlx::query(sql::CLAIM)
            .bind(&self.group)
            .bind(ask.limit as i64)
            .bind(self.options.lease.as_millis() as i64)
            .bind(token)
            .bind(&self.claimed_by)
            .bind(i64::from(self.options.max_unsettled))
            .bind(ask.suspects)
            .bind(&self.event_types)
            .execute(&mut *tx)
            .await?;
        if claimed.rows_affected() == 0 {
            return Ok(Vec::new());
        }
        let rows = sqlx::query(sql::CLAIMED)
            .bind(&self.group)
            .bind(token)
            .fetch_all(&mut *tx)
            .await?;
        tx.commit().await?;
        Ok(rows)
    }

    async fn fail(
        &self,
        ticket: &Ticket,
        delay: Option<Duration>,
        error: &str,
    ) -> sqlx::Result<Failed> {
        let held = pairs(std::slice::from_ref(ticket));
        let mut tx = self.database.begin().await?;
        let failures: Option<i64> = sqlx::query_scalar(sql::FAILURES)
            .bind(&self.group)
            .bind(&held)
            .fetch_optional(&mut *tx)
            .await?;
        let Some(failures) = failures.map(|before| before as u32 + 1) else {
            return Ok(Failed::Lost);
        };
        if failures >= self.options.max_failures {
            self.keep_letter(&mut tx, &held, "handler failed", error)
                .await?;
            tx.commit().await?;
            return Ok(Failed::DeadLettered);
        }
        let (delay, jitter) = self.options.pause_after(failures, delay);
        sqlx::query(sql::RETRY)
            .bind(&self.group)
            .bind(&held)
            .bind(delay.as_millis() as i64)
            .bind(jitter.as_millis() as i64)
            .bind(error)
            .execute(&mut *tx)
            .await?;
        tx.commit().await?;
        Ok(Failed::Again)
    }

    async fn give_up(&self, ticket: &Ticket, reason: &str, error: &str) -> sqlx::Result<bool> {
        let mut tx = self.database.begin().await?;
        let held = pairs(std::slice::from_ref(ticket));
        let kept = self.keep_letter(&mut tx, &held, reason, error).await?;
        tx.commit().await?;
        Ok(kept)
    }

    async fn keep_letter(
        &self,
        conn: &mut sqlx::SqliteConnection,
        held: &str,
        reason: &str,
        error: &str,
    ) -> sqlx::Result<bool> {
        sqlx::query(sql::KEEP_LETTER)
            .bind(&self.group)
            .bind(held)
            .bind(reason)
            .bind(error)
            .execute(&mut *conn)
            .await?;
        let settled = sqlx::query(sql::DONE)
            .bind(&self.group)
            .bind(held)
            .fetch_all(conn)
            .await?;
        Ok(!settled.is_empty())
    }

    async fn bury_all(&self) -> sqlx::Result<u64> {
        let most = i64::from(self.options.max_unsettled);
        let mut tx = self.database.begin().await?;
        sqlx::query(sql::BURY)
            .bind(&self.group)
            .bind(most)
            .execute(&mut *tx)
            .await?;
        let buried = sqlx::query(sql::BURIED)
            .bind(&self.group)
            .bind(most)
            .execute(&mut *tx)
            .await?;
        tx.commit().await?;
        Ok(buried.rows_affected())
    }
}

#[async_trait]
impl Ledger for SqliteLedger {
    async fn drain(&self) -> Result<Drained> {
        let (undrained, found) = self.look().await?;
        if !undrained {
            return Ok(found);
        }
        let pass = self.pass().await?;
        let (_, after) = self.look().await?;
        Ok(Drained {
            outcome: pass.outcome,
            moved: pass.moved,
            full: pass.full,
            ..after
        })
    }

    async fn bury(&self) -> Result<u64> {
        self.bury_all().await.map_err(self.failed("bury events"))
    }

    async fn claim(&self, ask: Ask) -> Result<Vec<Delivery>> {
        let token = ask.token.simple().to_string();
        let rows = self
            .lease(ask, &token)
            .await
            .map_err(self.failed("claim deliveries"))?;
        rows.iter()
            .map(|row| self.delivery(row, ask.token))
            .collect()
    }

    async fn beat(&self, held: &[Ticket]) -> Result<Vec<Ticket>> {
        let rows = sqlx::query(sql::BEAT)
            .bind(&self.group)
            .bind(pairs(held))
            .bind(self.options.lease.as_millis() as i64)
            .fetch_all(&self.database.writer)
            .await
            .map_err(self.failed("renew leases"))?;
        tickets(&rows).map_err(self.failed("renew leases"))
    }

    async fn done(&self, held: &[Ticket]) -> Result<Vec<Ticket>> {
        let rows = sqlx::query(sql::DONE)
            .bind(&self.group)
            .bind(pairs(held))
            .fetch_all(&self.database.writer)
            .await
            .map_err(self.failed("settle deliveries"))?;
        tickets(&rows).map_err(self.failed("settle deliveries"))
    }

    async fn retry(&self, ticket: &Ticket, delay: Option<Duration>, error: &str) -> Result<Failed> {
        self.fail(ticket, delay, error)
            .await
            .map_err(self.failed("count a failure"))
    }

    async fn defer(&self, ticket: &Ticket, delay: Duration) -> Result<bool> {
        let given = sqlx::query(sql::DEFER)
            .bind(&self.group)
            .bind(pairs(std::slice::from_ref(ticket)))
            .bind(delay.as_millis() as i64)
            .execute(&self.database.writer)
            .await
            .map_err(self.failed("give a delivery back"))?;
        Ok(given.rows_affected() > 0)
    }

    async fn dead_letter(&self, ticket: &Ticket, reason: &str, error: &str) -> Result<bool> {
        self.give_up(ticket, reason, error)
            .await
            .map_err(self.failed("keep a dead letter"))
    }

    async fn leave(&self) -> Result<u64> {
        let back = sqlx::query(sql::LEAVE)
            .bind(&self.group)
            .bind(&self.claimed_by)
            .execute(&self.database.writer)
            .await
            .map_err(self.failed("give deliveries back"))?;
        Ok(back.rows_affected())
    }

    fn tell_others(&self) {
        self.signal.ring();
        self.bell.ring();
    }

    fn poll(&self) -> Duration {
        self.options.poll.min(LONGEST_POLL)
    }
}

/// Tickets as the statements take them.
fn pairs(tickets: &[Ticket]) -> String {
    tickets
        .iter()
        .map(|ticket| json!([ticket.outbox_id, ticket.token.simple().to_string()]))
        .collect::<serde_json::Value>()
        .to_string()
}

fn tickets(rows: &[SqliteRow]) -> sqlx::Result<Vec<Ticket>> {
    rows.iter()
        .map(|row| {
            let token: String = row.try_get(1)?;
            let token = token
                .parse()
                .map_err(|e| sqlx::Error::Decode(Box::new(e)))?;
            Ok(Ticket {
                outbox_id: row.try_get(0)?,
                token,
            })
        })
        .collect()
}

fn millis(millis: i64) -> Duration {
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}

pub(super) fn timestamp(millis: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(millis).unwrap_or_default()
}
