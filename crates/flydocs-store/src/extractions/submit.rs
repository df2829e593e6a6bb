//! Submission: the row, its references to blobs and its event, all or nothing; one key, one row.

use std::{
    sync::PoisonError,
    time::{Duration, Instant},
};

use flydocs_contract::EventType;

use crate::{
    dialect::{Dialect, Sql},
    error::{During as _, Error, Result},
    record::Record,
    sql_store::SqlStore,
    submission::{NewExtraction, Submitted},
    transition::{Transition, without_nul},
};

/// How long a count of the backlog is believed while it is far from the limit.
const COUNT_BELIEVED: Duration = Duration::from_secs(1);

pub(crate) const INSERT: Sql = sql!(
    changed "INSERT INTO extractions
       (id, tenant_id, idempotency_key, request_digest, status, filename, content_sha256, content_bytes,
        callback_url, metadata, correlation, submitted_at, request)
     VALUES ($1, $2, $3, $4, 'queued', $5, $6, $7, $8, " (json "$9") ", " (json "$10") ", " now ", " (json "$11") ")
     ON CONFLICT (idempotency_key, coalesce(tenant_id, '')) WHERE idempotency_key IS NOT NULL DO NOTHING" (noted "submit")
);

pub(crate) const COUNT_REFERENCE: Sql =
    sql!("UPDATE blobs SET referenced = referenced + 1 WHERE sha256 = $1 RETURNING blob_id");

pub(crate) const REFERENCE: Sql =
    sql!("INSERT INTO extraction_blobs (extraction_id, position, blob_id) VALUES ($1, $2, $3)");

/// Both in one, where a statement may change several tables.
pub(crate) const COUNT_AND_REFER: Sql = Sql {
    sqlite: "",
    postgres: "WITH counted AS (UPDATE blobs SET referenced = referenced + 1 WHERE sha256 = $3 RETURNING blob_id)
     INSERT INTO extraction_blobs (extraction_id, position, blob_id) SELECT $1, $2, blob_id FROM counted",
};

pub(crate) const BY_KEY: Sql = sql!(
    "SELECT " columns " FROM extractions
     WHERE idempotency_key = $1 AND coalesce(tenant_id, '') = coalesce($2, '')"
);

pub(crate) const BACKLOG: Sql =
    sql!("SELECT count(*) FROM (SELECT 1 FROM extractions WHERE status = 'queued' LIMIT $1) AS q");

impl<D: Dialect> SqlStore<D> {
    pub(crate) async fn submit(&self, mut new: NewExtraction) -> Result<Submitted> {
        // An absent value is never an empty one.
        let present =
            |text: Option<String>| text.filter(|t| !t.is_empty()).map(|t| without_nul(&t));
        new.tenant_id = present(new.tenant_id);
        new.idempotency_key = present(new.idempotency_key);
        new.callback_url = present(new.callback_url);
        loop {
            if let Some(found) = self.by_key(&new).await? {
                return Ok(found);
            }
            if let Some(limit) = self.options.max_queued
                && self.backlog(limit).await? >= limit
            {
                return Ok(Submitted::TooMany { limit });
            }
            if let Some(inserted) = self.insert(&new).await? {
                return Ok(inserted);
            }
            // Somebody inserted the key in between and has committed: the next look finds that row,
            // unless it was deleted again meanwhile, and then the insert may be tried again.
        }
    }

    async fn by_key(&self, new: &NewExtraction) -> Result<Option<Submitted>> {
        let Some(key) = &new.idempotency_key else {
            return Ok(None);
        };
        let args = args![key.as_str(), new.tenant_id.clone()];
        let found = self
            .db
            .read::<Record>(&BY_KEY, args)
            .await
            .during("look up a key")?;
        let Some(record) = found.into_iter().next() else {
            return Ok(None);
        };
        let same = record.request_digest == new.request_digest;
        let stored = Box::new(record.stored()?);
        Ok(Some(if same {
            Submitted::Replayed(stored)
        } else {
            Submitted::Mismatch(stored)
        }))
    }

    /// `None` when another call with the same key was faster.
    async fn insert(&self, new: &NewExtraction) -> Result<Option<Submitted>> {
        let files = &new.request.files;
        let first = files.first();
        let args = args![
            new.id.to_string(),
            new.tenant_id.clone(),
            new.idempotency_key.clone(),
            new.request_digest.as_str(),
            first.map_or_else(String::new, |f| without_nul(&f.filename)),
            first.map_or_else(String::new, |f| f.sha256.to_string()),
            files.iter().map(|f| f.bytes).sum::<u64>(),
            new.callback_url.clone(),
            json(&new.metadata),
            json(&new.correlation),
            json(&new.request),
        ];
        let mut transition = self.transition().await?;
        let Some(record) = transition.row::<Record>("submit", &INSERT, args).await? else {
            return Ok(None);
        };
        // In one order, so that two submissions of the same files cannot wait for each other.
        let mut references: Vec<_> = files.iter().map(|f| f.sha256).zip(0_u32..).collect();
        references.sort_unstable();
        for (sha256, position) in references {
            if !refer(&mut transition, &record.id, position, &sha256.to_string()).await? {
                return Err(Error::BlobMissing(sha256));
            }
        }
        transition.noted(&record, "submit").await?;
        transition
            .announce(&record, EventType::Submitted, None)
            .await?;
        let stored = transition.commit(record).await?;
        if let Some((_, seen)) = self
            .backlog
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .as_mut()
        {
            *seen += 1;
        }
        Ok(Some(Submitted::New(Box::new(stored))))
    }

    /// How many rows are queued, counted up to `limit`. Near the limit it is counted anew; far from it a
    /// count of the last second, plus what was submitted here since, is good enough.
    async fn backlog(&self, limit: u64) -> Result<u64> {
        let seen = *self.backlog.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, seen)) = seen
            && at.elapsed() < COUNT_BELIEVED
            && seen < limit - limit / 5
        {
            return Ok(seen);
        }
        let counted = self
            .db
            .read::<(i64,)>(&BACKLOG, args![limit])
            .await
            .during("count the backlog")?;
        let count = counted.first().map_or(0, |(n,)| *n as u64);
        *self.backlog.lock().unwrap_or_else(PoisonError::into_inner) =
            Some((Instant::now(), count));
        Ok(count)
    }
}

/// Counts one more use of a blob and notes it; false when the blob is not stored.
async fn refer<D: Dialect>(
    transition: &mut Transition<'_, D>,
    extraction: &str,
    position: u32,
    sha256: &str,
) -> Result<bool> {
    let operation = "refer to a blob";
    if D::CHAINS {
        let args = args![extraction, position, sha256];
        let written = transition
            .execute(operation, &COUNT_AND_REFER, args)
            .await?;
        return Ok(written == 1);
    }
    let blob: Option<(i64,)> = transition
        .row(operation, &COUNT_REFERENCE, args![sha256])
        .await?;
    let Some((blob_id,)) = blob else {
        return Ok(false);
    };
    let args = args![extraction, position, blob_id];
    transition.execute(operation, &REFERENCE, args).await?;
    Ok(true)
}

/// Our own shapes: strings, numbers and objects with string keys, nothing that JSON cannot say.
fn json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
