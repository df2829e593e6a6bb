//! Rows as the databases give them, and how they become what callers read.

use chrono::{DateTime, Utc};
use flydocs_contract::{
    Extraction, ExtractionId, JsonObject, LegStatus, Status,
    status::{BboxRefinement, ExtractionError, PostProcessing},
};
use serde::{Deserialize, de::DeserializeOwned};

use crate::{
    error::{Error, Result},
    row::Stored,
};

/// The columns of `extractions` that every transition gives back; `columns` in [`crate::dialect`].
#[derive(Debug, Clone, sqlx::FromRow)]
pub(crate) struct Record {
    pub(crate) id: String,
    pub(crate) tenant_id: Option<String>,
    pub(crate) idempotency_key: Option<String>,
    pub(crate) request_digest: String,
    pub(crate) status: String,
    pub(crate) filename: String,
    pub(crate) content_bytes: i64,
    pub(crate) callback_url: Option<String>,
    pub(crate) metadata: String,
    pub(crate) correlation: String,
    pub(crate) error: Option<String>,
    pub(crate) attempts: i64,
    pub(crate) submitted_at: DateTime<Utc>,
    pub(crate) started_at: Option<DateTime<Utc>>,
    pub(crate) finished_at: Option<DateTime<Utc>>,
    pub(crate) next_attempt_at: Option<DateTime<Utc>>,
    pub(crate) cancel_requested_at: Option<DateTime<Utc>>,
    pub(crate) claimed_by: Option<String>,
    pub(crate) heartbeat_at: Option<DateTime<Utc>>,
    pub(crate) progress: Option<String>,
    pub(crate) post_processing: Option<String>,
    pub(crate) revision: i64,
    pub(crate) fence: i64,
    /// The database's clock as the statement ran.
    pub(crate) now: DateTime<Utc>,
}

/// A record with the request beside it.
#[derive(Debug, Clone, sqlx::FromRow)]
pub(crate) struct RecordWithRequest {
    #[sqlx(flatten)]
    pub(crate) record: Record,
    pub(crate) request: String,
}

/// The leg as it is stored: what callers see, and what the store needs beside it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct StoredLeg {
    status: LegStatus,
    #[serde(default)]
    started_at: Option<DateTime<Utc>>,
    #[serde(default)]
    finished_at: Option<DateTime<Utc>>,
    #[serde(default)]
    attempts: u32,
    #[serde(default)]
    claimed_by: Option<String>,
    #[serde(default)]
    error: Option<ExtractionError>,
}

#[derive(Debug, Deserialize)]
struct StoredPostProcessing {
    bbox_refinement: StoredLeg,
}

impl Record {
    pub(crate) fn stored(self) -> Result<Stored> {
        Ok(Stored {
            extraction: self.extraction()?,
            metadata: self.json::<JsonObject>("metadata", &self.metadata)?,
            correlation: self.json("correlation", &self.correlation)?,
            progress: self.optional("progress", self.progress.as_deref())?,
            tenant_id: self.tenant_id,
            idempotency_key: self.idempotency_key,
            filename: self.filename,
            content_bytes: self.content_bytes as u64,
            callback_url: self.callback_url,
            next_attempt_at: self.next_attempt_at,
            cancel_requested_at: self.cancel_requested_at,
            claimed_by: self.claimed_by,
            heartbeat_at: self.heartbeat_at,
            revision: self.revision as u64,
            fence: self.fence as u64,
        })
    }

    pub(crate) fn extraction(&self) -> Result<Extraction> {
        Ok(Extraction {
            id: self.id()?,
            status: self.status()?,
            submitted_at: self.submitted_at,
            started_at: self.started_at,
            finished_at: self.finished_at,
            attempts: self.attempts as u32,
            error: self.optional("error", self.error.as_deref())?,
            post_processing: self.leg()?.map(|leg| PostProcessing {
                bbox_refinement: BboxRefinement {
                    status: leg.status,
                    started_at: leg.started_at,
                    finished_at: leg.finished_at,
                    attempts: leg.attempts,
                    error: leg.error,
                },
            }),
        })
    }

    pub(crate) fn id(&self) -> Result<ExtractionId> {
        parse_id(&self.id)
    }

    pub(crate) fn status(&self) -> Result<Status> {
        self.status.parse().map_err(corrupt(&self.id, "status"))
    }

    /// The worker of the leg, while it has one.
    pub(crate) fn leg_worker(&self) -> Result<Option<String>> {
        Ok(self.leg()?.and_then(|leg| leg.claimed_by))
    }

    pub(crate) fn leg_status(&self) -> Result<Option<LegStatus>> {
        Ok(self.leg()?.map(|leg| leg.status))
    }

    pub(crate) fn leg_attempts(&self) -> Result<u32> {
        Ok(self.leg()?.map_or(0, |leg| leg.attempts))
    }

    pub(crate) fn leg_error(&self) -> Result<Option<ExtractionError>> {
        Ok(self.leg()?.and_then(|leg| leg.error))
    }

    fn leg(&self) -> Result<Option<StoredLeg>> {
        let stored: Option<StoredPostProcessing> =
            self.optional("post_processing", self.post_processing.as_deref())?;
        Ok(stored.map(|p| p.bbox_refinement))
    }

    pub(crate) fn json<T: DeserializeOwned>(&self, column: &'static str, text: &str) -> Result<T> {
        serde_json::from_str(text).map_err(corrupt(&self.id, column))
    }

    fn optional<T: DeserializeOwned>(
        &self,
        column: &'static str,
        text: Option<&str>,
    ) -> Result<Option<T>> {
        text.map(|text| self.json(column, text)).transpose()
    }
}

/// Reads an id out of a row.
pub(crate) fn parse_id(text: &str) -> Result<ExtractionId> {
    text.parse().map_err(corrupt(text, "id"))
}

/// Says which column of which row does not read.
pub(crate) fn corrupt<E: std::error::Error + Send + Sync + 'static>(
    row: &str,
    column: &'static str,
) -> impl FnOnce(E) -> Error {
    let row = row.to_owned();
    move |source| Error::Corrupt {
        row,
        column,
        source: Box::new(source),
    }
}
