//! One member's book on a PostgreSQL server.

use std::{collections::HashSet, sync::Arc, time::Duration};

use async_trait::async_trait;
use sqlx::{Row as _, postgres::PgRow};
use tracing::warn;
use uuid::Uuid;

use super::{notify::Notifier, session::Server, sql};
use crate::{
    error::{Error, Result, while_doing},
    event::{Delivery, Ticket},
    ledger::{Ask, Drained, Failed, Ledger, Pass},
    options::Options,
    signal::Signal,
};

#[derive(Debug)]
pub(super) struct PostgresLedger {
    pub(super) server: Server,
    pub(super) group: String,
    pub(super) destinations: Vec<String>,
    /// Unique for this member: what it holds can be given back as a whole.
    pub(super) claimed_by: String,
    pub(super) event_types: Vec<String>,
    pub(super) notifier: Arc<Notifier>,
    pub(super) signal: Signal,
    pub(super) options: Options,
}

impl PostgresLedger {
    fn failed(&self, operation: &'static str) -> impl FnOnce(sqlx::Error) -> Error + use<> {
        while_doing(operation, format!("group {}", self.group))
    }

    async fn pass(&self) -> sqlx::Result<Option<(Drained, bool)>> {
        let query = self
            .server
            .query(sql::DRAIN)
            .bind(self.group.clone())
            .bind(self.options.drain_batch.max(1) as i32);
        let row = self.server.fetch_one(query).await?;
        let Some(won) = row.try_get::<Option<bool>, _>("won")? else {
            return Ok(None);
        };
        let next_due: Option<f64> = row.try_get("next_due")?;
        let drained = Drained {
            outcome: if won { Pass::Won } else { Pass::Lost },
            moved: row.try_get::<i32, _>("moved")? as u32,
            full: row.try_get("is_full")?,
            due: row.try_get("due")?,
            suspects: row.try_get("suspects")?,
            next_due: next_due.map(|seconds| Duration::from_secs_f64(seconds.clamp(0.0, 1e9))),
        };
        Ok(Some((drained, row.try_get("epoch_broken")?)))
    }

    async fn repair_epoch(&self) -> Result<()> {
        let query = self.server.query("SELECT bus.repair_epoch()");
        let row = self
            .server
            .fetch_one(query)
            .await
            .map_err(self.failed("repair transaction ids"))?;
        if row
            .try_get(0)
            .map_err(self.failed("repair transaction ids"))?
        {
            warn!(bus.group = %self.group,
                "the bus holds transaction ids of another server (a restored dump?); repaired them");
        }
        Ok(())
    }

    async fn lease(&self, ask: Ask) -> sqlx::Result<Vec<PgRow>> {
        let query = self
            .server
            .query(sql::CLAIM)
            .bind(self.group.clone())
            .bind(i32::try_from(ask.limit).unwrap_or(i32::MAX))
            .bind(self.options.lease.as_secs_f64())
            .bind(ask.token)
            .bind(self.claimed_by.clone())
            .bind(self.options.max_unsettled as i32)
            .bind(ask.suspects)
            .bind(self.event_types.clone());
        self.server.fetch_all(query).await
    }

    async fn settle(&self, held: &[Ticket]) -> sqlx::Result<Vec<Ticket>> {
        let (ids, tokens) = columns(held);
        let query = self
            .server
            .query(sql::SETTLE)
            .bind(self.group.clone())
            .bind(ids)
            .bind(tokens);
        still_held(held, &self.server.fetch_all(query).await?)
    }

    async fn renew(&self, held: &[Ticket]) -> sqlx::Result<Vec<Ticket>> {
        let (ids, tokens) = columns(held);
        let query = self
            .server
            .query(sql::BEAT)
            .bind(self.group.clone())
            .bind(ids)
            .bind(tokens)
            .bind(self.options.lease.as_secs_f64());
        let rows = self.server.fetch_all(query).await?;
        rows.iter()
            .map(|row| {
                Ok(Ticket {
                    outbox_id: row.try_get(0)?,
                    token: row.try_get(1)?,
                })
            })
            .collect()
    }

    async fn fail(
        &self,
        ticket: &Ticket,
        delay: Option<Duration>,
        error: &str,
    ) -> sqlx::Result<Failed> {
        let mut tx = self.server.transaction().await?;
        let held = self
            .server
            .query(sql::FAILURES)
            .bind(self.group.clone())
            .bind(ticket.outbox_id)
            .bind(ticket.token)
            .fetch_optional(&mut *tx)
            .await?;
        let Some(row) = held else {
            return Ok(Failed::Lost);
        };
        let failures = row.try_get::<i32, _>(0)? as u32 + 1;
        if failures >= self.options.max_failures {
            self.give_up(&mut tx, ticket, "handler failed", error)
                .await?;
            tx.commit().await?;
            return Ok(Failed::DeadLettered);
        }
        let (delay, jitter) = self.options.pause_after(failures, delay);
        self.server
            .query(sql::RETRY)
            .bind(self.group.clone())
            .bind(ticket.outbox_id)
            .bind(ticket.token)
            .bind(delay.as_secs_f64())
            .bind(jitter.as_secs_f64())
            .bind(error.to_owned())
            .execute(&mut *tx)
            .await?;
        tx.commit().await?;
        Ok(Failed::Again)
    }

    async fn give_up(
        &self,
        conn: &mut sqlx::PgConnection,
        ticket: &Ticket,
        reason: &str,
        error: &str,
    ) -> sqlx::Result<bool> {
        let row = self
            .server
            .query(sql::DEAD_LETTER)
            .bind(self.group.clone())
            .bind(ticket.outbox_id)
            .bind(ticket.token)
            .bind(reason.to_owned())
            .bind(error.to_owned())
            .fetch_one(conn)
            .await?;
        Ok(row.try_get::<i64, _>(0)? > 0)
    }

    async fn keep_letter(&self, ticket: &Ticket, reason: &str, error: &str) -> sqlx::Result<bool> {
        let mut session = self.server.session().await?;
        let kept = self.give_up(&mut session, ticket, reason, error).await?;
        session.finish().await?;
        Ok(kept)
    }
}

#[async_trait]
impl Ledger for PostgresLedger {
    async fn drain(&self) -> Result<Drained> {
        let pass = self
            .pass()
            .await
            .map_err(self.failed("hand events to the group"))?;
        let Some((drained, epoch_broken)) = pass else {
            return Err(Error::Schema {
                detail: format!("the group {} is not registered any more", self.group),
            });
        };
        if epoch_broken {
            self.repair_epoch().await?;
        }
        Ok(drained)
    }

    async fn bury(&self) -> Result<u64> {
        let query = self
            .server
            .query(sql::BURY)
            .bind(self.group.clone())
            .bind(self.options.max_unsettled as i32);
        self.server
            .execute(query)
            .await
            .map_err(self.failed("bury events"))
    }

    async fn claim(&self, ask: Ask) -> Result<Vec<Delivery>> {
        let rows = self
            .lease(ask)
            .await
            .map_err(self.failed("claim deliveries"))?;
        let mut deliveries = rows
            .iter()
            .map(|row| delivery(row, ask.token).map_err(self.failed("read a delivery")))
            .collect::<Result<Vec<_>>>()?;
        deliveries.sort_unstable_by_key(|delivery| delivery.ticket.outbox_id);
        Ok(deliveries)
    }

    async fn beat(&self, held: &[Ticket]) -> Result<Vec<Ticket>> {
        self.renew(held).await.map_err(self.failed("renew leases"))
    }

    async fn done(&self, held: &[Ticket]) -> Result<Vec<Ticket>> {
        self.settle(held)
            .await
            .map_err(self.failed("settle deliveries"))
    }

    async fn retry(&self, ticket: &Ticket, delay: Option<Duration>, error: &str) -> Result<Failed> {
        self.fail(ticket, delay, error)
            .await
            .map_err(self.failed("count a failure"))
    }

    async fn defer(&self, ticket: &Ticket, delay: Duration) -> Result<bool> {
        let query = self
            .server
            .query(sql::DEFER)
            .bind(self.group.clone())
            .bind(ticket.outbox_id)
            .bind(ticket.token)
            .bind(delay.as_secs_f64());
        let given = self
            .server
            .execute(query)
            .await
            .map_err(self.failed("give a delivery back"))?;
        Ok(given > 0)
    }

    async fn dead_letter(&self, ticket: &Ticket, reason: &str, error: &str) -> Result<bool> {
        self.keep_letter(ticket, reason, error)
            .await
            .map_err(self.failed("keep a dead letter"))
    }

    async fn leave(&self) -> Result<u64> {
        let query = self
            .server
            .query(sql::LEAVE)
            .bind(self.group.clone())
            .bind(self.claimed_by.clone());
        self.server
            .execute(query)
            .await
            .map_err(self.failed("give deliveries back"))
    }

    fn tell_others(&self) {
        self.signal.ring();
        for destination in &self.destinations {
            self.notifier.notify(destination);
        }
    }

    fn poll(&self) -> Duration {
        if self.notifier.listening() {
            self.options.poll
        } else {
            self.options.poll.min(self.options.poll_only)
        }
    }
}

fn columns(held: &[Ticket]) -> (Vec<i64>, Vec<Uuid>) {
    held.iter()
        .map(|ticket| (ticket.outbox_id, ticket.token))
        .unzip()
}

/// The tickets of the events in the answer.
fn still_held(asked: &[Ticket], rows: &[PgRow]) -> sqlx::Result<Vec<Ticket>> {
    let ids = rows
        .iter()
        .map(|row| row.try_get(0))
        .collect::<sqlx::Result<HashSet<i64>>>()?;
    Ok(asked
        .iter()
        .filter(|ticket| ids.contains(&ticket.outbox_id))
        .cloned()
        .collect())
}

fn delivery(row: &PgRow, token: Uuid) -> sqlx::Result<Delivery> {
    let headers: String = row.try_get("headers")?;
    Ok(Delivery {
        ticket: Ticket {
            outbox_id: row.try_get("outbox_id")?,
            token,
        },
        event_id: row.try_get("event_id")?,
        destination: row.try_get("destination")?,
        event_type: row.try_get("event_type")?,
        payload: row.try_get("payload")?,
        headers: serde_json::from_str(&headers).map_err(|e| sqlx::Error::Decode(Box::new(e)))?,
        ordering_key: row.try_get("ordering_key")?,
        attempts: row.try_get::<i32, _>("attempts")? as u32,
        failures: row.try_get::<i32, _>("failures")? as u32,
        published_at: row.try_get("created_at")?,
        available_at: row.try_get("available_at")?,
    })
}
