//! Leases on PostgreSQL.

use sqlx::PgConnection;

use crate::error::{Result, while_doing};

/// What is being settled at this moment is passed over: whoever settles it is not dead.
const FREE: &str = "\
WITH held AS MATERIALIZED (
    SELECT h.consumer_group, h.outbox_id FROM bus.offsets f CROSS JOIN LATERAL (
        SELECT d.consumer_group, d.outbox_id FROM bus.deliveries d
        WHERE d.consumer_group = f.consumer_group AND d.done_at IS NULL AND d.visible_at > now()
          AND d.claim_token IS NOT NULL AND starts_with(d.claimed_by, $1 || '#')
        FOR UPDATE OF d SKIP LOCKED) h
)
UPDATE bus.deliveries d SET visible_at = now(), claim_token = NULL, claimed_by = NULL
FROM held h WHERE d.consumer_group = h.consumer_group AND d.outbox_id = h.outbox_id";

/// Ends every lease of the consumer in the caller's transaction; how many there were. Call [`crate::Bus::wake`] after
/// the commit.
///
/// `consumer` is the name its [`crate::Subscription`] had. If it lives after all, its tickets are lost and settle
/// nothing.
pub async fn free(conn: &mut PgConnection, consumer: &str) -> Result<u64> {
    let freed = sqlx::query(FREE)
        // Asked seldom: not worth a name, and good behind any pooler inside a transaction.
        .persistent(false)
        .bind(consumer)
        .execute(conn)
        .await
        .map_err(while_doing("free the leases of a dead consumer", consumer))?;
    Ok(freed.rows_affected())
}
