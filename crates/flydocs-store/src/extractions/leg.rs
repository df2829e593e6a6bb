//! The bbox_refinement leg: the same moves inside a succeeded extraction, kept in `post_processing`.
//!
//! While pending, `requested_at` says when a bbox worker may have it (later than now after a requeue) and `started_at`
//! is null; the beats of the leg go to the row's own `heartbeat_at`.

use std::time::Duration;

use flydocs_contract::{EventType, ExtractionId, LegStatus, status::ExtractionError};

use crate::{
    claim::{LegClaim, LegClaimed, LegToken, Requeue},
    dialect::{Arg, Dialect, Sql, ago},
    error::{During as _, Result},
    extractions::{
        claim::{until, worker_lost},
        settle::{KEEP_RESULT, result_text},
    },
    record::{Record, RecordWithRequest},
    row::Stored,
    sql_store::SqlStore,
    transition::{error_json, lost},
};

pub(crate) const START: Sql = sql!(
    "UPDATE extractions
     SET post_processing = " leg_patch "'requested_at', " stamp leg_patch_end ",
         fence = fence + 1, revision = revision + 1
     WHERE id = $1 AND status = 'succeeded' AND " leg_status " = 'pending'
     RETURNING " columns
);

pub(crate) const CLAIM: Sql = sql!(
    "UPDATE extractions
     SET post_processing = " leg_patch "'status', 'running', 'started_at', " stamp ",
             'attempts', " leg_attempts " + 1, 'claimed_by', CAST($2 AS text)" leg_patch_end ",
         heartbeat_at = " now ", progress = NULL, fence = fence + 1, revision = revision + 1
     WHERE id = $1 AND status = 'succeeded'
       AND (" leg_status " = 'pending' AND " leg_requested " <= " stamp "
            OR " leg_status " = 'running' AND " leg_attempts " < $5
               AND (" leg_started_time " < " (after "$3") " OR heartbeat_at < " (after "$4") "
                    OR EXISTS (SELECT 1 FROM workers w
                               WHERE w.instance = " leg_worker " AND w.dead_at IS NOT NULL)))
     RETURNING " columns ", " (text "request")
);

pub(crate) const WORKER_LOST: Sql = sql!(
    "UPDATE extractions
     SET post_processing = " leg_patch "'status', 'failed', 'finished_at', " stamp ",
             'error', " (member "$2") leg_patch_end ",
         progress = NULL, fence = fence + 1, revision = revision + 1
     WHERE id = $1 AND status = 'succeeded' AND " leg_status " = 'running' AND " leg_attempts " >= $5
       AND (" leg_started_time " < " (after "$3") " OR heartbeat_at < " (after "$4") "
            OR EXISTS (SELECT 1 FROM workers w
                       WHERE w.instance = " leg_worker " AND w.dead_at IS NOT NULL))
     RETURNING " columns
);

pub(crate) const LOOK: Sql = sql!(
    "SELECT status, " leg_status ", " leg_worker ", " (seconds_until "post_processing->'bbox_refinement'->>'requested_at'") "
     FROM extractions WHERE id = $1"
);

pub(crate) const SUCCEED: Sql = sql!(
    "UPDATE extractions
     SET post_processing = " leg_patch "'status', 'succeeded', 'finished_at', " stamp ", 'error', NULL" leg_patch_end ",
         progress = NULL, fence = fence + 1, revision = revision + 1
     WHERE id = $1 AND status = 'succeeded' AND " leg_status " = 'running' AND " leg_attempts " = $2 AND fence = $3
     RETURNING " columns
);

pub(crate) const FAIL: Sql = sql!(
    "UPDATE extractions
     SET post_processing = " leg_patch "'status', 'failed', 'finished_at', " stamp ",
             'error', " (member "$4") leg_patch_end ",
         progress = NULL, fence = fence + 1, revision = revision + 1
     WHERE id = $1 AND status = 'succeeded' AND " leg_status " = 'running' AND " leg_attempts " = $2 AND fence = $3
     RETURNING " columns
);

pub(crate) const REQUEUE: Sql = sql!(
    "UPDATE extractions
     SET post_processing = " leg_patch "'status', 'pending', 'requested_at', " (stamp_after "$5") ",
             'started_at', NULL, 'error', " (member "$4") leg_patch_end ",
         progress = NULL, fence = fence + 1, revision = revision + 1
     WHERE id = $1 AND status = 'succeeded' AND " leg_status " = 'running' AND " leg_attempts " = $2 AND fence = $3
     RETURNING " columns
);

pub(crate) const REQUEUE_PENDING: Sql = sql!(
    "UPDATE extractions
     SET post_processing = " leg_patch "'requested_at', " (stamp_after "$3") ",
             'error', " (member "$2") leg_patch_end ",
         fence = fence + 1, revision = revision + 1
     WHERE id = $1 AND status = 'succeeded' AND " leg_status " = 'pending'
     RETURNING " columns
);

pub(crate) const GIVE_BACK: Sql = sql!(
    "UPDATE extractions
     SET post_processing = " leg_patch "'status', 'pending', 'requested_at', " stamp ", 'started_at', NULL,
             'attempts', " leg_attempts " - 1" leg_patch_end ",
         progress = NULL, fence = fence + 1, revision = revision + 1
     WHERE id = $1 AND status = 'succeeded' AND " leg_status " = 'running' AND " leg_attempts " = $2 AND fence = $3
     RETURNING " columns
);

pub(crate) const RESULT: Sql =
    sql!("SELECT " (text "result") " FROM extraction_results WHERE extraction_id = $1");

impl<D: Dialect> SqlStore<D> {
    pub(crate) async fn start_bbox_refinement(&self, id: ExtractionId) -> Result<Option<Stored>> {
        let args = args![id.to_string()];
        self.ask_for_leg("start_bbox_refinement", &START, args, Duration::ZERO)
            .await
    }

    pub(crate) async fn mark_bbox_refinement_running(
        &self,
        id: ExtractionId,
        worker: &str,
    ) -> Result<LegClaimed> {
        if let Some(claimed) = self.try_claim_leg(id, worker).await? {
            return Ok(claimed);
        }
        let look = self
            .db
            .read::<(String, Option<String>, Option<String>, Option<f64>)>(
                &LOOK,
                args![id.to_string()],
            )
            .await
            .during("look at a bbox leg")?;
        let Some((_, Some(leg_status), leg_worker, due_in)) = look.into_iter().next() else {
            return Ok(LegClaimed::None);
        };
        match leg_status.parse() {
            Ok(LegStatus::Pending) => Ok(LegClaimed::NotDue(until(due_in))),
            Ok(LegStatus::Running) => {
                if let Some(holder) = leg_worker
                    && !self.bury(Some(&holder)).await?.is_empty()
                    && let Some(claimed) = self.try_claim_leg(id, worker).await?
                {
                    return Ok(claimed);
                }
                Ok(LegClaimed::Held)
            }
            _ => Ok(LegClaimed::None),
        }
    }

    async fn try_claim_leg(&self, id: ExtractionId, worker: &str) -> Result<Option<LegClaimed>> {
        let lease = self.options.bbox_refinement_lease;
        let silence = self.options.heartbeat_timeout;
        let budget = self.options.bbox_refine_max_attempts;
        let id = id.to_string();
        let method = "mark_bbox_refinement_running";

        let mut transition = self.transition().await?;
        let args = args![id.as_str(), worker, ago(lease), ago(silence), budget];
        let won = transition
            .row::<RecordWithRequest>("claim a bbox leg", &CLAIM, args)
            .await?;
        if let Some(RecordWithRequest { record, request }) = won {
            let request = record.json("request", &request)?;
            let result: Option<(String,)> = transition
                .row("read a result", &RESULT, args![id.as_str()])
                .await?;
            transition.note_leg(&record, method).await?;
            let (attempts, fence) = (record.leg_attempts()?, record.fence as u64);
            let stored = transition.commit(record).await?;
            return Ok(Some(LegClaimed::Won(Box::new(LegClaim {
                token: LegToken {
                    id: stored.extraction.id,
                    attempts,
                    fence,
                },
                extraction: stored.extraction,
                request,
                result: result.map_or_else(|| "null".to_owned(), |(text,)| text),
                tenant_id: stored.tenant_id,
                metadata: stored.metadata,
                correlation: stored.correlation,
            }))));
        }

        let error = error_json(&worker_lost(budget, "FLYDOCS_BBOX_REFINE_MAX_ATTEMPTS"));
        let args = args![id.as_str(), error, ago(lease), ago(silence), budget];
        let failed = transition
            .row::<Record>("give up a lost bbox leg", &WORKER_LOST, args)
            .await?;
        let Some(record) = failed else {
            return Ok(lost(method));
        };
        transition.note_leg(&record, method).await?;
        transition
            .announce(&record, EventType::PostProcessingCompleted, None)
            .await?;
        let stored = transition.commit(record).await?;
        Ok(Some(LegClaimed::WorkerLost(Box::new(stored))))
    }

    pub(crate) async fn mark_bbox_refinement_succeeded(
        &self,
        token: &LegToken,
        result: &str,
    ) -> Result<Option<Stored>> {
        let result = result_text(token.id, result)?;
        let method = "mark_bbox_refinement_succeeded";
        let mut transition = self.transition().await?;
        let Some(record) = transition
            .row::<Record>(method, &SUCCEED, fenced(token))
            .await?
        else {
            return Ok(lost(method));
        };
        let args = args![record.id.as_str(), result.get()];
        transition
            .execute("replace a result", &KEEP_RESULT, args)
            .await?;
        transition.note_leg(&record, method).await?;
        transition
            .announce(&record, EventType::PostProcessingCompleted, Some(result))
            .await?;
        transition.commit(record).await.map(Some)
    }

    pub(crate) async fn mark_bbox_refinement_failed(
        &self,
        token: &LegToken,
        error: &ExtractionError,
    ) -> Result<Option<Stored>> {
        let method = "mark_bbox_refinement_failed";
        let mut args = fenced(token);
        args.push(error_json(error).into());
        let mut transition = self.transition().await?;
        let Some(record) = transition.row::<Record>(method, &FAIL, args).await? else {
            return Ok(lost(method));
        };
        transition.note_leg(&record, method).await?;
        transition
            .announce(&record, EventType::PostProcessingCompleted, None)
            .await?;
        transition.commit(record).await.map(Some)
    }

    pub(crate) async fn requeue_bbox_refinement(
        &self,
        token: &LegToken,
        requeue: &Requeue,
    ) -> Result<Option<Stored>> {
        let mut args = fenced(token);
        args.push(error_json(&requeue.error).into());
        args.push(requeue.delay.into());
        self.ask_for_leg("requeue_bbox_refinement", &REQUEUE, args, requeue.delay)
            .await
    }

    pub(crate) async fn requeue_pending_bbox_refinement(
        &self,
        id: ExtractionId,
        requeue: &Requeue,
    ) -> Result<Option<Stored>> {
        let args = args![id.to_string(), error_json(&requeue.error), requeue.delay];
        self.ask_for_leg(
            "requeue_bbox_refinement",
            &REQUEUE_PENDING,
            args,
            requeue.delay,
        )
        .await
    }

    pub(crate) async fn give_back_bbox_refinement(
        &self,
        token: &LegToken,
    ) -> Result<Option<Stored>> {
        self.ask_for_leg(
            "give_back_bbox_refinement",
            &GIVE_BACK,
            fenced(token),
            Duration::ZERO,
        )
        .await
    }

    /// Makes the leg pending and announces that.
    async fn ask_for_leg(
        &self,
        method: &'static str,
        sql: &Sql,
        args: Vec<Arg>,
        delay: Duration,
    ) -> Result<Option<Stored>> {
        let mut transition = self.transition().await?;
        let Some(record) = transition.row::<Record>(method, sql, args).await? else {
            return Ok(lost(method));
        };
        transition.note_leg(&record, method).await?;
        transition
            .announce_after(&record, EventType::PostProcessingRequested, delay)
            .await?;
        transition.commit(record).await.map(Some)
    }
}

fn fenced(token: &LegToken) -> Vec<Arg> {
    args![token.id.to_string(), token.attempts, token.fence]
}
