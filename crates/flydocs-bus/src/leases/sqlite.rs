//! Leases on SQLite.

use sqlx::SqliteConnection;

use crate::error::{Result, while_doing};

const FREE: &str = "\
UPDATE bus_deliveries
SET visible_at = CAST(unixepoch('now', 'subsec') * 1000 AS INTEGER), claim_token = NULL, claimed_by = NULL
WHERE consumer_group IN (SELECT consumer_group FROM bus_offsets)
  AND visible_at > CAST(unixepoch('now', 'subsec') * 1000 AS INTEGER)
  AND claim_token IS NOT NULL AND substr(claimed_by, 1, length(?1) + 1) = ?1 || '#'";

/// Ends every lease of the consumer in the caller's transaction (`BEGIN IMMEDIATE`); how many there were. Call
/// [`crate::Bus::wake`] after the commit.
///
/// `consumer` is the name its [`crate::Subscription`] had. If it lives after all, its tickets are lost and settle
/// nothing.
pub async fn free(conn: &mut SqliteConnection, consumer: &str) -> Result<u64> {
    let freed = sqlx::query(FREE)
        .bind(consumer)
        .execute(conn)
        .await
        .map_err(while_doing("free the leases of a dead consumer", consumer))?;
    Ok(freed.rows_affected())
}
