//! How a run ends or is put back. Every statement is fenced by the token; whoever lost the claim changes nothing.
//!
//! When the caller has asked to cancel, whatever the worker wanted to write, the row ends cancelled.

use std::time::Duration;

use flydocs_contract::{EventType, status::ExtractionError};
use serde_json::value::RawValue;

use crate::{
    claim::{Requeue, Token},
    dialect::{Arg, Dialect, Sql},
    error::{Error, Result},
    record::Record,
    row::Stored,
    sql_store::SqlStore,
    transition::{Transition, error_json, lost},
};

pub(crate) const SUCCEED: Sql = sql!(
    changed "UPDATE extractions
     SET status = 'succeeded', finished_at = " now ", error = NULL, progress = NULL,
         post_processing = CASE WHEN $4 = 1 THEN " object "('bbox_refinement', " object "(
             'status', 'pending', 'requested_at', " stamp ", 'started_at', NULL, 'finished_at', NULL,
             'attempts', 0, 'claimed_by', NULL, 'error', NULL)) END,
         fence = fence + 1, revision = revision + 1
     WHERE id = $1 AND status = 'running' AND attempts = $2 AND fence = $3 AND cancel_requested_at IS NULL" (noted "mark_succeeded")
);

pub(crate) const FAIL: Sql = sql!(
    "UPDATE extractions
     SET status = 'failed', finished_at = " now ", error = " (json "$4") ", progress = NULL,
         fence = fence + 1, revision = revision + 1
     WHERE id = $1 AND status = 'running' AND attempts = $2 AND fence = $3 AND cancel_requested_at IS NULL
     RETURNING " columns
);

pub(crate) const REQUEUE: Sql = sql!(
    "UPDATE extractions
     SET status = 'queued', next_attempt_at = " (after "$5") ", error = " (json "$4") ", progress = NULL,
         heartbeat_at = NULL, fence = fence + 1, revision = revision + 1
     WHERE id = $1 AND status = 'running' AND attempts = $2 AND fence = $3 AND cancel_requested_at IS NULL
     RETURNING " columns
);

pub(crate) const GIVE_BACK: Sql = sql!(
    "UPDATE extractions
     SET status = 'queued', next_attempt_at = " now ", attempts = attempts - 1, progress = NULL,
         heartbeat_at = NULL, fence = fence + 1, revision = revision + 1
     WHERE id = $1 AND status = 'running' AND attempts = $2 AND fence = $3 AND cancel_requested_at IS NULL
     RETURNING " columns
);

pub(crate) const CANCEL: Sql = sql!(
    "UPDATE extractions
     SET status = 'cancelled', finished_at = " now ", error = NULL, progress = NULL,
         fence = fence + 1, revision = revision + 1
     WHERE id = $1 AND status = 'running' AND attempts = $2 AND fence = $3 AND cancel_requested_at IS NOT NULL
     RETURNING " columns
);

pub(crate) const KEEP_RESULT: Sql = sql!(
    "INSERT INTO extraction_results (extraction_id, updated_at, result)
     VALUES ($1, " now ", " (json "$2") ")
     ON CONFLICT (extraction_id) DO UPDATE SET updated_at = excluded.updated_at, result = excluded.result"
);

impl<D: Dialect> SqlStore<D> {
    pub(crate) async fn mark_succeeded(
        &self,
        token: &Token,
        result: &str,
        wants_bbox: bool,
    ) -> Result<Option<Stored>> {
        let result = result_text(token.id, result)?;
        let mut args = fenced(token);
        args.push(i64::from(wants_bbox).into());
        let mut transition = self.transition().await?;
        let method = "mark_succeeded";
        let Some(record) = transition.row::<Record>(method, &SUCCEED, args).await? else {
            return self.cancel_instead(transition, token, method).await;
        };
        let args = args![record.id.as_str(), result.get()];
        transition
            .execute("keep a result", &KEEP_RESULT, args)
            .await?;
        transition.noted(&record, method).await?;
        transition
            .announce(&record, EventType::Completed, Some(result))
            .await?;
        if wants_bbox {
            transition
                .announce(&record, EventType::PostProcessingRequested, None)
                .await?;
        }
        transition.commit(record).await.map(Some)
    }

    pub(crate) async fn mark_failed(
        &self,
        token: &Token,
        error: &ExtractionError,
    ) -> Result<Option<Stored>> {
        let mut args = fenced(token);
        args.push(error_json(error).into());
        let mut transition = self.transition().await?;
        let method = "mark_failed";
        let Some(record) = transition.row::<Record>(method, &FAIL, args).await? else {
            return self.cancel_instead(transition, token, method).await;
        };
        transition.note(&record, method).await?;
        transition
            .announce(&record, EventType::Completed, None)
            .await?;
        transition.commit(record).await.map(Some)
    }

    pub(crate) async fn requeue_for_retry(
        &self,
        token: &Token,
        requeue: &Requeue,
    ) -> Result<Option<Stored>> {
        let mut args = fenced(token);
        args.push(error_json(&requeue.error).into());
        args.push(requeue.delay.into());
        self.put_back(token, "requeue_for_retry", &REQUEUE, args, requeue.delay)
            .await
    }

    pub(crate) async fn give_back(&self, token: &Token) -> Result<Option<Stored>> {
        self.put_back(
            token,
            "give_back",
            &GIVE_BACK,
            fenced(token),
            Duration::ZERO,
        )
        .await
    }

    async fn put_back(
        &self,
        token: &Token,
        method: &'static str,
        sql: &Sql,
        args: Vec<Arg>,
        delay: Duration,
    ) -> Result<Option<Stored>> {
        let mut transition = self.transition().await?;
        let Some(record) = transition.row::<Record>(method, sql, args).await? else {
            return self.cancel_instead(transition, token, method).await;
        };
        transition.note(&record, method).await?;
        transition
            .announce_after(&record, EventType::Submitted, delay)
            .await?;
        transition.commit(record).await.map(Some)
    }

    pub(crate) async fn settle_cancelled(&self, token: &Token) -> Result<Option<Stored>> {
        let transition = self.transition().await?;
        self.cancel_instead(transition, token, "settle_cancelled")
            .await
    }

    /// The statement before changed nothing: either the claim is lost, or the caller asked to cancel.
    async fn cancel_instead(
        &self,
        mut transition: Transition<'_, D>,
        token: &Token,
        method: &'static str,
    ) -> Result<Option<Stored>> {
        let Some(record) = transition
            .row::<Record>(method, &CANCEL, fenced(token))
            .await?
        else {
            return Ok(lost(method));
        };
        transition.note(&record, method).await?;
        transition
            .announce(&record, EventType::Completed, None)
            .await?;
        transition.commit(record).await.map(Some)
    }
}

/// What every statement of a claimant begins with.
fn fenced(token: &Token) -> Vec<Arg> {
    args![token.id.to_string(), token.attempts, token.fence]
}

/// A result goes in as the worker wrote it, but nothing goes in that is not JSON.
pub(crate) fn result_text(id: flydocs_contract::ExtractionId, text: &str) -> Result<&RawValue> {
    serde_json::from_str(text).map_err(|source| Error::ResultNotJson { id, source })
}
