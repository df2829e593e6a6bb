//! The five signatures of orphans, and their re-announcement. The claim decides what becomes of them.

use chrono::{DateTime, Utc};
use flydocs_bus::Published;
use flydocs_contract::{EventType, ExtractionId};

use crate::{
    dialect::{Bound, Dialect, Sql, ago},
    error::{During as _, Result},
    orphan::{Orphan, OrphanClass, OrphanCursor, Reannounced},
    record::{Record, parse_id},
    row::Stored,
    sql_store::SqlStore,
};

/// Never claimed: `next_attempt_at` is set by the first thing that puts a row back.
pub(crate) const QUEUED: Sql = sql!(
    "SELECT id, coalesce(next_attempt_at, submitted_at), attempts, claimed_by, fence FROM extractions" (by "ix_extractions_queued") "
     WHERE status = 'queued' AND next_attempt_at IS NULL
       AND coalesce(next_attempt_at, submitted_at) < " (after "$1") "
       AND (coalesce(next_attempt_at, submitted_at), id) > (" (time "$2") ", $3)
     ORDER BY coalesce(next_attempt_at, submitted_at), id LIMIT $4"
);

pub(crate) const RETRYING: Sql = sql!(
    "SELECT id, coalesce(next_attempt_at, submitted_at), attempts, claimed_by, fence FROM extractions" (by "ix_extractions_queued") "
     WHERE status = 'queued' AND next_attempt_at IS NOT NULL
       AND coalesce(next_attempt_at, submitted_at) < " (after "$1") "
       AND (coalesce(next_attempt_at, submitted_at), id) > (" (time "$2") ", $3)
     ORDER BY coalesce(next_attempt_at, submitted_at), id LIMIT $4"
);

pub(crate) const RUNNING: Sql = sql!(
    "SELECT id, started_at, attempts, claimed_by, fence FROM extractions" (by "ix_extractions_running") "
     WHERE status = 'running'
       AND (started_at < " (after "$1") " OR heartbeat_at < " (after "$5") "
            OR EXISTS (SELECT 1 FROM workers w
                       WHERE w.instance = claimed_by AND w.dead_at IS NOT NULL))
       AND (started_at, id) > (" (time "$2") ", $3)
     ORDER BY started_at, id LIMIT $4"
);

pub(crate) const LEG_PENDING: Sql = sql!(
    "SELECT id, " leg_requested_time ", " leg_attempts ", " leg_worker ", fence FROM extractions" (by "ix_extractions_leg_pending") "
     WHERE status = 'succeeded' AND " leg_status " = 'pending'
       AND " leg_requested " < " (stamp_after "$1") "
       AND (" leg_requested ", id) > ($2, $3)
     ORDER BY " leg_requested ", id LIMIT $4"
);

pub(crate) const LEG_RUNNING: Sql = sql!(
    "SELECT id, " leg_started_time ", " leg_attempts ", " leg_worker ", fence FROM extractions" (by "ix_extractions_leg_running") "
     WHERE status = 'succeeded' AND " leg_status " = 'running'
       AND (" leg_started " < " (stamp_after "$1") " OR heartbeat_at < " (after "$5") "
            OR EXISTS (SELECT 1 FROM workers w
                       WHERE w.instance = " leg_worker " AND w.dead_at IS NOT NULL))
       AND (" leg_started ", id) > ($2, $3)
     ORDER BY " leg_started ", id LIMIT $4"
);

pub(crate) const SAME_STATE: Sql =
    sql!("SELECT " columns " FROM extractions WHERE id = $1 AND fence = $2");

pub(crate) const BACKDATE: Sql = sql!(
    "UPDATE extractions SET started_at = " (after "$2") ", revision = revision + 1
     WHERE id = $1 AND status = 'running' RETURNING " columns
);

pub(crate) const BACKDATE_LEG: Sql = sql!(
    "UPDATE extractions
     SET post_processing = " leg_patch "'started_at', " (stamp_after "$2") leg_patch_end ",
         revision = revision + 1
     WHERE id = $1 AND status = 'succeeded' AND " leg_status " = 'running' RETURNING " columns
);

type OrphanRow = (String, DateTime<Utc>, i64, Option<String>, i64);

impl<D: Dialect> SqlStore<D> {
    pub(crate) async fn orphans(
        &self,
        class: OrphanClass,
        after: Option<&OrphanCursor>,
        limit: u32,
    ) -> Result<Vec<Orphan>> {
        let options = &self.options;
        let (sql, age) = match class {
            OrphanClass::Queued => (&QUEUED, options.queued_orphan_threshold),
            OrphanClass::Retrying => (&RETRYING, options.queued_orphan_threshold),
            OrphanClass::Running => (&RUNNING, options.extraction_run_lease),
            OrphanClass::LegPending => (
                &LEG_PENDING,
                options.post_processing_pending_orphan_threshold,
            ),
            OrphanClass::LegRunning => (&LEG_RUNNING, options.bbox_refinement_lease),
        };
        let since = after.map_or(DateTime::<Utc>::UNIX_EPOCH, |cursor| cursor.since);
        let since = match class {
            OrphanClass::LegPending | OrphanClass::LegRunning => leg_time(since),
            _ => D::time(since, Bound::Last),
        };
        let id = after.map_or_else(String::new, |cursor| cursor.id.to_string());
        let mut args = args![ago(age), since, id, limit];
        if matches!(class, OrphanClass::Running | OrphanClass::LegRunning) {
            args.push(ago(options.heartbeat_timeout));
        }
        let rows = self
            .db
            .read::<OrphanRow>(sql, args)
            .await
            .during("look for orphans")?;
        let mut orphans = Vec::with_capacity(rows.len());
        for (id, since, attempts, claimed_by, fence) in rows {
            orphans.push(Orphan {
                id: parse_id(&id)?,
                class,
                since,
                attempts: attempts as u32,
                claimed_by,
                fence: fence as u64,
            });
        }
        Ok(orphans)
    }

    pub(crate) async fn reannounce(&self, orphan: &Orphan) -> Result<Reannounced> {
        let mut transition = self.transition().await?;
        let args = args![orphan.id.to_string(), orphan.fence];
        let record = transition
            .row::<Record>("read an orphan", &SAME_STATE, args)
            .await?;
        let Some(record) = record else {
            return Ok(Reannounced::Moved);
        };
        let event_type = orphan.class.event_type();
        let published = transition
            .announce_after(&record, event_type, std::time::Duration::ZERO)
            .await?;
        match published {
            Published::New => {
                transition.commit(record).await?;
                Ok(Reannounced::Announced)
            }
            Published::Duplicate => Ok(Reannounced::AlreadyAnnounced),
        }
    }

    pub(crate) async fn reclaim(&self, id: ExtractionId) -> Result<Option<Stored>> {
        const LONG_AGO: std::time::Duration = std::time::Duration::from_hours(24);
        let day = || args![id.to_string(), ago(LONG_AGO)];
        let mut transition = self.transition().await?;
        let run = transition
            .row::<Record>("reclaim", &BACKDATE, day())
            .await?;
        let (record, event_type) = if let Some(record) = run {
            transition.note(&record, "reclaim").await?;
            (record, EventType::Submitted)
        } else {
            let leg = transition
                .row::<Record>("reclaim", &BACKDATE_LEG, day())
                .await?;
            let Some(record) = leg else {
                return Ok(None);
            };
            transition.note_leg(&record, "reclaim").await?;
            (record, EventType::PostProcessingRequested)
        };
        transition
            .announce_after(&record, event_type, std::time::Duration::ZERO)
            .await?;
        transition.commit(record).await.map(Some)
    }
}

/// Times of the leg are text on every database.
fn leg_time(time: DateTime<Utc>) -> String {
    time.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}
