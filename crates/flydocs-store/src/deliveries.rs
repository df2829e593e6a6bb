//! Webhook deliveries: claim what is due, settle it, send it again. The rows are written by the transitions.

use std::time::Duration;

use chrono::{DateTime, Utc};
use flydocs_contract::ExtractionId;
use uuid::Uuid;

use crate::{
    dialect::{Dialect, Sql},
    error::{During as _, Result},
    extractions::claim::until,
    record::{corrupt, parse_id},
    sql_store::SqlStore,
    transition::without_nul,
    webhook::{
        ANSWER_LIMIT, AfterAttempt, AttemptReport, Delivery, DeliveryAttempt, DeliveryClaim,
        DeliveryStatus, DeliveryToken, DueDelivery,
    },
};

pub(crate) const CLAIM: Sql = sql!(
    "WITH due AS MATERIALIZED (
         SELECT event_id FROM webhook_deliveries
         WHERE status = 'pending' AND next_attempt_at <= " now "
           AND NOT (" (one_of "receiver" "$3") ")
         ORDER BY next_attempt_at, event_id LIMIT $4 " skip_locked ")
     UPDATE webhook_deliveries
     SET claimed_by = $1, next_attempt_at = " (after "$2") ", attempts = attempts + 1, fence = fence + 1
     WHERE event_id IN (SELECT event_id FROM due)
     RETURNING event_id, extraction_id, event_type, url, " (text "correlation") ", attempts, attempts_before, fence,
               " (seconds_until "round_started_at") " AS started_in, body"
);

pub(crate) const SETTLE: Sql = sql!(
    "UPDATE webhook_deliveries
     SET status = $4, claimed_by = NULL,
         next_attempt_at = CASE WHEN $4 = 'pending' THEN " (after "$5") " END,
         finished_at = CASE WHEN $4 <> 'pending' THEN " now " END
     WHERE event_id = $1 AND attempts = $2 AND fence = $3 AND status = 'pending' AND claimed_by IS NOT NULL
     RETURNING extraction_id"
);

pub(crate) const LOG: Sql = sql!(
    "INSERT INTO webhook_attempts (event_id, attempt, at, status_code, duration_ms, error, answer)
     VALUES ($1, $2, " now ", $3, $4, $5, $6)
     ON CONFLICT (event_id, attempt) DO NOTHING"
);

pub(crate) const GIVE_BACK: Sql = sql!(
    "UPDATE webhook_deliveries
     SET claimed_by = NULL, next_attempt_at = " now ", attempts = attempts - 1, fence = fence + 1
     WHERE event_id = $1 AND attempts = $2 AND fence = $3 AND status = 'pending' AND claimed_by IS NOT NULL"
);

pub(crate) const KEEP: Sql = sql!(
    "UPDATE webhook_deliveries SET next_attempt_at = " (after "$4") "
     WHERE event_id = $1 AND attempts = $2 AND fence = $3 AND status = 'pending' AND claimed_by IS NOT NULL"
);

/// An attempt under way is not disturbed: it *is* what was asked for.
pub(crate) const AGAIN: Sql = sql!(
    "UPDATE webhook_deliveries
     SET status = 'pending', claimed_by = NULL, next_attempt_at = " now ", finished_at = NULL,
         attempts_before = attempts, round_started_at = " now ", fence = fence + 1
     WHERE event_id = $1 AND (status <> 'pending' OR claimed_by IS NULL)
       AND EXISTS (SELECT 1 FROM extractions e
                   WHERE e.id = extraction_id AND ($2 IS NULL OR e.tenant_id = $2))"
);

pub(crate) const OF_EXTRACTION: Sql = sql!(
    "SELECT event_id, extraction_id, event_type, url, status, attempts, created_at, next_attempt_at, finished_at
     FROM webhook_deliveries WHERE extraction_id = $1 ORDER BY created_at, event_id"
);

pub(crate) const BY_EVENT: Sql = sql!(
    "SELECT event_id, extraction_id, event_type, url, status, attempts, created_at, next_attempt_at, finished_at
     FROM webhook_deliveries
     WHERE event_id = $1
       AND EXISTS (SELECT 1 FROM extractions e
                   WHERE e.id = extraction_id AND ($2 IS NULL OR e.tenant_id = $2))"
);

pub(crate) const ATTEMPTS: Sql = sql!(
    "SELECT attempt, at, status_code, duration_ms, error, answer FROM webhook_attempts
     WHERE event_id = $1 ORDER BY attempt"
);

pub(crate) const NEXT: Sql = sql!(
    "SELECT " (seconds_until "SELECT min(next_attempt_at) FROM webhook_deliveries WHERE status = 'pending'")
);

#[derive(sqlx::FromRow)]
struct DueRow {
    event_id: String,
    extraction_id: String,
    event_type: String,
    url: String,
    correlation: String,
    attempts: i64,
    attempts_before: i64,
    fence: i64,
    started_in: f64,
    body: Vec<u8>,
}

#[derive(sqlx::FromRow)]
struct DeliveryRow {
    event_id: String,
    extraction_id: String,
    event_type: String,
    url: String,
    status: String,
    attempts: i64,
    created_at: DateTime<Utc>,
    next_attempt_at: Option<DateTime<Utc>>,
    finished_at: Option<DateTime<Utc>>,
}

type AttemptRow = (
    i64,
    DateTime<Utc>,
    Option<i64>,
    i64,
    Option<String>,
    Option<String>,
);

impl<D: Dialect> SqlStore<D> {
    pub(crate) async fn claim_deliveries(&self, claim: &DeliveryClaim) -> Result<Vec<DueDelivery>> {
        if claim.limit == 0 {
            return Ok(Vec::new());
        }
        let except = serde_json::Value::from(claim.except_receivers.clone()).to_string();
        let args = args![claim.worker.as_str(), claim.lease, except, claim.limit];
        let mut transition = self.transition().await?;
        let rows: Vec<DueRow> = transition
            .rows("claim webhook deliveries", &CLAIM, args)
            .await?;
        transition.commit_quietly().await?;
        let mut due = Vec::with_capacity(rows.len());
        for row in rows {
            due.push(DueDelivery {
                token: DeliveryToken {
                    event_id: parse_event_id(&row.event_id)?,
                    attempt: row.attempts as u32,
                    fence: row.fence as u64,
                },
                extraction_id: parse_id(&row.extraction_id)?,
                event_type: row
                    .event_type
                    .parse()
                    .map_err(corrupt(&row.event_id, "event_type"))?,
                correlation: serde_json::from_str(&row.correlation)
                    .map_err(corrupt(&row.event_id, "correlation"))?,
                url: row.url,
                body: row.body,
                attempt_of_round: (row.attempts - row.attempts_before) as u32,
                tried_for: Duration::try_from_secs_f64(-row.started_in).unwrap_or_default(),
            });
        }
        Ok(due)
    }

    pub(crate) async fn settle_delivery(
        &self,
        token: &DeliveryToken,
        report: &AttemptReport,
        after: AfterAttempt,
    ) -> Result<bool> {
        let (status, delay) = match after {
            AfterAttempt::Delivered => (DeliveryStatus::Delivered, Duration::ZERO),
            AfterAttempt::RetryIn(delay) => (DeliveryStatus::Pending, delay),
            AfterAttempt::GiveUp => (DeliveryStatus::Failed, Duration::ZERO),
        };
        let event_id = token.event_id.to_string();
        let args = args![
            event_id.as_str(),
            token.attempt,
            token.fence,
            status.as_str(),
            delay
        ];
        let mut transition = self.transition().await?;
        let settled: Option<(String,)> = transition
            .row("settle a webhook delivery", &SETTLE, args)
            .await?;
        let Some((extraction_id,)) = settled else {
            return Ok(false);
        };
        let args = vec![
            event_id.into(),
            token.attempt.into(),
            crate::dialect::Arg::OptionalInt(report.status_code.map(i64::from)),
            u64::try_from(report.duration.as_millis())
                .unwrap_or(u64::MAX)
                .into(),
            report.error.as_deref().map(without_nul).into(),
            report.answer.as_deref().map(beginning).into(),
        ];
        transition
            .execute("log a webhook attempt", &LOG, args)
            .await?;
        transition.commit_quietly().await?;
        self.committed(parse_id(&extraction_id)?, &[]);
        Ok(true)
    }

    pub(crate) async fn give_back_deliveries(&self, tokens: &[DeliveryToken]) -> Result<u64> {
        let mut transition = self.transition().await?;
        let mut given_back = 0;
        for token in tokens {
            let args = args![token.event_id.to_string(), token.attempt, token.fence];
            given_back += transition
                .execute("give back a webhook delivery", &GIVE_BACK, args)
                .await?;
        }
        transition.commit_quietly().await?;
        if given_back > 0 {
            self.deliveries_due();
        }
        Ok(given_back)
    }

    pub(crate) async fn keep_deliveries(
        &self,
        tokens: &[DeliveryToken],
        lease: Duration,
    ) -> Result<u64> {
        // In one order, as everybody else.
        let mut tokens = tokens.to_vec();
        tokens.sort_unstable_by_key(|token| token.event_id);
        let mut transition = self.transition().await?;
        let mut kept = 0;
        for token in tokens {
            let args = args![
                token.event_id.to_string(),
                token.attempt,
                token.fence,
                lease
            ];
            kept += transition
                .execute("keep a webhook delivery", &KEEP, args)
                .await?;
        }
        transition.commit_quietly().await?;
        Ok(kept)
    }

    pub(crate) async fn redeliver(
        &self,
        event_id: Uuid,
        tenant: Option<&str>,
    ) -> Result<Option<Delivery>> {
        let args = || args![event_id.to_string(), tenant];
        let mut transition = self.transition().await?;
        transition
            .execute("send a webhook again", &AGAIN, args())
            .await?;
        transition.commit_quietly().await?;
        self.deliveries_due();
        let rows = self
            .db
            .read::<DeliveryRow>(&BY_EVENT, args())
            .await
            .during("read a delivery")?;
        match rows.into_iter().next() {
            Some(row) => self.with_log(row).await.map(Some),
            None => Ok(None),
        }
    }

    pub(crate) async fn deliveries(
        &self,
        id: ExtractionId,
        tenant: Option<&str>,
    ) -> Result<Option<Vec<Delivery>>> {
        if self.get(id, tenant).await?.is_none() {
            return Ok(None);
        }
        let args = args![id.to_string()];
        let rows = self.db.read::<DeliveryRow>(&OF_EXTRACTION, args).await;
        let mut deliveries = Vec::new();
        for row in rows.during("read the deliveries of an extraction")? {
            deliveries.push(self.with_log(row).await?);
        }
        Ok(Some(deliveries))
    }

    pub(crate) async fn next_delivery_in(&self) -> Result<Option<Duration>> {
        let rows = self.db.read::<(Option<f64>,)>(&NEXT, Vec::new()).await;
        let rows = rows.during("look for the next delivery")?;
        Ok(rows
            .into_iter()
            .next()
            .and_then(|(seconds,)| seconds)
            .map(|s| until(Some(s))))
    }

    async fn with_log(&self, row: DeliveryRow) -> Result<Delivery> {
        let args = args![row.event_id.as_str()];
        let attempts = self
            .db
            .read::<AttemptRow>(&ATTEMPTS, args)
            .await
            .during("read a log")?;
        Ok(Delivery {
            event_id: parse_event_id(&row.event_id)?,
            extraction_id: parse_id(&row.extraction_id)?,
            event_type: row
                .event_type
                .parse()
                .map_err(corrupt(&row.event_id, "event_type"))?,
            status: row
                .status
                .parse()
                .map_err(corrupt(&row.event_id, "status"))?,
            url: row.url,
            attempts: row.attempts as u32,
            created_at: row.created_at,
            next_attempt_at: row.next_attempt_at,
            finished_at: row.finished_at,
            log: attempts
                .into_iter()
                .map(
                    |(attempt, at, status_code, duration_ms, error, answer)| DeliveryAttempt {
                        attempt: attempt as u32,
                        at,
                        status_code: status_code.map(|code| code as u16),
                        duration: Duration::from_millis(duration_ms as u64),
                        error,
                        answer,
                    },
                )
                .collect(),
        })
    }
}

fn parse_event_id(text: &str) -> Result<Uuid> {
    text.parse().map_err(corrupt(text, "event_id"))
}

/// The first 4 KiB, at a character's edge.
fn beginning(answer: &str) -> String {
    let mut end = answer.len().min(ANSWER_LIMIT);
    while !answer.is_char_boundary(end) {
        end -= 1;
    }
    without_nul(&answer[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_an_answer_is_cut_at_a_character() {
        let answer = "ä".repeat(ANSWER_LIMIT);
        let kept = beginning(&answer);
        assert_eq!(kept.len(), ANSWER_LIMIT);
        assert_eq!(beginning("short\0"), "short\u{fffd}");
        assert_eq!(beginning(&format!("x{answer}")).len(), ANSWER_LIMIT - 1);
    }
}
