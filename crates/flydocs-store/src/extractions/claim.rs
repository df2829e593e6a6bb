//! The claim of an extraction: queued and due, or running and lost, becomes running for exactly one worker.
//!
//! *Lost* is the lease of the seed, or a claimant known to be dead, or a heartbeat that stayed away.

use std::time::Duration;

use flydocs_contract::{ErrorCode, EventType, ExtractionId, Status, status::ExtractionError};

use crate::{
    claim::{Claim, Claimed, Token},
    dialect::{Dialect, Sql, ago},
    error::Result,
    record::{Record, RecordWithRequest},
    sql_store::SqlStore,
    transition::{Transition, error_json, lost},
};

/// The first claim of all rows goes by this statement. `$3` is minus the lease, `$4` minus the heartbeat time-out,
/// `$5` the attempt budget.
pub(crate) const CLAIM: Sql = sql!(
    changed "UPDATE extractions
     SET status = 'running', started_at = " now ", attempts = attempts + 1, claimed_by = $2,
         heartbeat_at = " now ", next_attempt_at = NULL, progress = NULL,
         fence = fence + 1, revision = revision + 1
     WHERE id = $1
       AND (status = 'queued' AND (next_attempt_at IS NULL OR next_attempt_at <= " now ")
            OR status = 'running' AND cancel_requested_at IS NULL AND attempts < $5
               AND (started_at < " (after "$3") " OR heartbeat_at < " (after "$4") "
                    OR EXISTS (SELECT 1 FROM workers w
                               WHERE w.instance = claimed_by AND w.dead_at IS NOT NULL)))" (noted_with_request "mark_running")
);

pub(crate) const WORKER_LOST: Sql = sql!(
    "UPDATE extractions
     SET status = 'failed', finished_at = " now ", error = " (json "$2") ", progress = NULL,
         fence = fence + 1, revision = revision + 1
     WHERE id = $1 AND status = 'running' AND cancel_requested_at IS NULL AND attempts >= $5
       AND (started_at < " (after "$3") " OR heartbeat_at < " (after "$4") "
            OR EXISTS (SELECT 1 FROM workers w
                       WHERE w.instance = claimed_by AND w.dead_at IS NOT NULL))
     RETURNING " columns
);

pub(crate) const CANCEL_LOST: Sql = sql!(
    "UPDATE extractions
     SET status = 'cancelled', finished_at = " now ", error = NULL, progress = NULL,
         fence = fence + 1, revision = revision + 1
     WHERE id = $1 AND status = 'running' AND cancel_requested_at IS NOT NULL
       AND (started_at < " (after "$2") " OR heartbeat_at < " (after "$3") "
            OR EXISTS (SELECT 1 FROM workers w
                       WHERE w.instance = claimed_by AND w.dead_at IS NOT NULL))
     RETURNING " columns
);

pub(crate) const LOOK: Sql = sql!(
    "SELECT status, claimed_by, " (seconds_until "next_attempt_at") " FROM extractions WHERE id = $1"
);

impl<D: Dialect> SqlStore<D> {
    pub(crate) async fn mark_running(&self, id: ExtractionId, worker: &str) -> Result<Claimed> {
        if let Some(claimed) = self.try_claim(id, worker).await? {
            return Ok(claimed);
        }
        let look = self.look(id).await?;
        let Some((status, claimed_by, due_in)) = look else {
            return Ok(Claimed::None);
        };
        match status.parse() {
            Ok(Status::Queued) => Ok(Claimed::NotDue(due_in)),
            Ok(Status::Running) => {
                // The sweep comes every few seconds; whoever asks for the row need not wait for it.
                if let Some(holder) = claimed_by
                    && !self.bury(Some(&holder)).await?.is_empty()
                    && let Some(claimed) = self.try_claim(id, worker).await?
                {
                    return Ok(claimed);
                }
                Ok(Claimed::Held)
            }
            _ => Ok(Claimed::None),
        }
    }

    async fn try_claim(&self, id: ExtractionId, worker: &str) -> Result<Option<Claimed>> {
        let lease = self.options.extraction_run_lease;
        let silence = self.options.heartbeat_timeout;
        let budget = self.options.job_max_attempts;
        let id = id.to_string();

        let mut transition = self.transition().await?;
        let args = args![id.as_str(), worker, ago(lease), ago(silence), budget];
        let won = transition
            .row::<RecordWithRequest>("claim an extraction", &CLAIM, args)
            .await?;
        if let Some(RecordWithRequest { record, request }) = won {
            let request = record.json("request", &request)?;
            transition.noted(&record, "mark_running").await?;
            let (attempts, fence) = (record.attempts as u32, record.fence as u64);
            let stored = transition.commit(record).await?;
            return Ok(Some(Claimed::Won(Box::new(Claim {
                token: Token {
                    id: stored.extraction.id,
                    attempts,
                    fence,
                },
                extraction: stored.extraction,
                request,
                tenant_id: stored.tenant_id,
                metadata: stored.metadata,
                correlation: stored.correlation,
            }))));
        }

        let error = error_json(&worker_lost(budget, "FLYDOCS_JOB_MAX_ATTEMPTS"));
        let args = args![id.as_str(), error, ago(lease), ago(silence), budget];
        let failed = transition
            .row::<Record>("give up a lost extraction", &WORKER_LOST, args)
            .await?;
        if let Some(record) = failed {
            let stored = self.completed(transition, record).await?;
            return Ok(Some(Claimed::WorkerLost(stored)));
        }

        let args = args![id.as_str(), ago(lease), ago(silence)];
        let cancelled = transition
            .row::<Record>("cancel a lost extraction", &CANCEL_LOST, args)
            .await?;
        if let Some(record) = cancelled {
            let stored = self.completed(transition, record).await?;
            return Ok(Some(Claimed::Cancelled(stored)));
        }
        Ok(lost("mark_running"))
    }

    async fn completed(
        &self,
        mut transition: Transition<'_, D>,
        record: Record,
    ) -> Result<Box<crate::Stored>> {
        transition.note(&record, "mark_running").await?;
        transition
            .announce(&record, EventType::Completed, None)
            .await?;
        Ok(Box::new(transition.commit(record).await?))
    }

    async fn look(&self, id: ExtractionId) -> Result<Option<(String, Option<String>, Duration)>> {
        use crate::error::During as _;
        let rows = self
            .db
            .read::<(String, Option<String>, Option<f64>)>(&LOOK, args![id.to_string()])
            .await
            .during("look at an extraction")?;
        Ok(rows
            .into_iter()
            .next()
            .map(|(status, claimed_by, due_in)| (status, claimed_by, until(due_in))))
    }
}

/// A delay out of the database; a little is added, so that who waits for it is not early.
pub(crate) fn until(seconds: Option<f64>) -> Duration {
    let seconds = seconds.unwrap_or_default().max(0.0);
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX) + Duration::from_millis(2)
}

/// What a row says whose workers all died.
pub(crate) fn worker_lost(attempts: u32, setting: &str) -> ExtractionError {
    ExtractionError {
        code: ErrorCode::WorkerLost.as_str().to_owned(),
        message: format!(
            "the worker was lost in each of {attempts} attempts ({setting}); the document may be what stops it"
        ),
    }
}
