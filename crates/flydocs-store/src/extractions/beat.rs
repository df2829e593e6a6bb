//! Heartbeats: one statement for all claims of a worker, runs and legs alike.

use crate::{
    claim::{Beat, Beaten},
    dialect::{Dialect, Sql},
    error::Result,
    record::parse_id,
    sql_store::SqlStore,
};

pub(crate) const BEAT: Sql = sql!(
    "UPDATE extractions
     SET heartbeat_at = " now ", progress = coalesce(b.progress, extractions.progress),
         revision = revision + CASE WHEN b.progress IS NULL THEN 0 ELSE 1 END
     FROM " beats "
     WHERE extractions.id = b.id AND extractions.fence = b.fence
       AND (status = 'running' OR status = 'succeeded' AND " leg_status " = 'running')
     RETURNING extractions.id, extractions.fence,
               CAST(CASE WHEN cancel_requested_at IS NULL THEN 0 ELSE 1 END AS bigint)"
);

impl<D: Dialect> SqlStore<D> {
    pub(crate) async fn heartbeat(&self, beats: &[Beat]) -> Result<Vec<Beaten>> {
        if beats.is_empty() {
            return Ok(Vec::new());
        }
        let mut sorted: Vec<&Beat> = beats.iter().collect();
        sorted.sort_by_key(|beat| beat.id);
        let list: Vec<_> = sorted
            .iter()
            .map(|beat| {
                serde_json::json!({
                    "id": beat.id,
                    "fence": beat.fence,
                    "progress": beat.progress,
                })
            })
            .collect();
        let mut transition = self.transition().await?;
        let args = args![serde_json::Value::from(list).to_string()];
        let rows: Vec<(String, i64, i64)> = transition.rows("beat", &BEAT, args).await?;
        transition.commit_quietly().await?;

        let mut held = Vec::with_capacity(rows.len());
        for (id, fence, cancel_requested) in rows {
            held.push(Beaten {
                id: parse_id(&id)?,
                fence: fence as u64,
                cancel_requested: cancel_requested != 0,
            });
        }
        for beat in beats {
            let still_held = held
                .iter()
                .any(|b| b.id == beat.id && b.fence == beat.fence);
            if beat.progress.is_some() && still_held {
                self.committed(beat.id, &[]);
            }
        }
        Ok(held)
    }
}
