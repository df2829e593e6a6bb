//! The statements of the ledger.

/// Tickets as JSON pairs `[[outbox_id, "token"], ...]` in `?2`.
macro_rules! held {
    () => {
        "consumer_group = ?1 AND (outbox_id, claim_token) IN
     (SELECT value ->> 0, value ->> 1 FROM json_each(?2))"
    };
}

pub(super) const LOOK: &str = concat!(
    "SELECT
  EXISTS (SELECT 1 FROM bus_outbox o WHERE o.id > f.last_event_id) AS undrained,
  EXISTS (SELECT 1 FROM bus_deliveries d WHERE d.consumer_group = ?1 AND d.visible_at <= ",
    now!(),
    ") AS due,
  EXISTS (SELECT 1 FROM bus_deliveries d WHERE d.consumer_group = ?1 AND d.visible_at <= ",
    now!(),
    "
    AND d.attempts - d.failures >= 2) AS suspects,
  (SELECT min(d.visible_at) - ",
    now!(),
    " FROM bus_deliveries d
    WHERE d.consumer_group = ?1 AND d.visible_at > ",
    now!(),
    ") AS next_due
FROM bus_offsets f WHERE f.consumer_group = ?1"
);

/// The last id of the next batch and how many ids it spans.
pub(super) const BATCH: &str = "
SELECT max(id), count(*) FROM (
  SELECT o.id FROM bus_outbox o
  WHERE o.id > (SELECT last_event_id FROM bus_offsets WHERE consumer_group = ?1)
  ORDER BY o.id LIMIT ?2)";

pub(super) const DRAIN: &str = "
INSERT INTO bus_deliveries (consumer_group, outbox_id, event_type, ordering_key, visible_at)
SELECT f.consumer_group, o.id, o.event_type, o.ordering_key, o.available_at
FROM bus_offsets f JOIN bus_outbox o ON o.id > f.last_event_id AND o.id <= ?2
WHERE f.consumer_group = ?1
  AND o.destination IN (SELECT value FROM json_each(f.destinations))
  AND o.event_type IN (SELECT value FROM json_each(f.event_types))
  AND (o.only_group IS NULL OR o.only_group = f.consumer_group)
ORDER BY o.id";

pub(super) const ADVANCE: &str = concat!(
    "UPDATE bus_offsets SET last_event_id = ?2, updated_at = ",
    now!(),
    " WHERE consumer_group = ?1"
);

pub(super) const CLAIM: &str = concat!(
    "UPDATE bus_deliveries
SET visible_at = ",
    now!(),
    " + ?3, attempts = attempts + 1, claim_token = ?4, claimed_by = ?5
WHERE consumer_group = ?1 AND outbox_id IN (
  SELECT d.outbox_id FROM bus_deliveries d
  WHERE d.consumer_group = ?1 AND d.visible_at <= ",
    now!(),
    "
    AND d.attempts - d.failures < ?6
    AND (d.attempts - d.failures >= 2) = ?7
    AND d.event_type IN (SELECT value FROM json_each(?8))
    AND (d.ordering_key IS NULL OR NOT EXISTS (
      SELECT 1 FROM bus_deliveries e
      WHERE e.consumer_group = d.consumer_group AND e.ordering_key = d.ordering_key
        AND e.outbox_id < d.outbox_id))
  ORDER BY d.visible_at, d.outbox_id LIMIT ?2)"
);

pub(super) const CLAIMED: &str = "
SELECT d.outbox_id, d.attempts, d.failures, o.event_id, o.destination, o.event_type, o.payload, o.headers,
       o.ordering_key, o.created_at, o.available_at
FROM bus_deliveries d JOIN bus_outbox o ON o.id = d.outbox_id
WHERE d.consumer_group = ?1 AND d.claim_token = ?2 ORDER BY d.outbox_id";

pub(super) const BEAT: &str = concat!(
    "UPDATE bus_deliveries SET visible_at = ",
    now!(),
    " + ?3 WHERE ",
    held!(),
    " RETURNING outbox_id, claim_token"
);

pub(super) const DONE: &str = concat!(
    "DELETE FROM bus_deliveries WHERE ",
    held!(),
    " RETURNING outbox_id, claim_token"
);

pub(super) const FAILURES: &str = concat!("SELECT failures FROM bus_deliveries WHERE ", held!());

/// `?3` milliseconds and up to a fifth more, so that what failed together does not come back together.
pub(super) const RETRY: &str = concat!(
    "UPDATE bus_deliveries
SET visible_at = ",
    now!(),
    " + ?3 + abs(random() % (?4 + 1)), claim_token = NULL, claimed_by = NULL,
    failures = failures + 1, last_error = substr(?5, 1, 4000)
WHERE ",
    held!()
);

pub(super) const DEFER: &str = concat!(
    "UPDATE bus_deliveries
SET visible_at = ",
    now!(),
    " + ?3, claim_token = NULL, claimed_by = NULL, attempts = attempts - 1
WHERE ",
    held!()
);

pub(super) const LEAVE: &str = concat!(
    "UPDATE bus_deliveries
SET visible_at = ",
    now!(),
    ", claim_token = NULL, claimed_by = NULL, attempts = attempts - 1
WHERE consumer_group = ?1 AND claimed_by = ?2 AND claim_token IS NOT NULL"
);

pub(super) const KEEP_LETTER: &str = concat!(
    "INSERT INTO bus_dead_letters (consumer_group, outbox_id, event_id, destination, event_type, payload,
  headers, ordering_key, attempts, reason, error, failed_at)
SELECT consumer_group, o.id, o.event_id, o.destination, o.event_type, o.payload,
  o.headers, o.ordering_key, attempts, ?3, substr(?4, 1, 4000), ", now!(), "
FROM bus_deliveries JOIN bus_outbox o ON o.id = outbox_id
WHERE ", held!(), "
ON CONFLICT (consumer_group, outbox_id) DO NOTHING"
);

macro_rules! overdue {
    () => {
        concat!(
            "consumer_group = ?1 AND attempts - failures >= ?2 AND visible_at <= ",
            now!()
        )
    };
}

pub(super) const BURY: &str = concat!(
    "INSERT INTO bus_dead_letters (consumer_group, outbox_id, event_id, destination, event_type, payload,
  headers, ordering_key, attempts, reason, error, failed_at)
SELECT d.consumer_group, o.id, o.event_id, o.destination, o.event_type, o.payload,
  o.headers, o.ordering_key, d.attempts, 'claimed repeatedly, never settled', d.last_error, ", now!(), "
FROM (SELECT * FROM bus_deliveries WHERE ", overdue!(), ") d JOIN bus_outbox o ON o.id = d.outbox_id
ON CONFLICT (consumer_group, outbox_id) DO NOTHING"
);

pub(super) const BURIED: &str = concat!("DELETE FROM bus_deliveries WHERE ", overdue!());
