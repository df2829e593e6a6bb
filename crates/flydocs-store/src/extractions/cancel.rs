//! What a caller may do to a submitted extraction: cancel it, ask to cancel it, retry it.

use flydocs_contract::{EventType, ExtractionId, Status};

use crate::{
    claim::{CancelRequested, Retried},
    dialect::{Dialect, Sql},
    error::Result,
    record::Record,
    row::Stored,
    sql_store::SqlStore,
    transition::lost,
};

pub(crate) const CANCEL_QUEUED: Sql = sql!(
    "UPDATE extractions
     SET status = 'cancelled', finished_at = " now ", next_attempt_at = NULL, progress = NULL,
         fence = fence + 1, revision = revision + 1
     WHERE id = $1 AND status = 'queued' AND ($2 IS NULL OR tenant_id = $2)
     RETURNING " columns
);

/// The fence stays: the claim is good until its worker gives it up.
pub(crate) const ASK: Sql = sql!(
    "UPDATE extractions
     SET cancel_requested_at = coalesce(cancel_requested_at, " now "), revision = revision + 1
     WHERE id = $1 AND status = 'running' AND ($2 IS NULL OR tenant_id = $2)
     RETURNING " columns
);

pub(crate) const RETRY: Sql = sql!(
    "UPDATE extractions
     SET status = 'queued', attempts = 0, next_attempt_at = " now ", started_at = NULL, finished_at = NULL,
         error = NULL, cancel_requested_at = NULL, progress = NULL, heartbeat_at = NULL,
         fence = fence + 1, revision = revision + 1
     WHERE id = $1 AND status IN ('failed', 'cancelled') AND ($2 IS NULL OR tenant_id = $2)
     RETURNING " columns
);

impl<D: Dialect> SqlStore<D> {
    pub(crate) async fn mark_cancelled(
        &self,
        id: ExtractionId,
        tenant: Option<&str>,
    ) -> Result<Option<Stored>> {
        self.cancel_queued(id, tenant, "mark_cancelled").await
    }

    async fn cancel_queued(
        &self,
        id: ExtractionId,
        tenant: Option<&str>,
        method: &'static str,
    ) -> Result<Option<Stored>> {
        let mut transition = self.transition().await?;
        let args = args![id.to_string(), tenant];
        let Some(record) = transition
            .row::<Record>(method, &CANCEL_QUEUED, args)
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

    pub(crate) async fn request_cancel(
        &self,
        id: ExtractionId,
        tenant: Option<&str>,
    ) -> Result<CancelRequested> {
        loop {
            if let Some(stored) = self.cancel_queued(id, tenant, "request_cancel").await? {
                return Ok(CancelRequested::Cancelled(Box::new(stored)));
            }
            let mut transition = self.transition().await?;
            let args = args![id.to_string(), tenant];
            if let Some(record) = transition
                .row::<Record>("ask to cancel an extraction", &ASK, args)
                .await?
            {
                transition.note(&record, "request_cancel").await?;
                let stored = transition.commit(record).await?;
                return Ok(CancelRequested::Requested(Box::new(stored)));
            }
            drop(transition);
            match self.get(id, tenant).await? {
                None => return Ok(CancelRequested::NotFound),
                Some(stored) if stored.extraction.status.is_terminal() => {
                    return Ok(CancelRequested::Refused(Box::new(stored)));
                }
                // It went from running to queued, or back, between the statements.
                Some(_) => {}
            }
        }
    }

    pub(crate) async fn retry(&self, id: ExtractionId, tenant: Option<&str>) -> Result<Retried> {
        let mut transition = self.transition().await?;
        let args = args![id.to_string(), tenant];
        if let Some(record) = transition.row::<Record>("retry", &RETRY, args).await? {
            transition.note(&record, "retry").await?;
            transition
                .announce(&record, EventType::Submitted, None)
                .await?;
            let stored = transition.commit(record).await?;
            debug_assert_eq!(stored.extraction.status, Status::Queued);
            return Ok(Retried::Queued(Box::new(stored)));
        }
        drop(transition);
        Ok(match self.get(id, tenant).await? {
            Some(stored) => Retried::Refused(Box::new(stored)),
            None => Retried::NotFound,
        })
    }
}
