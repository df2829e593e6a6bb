//! Retention: finished extractions over their time, blobs nobody refers to, dead workers; in small batches.

use std::time::Duration;

use crate::{
    dialect::{Dialect, Sql, ago},
    error::Result,
    record::{corrupt, parse_id},
    sql_store::SqlStore,
    store::Retained,
};

const DAY: Duration = Duration::from_hours(24);

/// A leg that is not settled, or a webhook still to be delivered, keeps its extraction.
pub(crate) const OLD: Sql = sql!(
    "SELECT id FROM extractions
     WHERE finished_at < " (after "$1") "
       AND (post_processing IS NULL OR " leg_status " IN ('succeeded', 'failed'))
       AND NOT EXISTS (SELECT 1 FROM webhook_deliveries d
                       WHERE d.extraction_id = extractions.id AND d.status = 'pending')
     ORDER BY finished_at, id LIMIT $2 " skip_locked
);

pub(crate) const RELEASE: Sql = sql!(
    "UPDATE blobs SET referenced = referenced - r.n
     FROM (SELECT blob_id, count(*) AS n FROM extraction_blobs
           WHERE " (one_of "extraction_id" "$1") " GROUP BY blob_id) AS r
     WHERE blobs.blob_id = r.blob_id"
);

pub(crate) const DELETE: Sql = sql!("DELETE FROM extractions WHERE " (one_of "id" "$1"));

pub(crate) const DELETE_BLOBS: Sql = sql!(
    "DELETE FROM blobs WHERE referenced = 0 AND touched_at < " (after "$1") " AND blob_id IN (
         SELECT blob_id FROM blobs WHERE referenced = 0 AND touched_at < " (after "$1") "
         ORDER BY touched_at LIMIT $2 " skip_locked ")
     RETURNING coalesce(sha256, '')"
);

/// By then every claim of theirs is lost by its lease as well.
pub(crate) const DELETE_WORKERS: Sql = sql!(
    "DELETE FROM workers WHERE dead_at < " (after "$1")
);

impl<D: Dialect> SqlStore<D> {
    pub(crate) async fn retain(&self, batch: u32) -> Result<Retained> {
        Ok(Retained {
            extractions: self.delete_old(batch).await?,
            blobs: self.delete_unreferenced(batch).await?,
            workers: self.delete_dead_workers().await?,
        })
    }

    async fn delete_old(&self, batch: u32) -> Result<u64> {
        if self.options.retention_days == 0 {
            return Ok(0);
        }
        let age = DAY * self.options.retention_days;
        let mut transition = self.transition().await?;
        let old: Vec<(String,)> = transition
            .rows("look for old extractions", &OLD, args![ago(age), batch])
            .await?;
        if old.is_empty() {
            return Ok(0);
        }
        let ids: Vec<String> = old.into_iter().map(|(id,)| id).collect();
        let list = serde_json::json!(ids).to_string();
        transition
            .execute("release blobs", &RELEASE, args![list.as_str()])
            .await?;
        let deleted = transition
            .execute("delete old extractions", &DELETE, args![list])
            .await?;
        transition.commit_quietly().await?;
        for id in &ids {
            self.committed(parse_id(id)?, &[]);
        }
        Ok(deleted)
    }

    async fn delete_unreferenced(&self, batch: u32) -> Result<u64> {
        let mut transition = self.transition().await?;
        let args = args![ago(self.options.blob_grace), batch];
        let deleted: Vec<(String,)> = transition
            .rows("delete unreferenced blobs", &DELETE_BLOBS, args)
            .await?;
        if let Some(files) = &self.files {
            for (sha256,) in &deleted {
                let id = sha256.parse().map_err(corrupt(sha256, "sha256"))?;
                files.remove(&id).await?;
            }
        }
        transition.commit_quietly().await?;
        Ok(deleted.len() as u64)
    }

    async fn delete_dead_workers(&self) -> Result<u64> {
        let lease = self
            .options
            .extraction_run_lease
            .max(self.options.bbox_refinement_lease);
        let mut transition = self.transition().await?;
        let args = args![ago(lease + DAY)];
        let deleted = transition
            .execute("delete dead workers", &DELETE_WORKERS, args)
            .await?;
        transition.commit_quietly().await?;
        Ok(deleted)
    }
}
