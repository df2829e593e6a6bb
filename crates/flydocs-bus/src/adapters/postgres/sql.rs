//! The statements of the ledger; `bus.drain`, `bus.claim` and `bus.settle` are in the migration. A settled delivery
//! has no token, so `done_at` need not be asked where a token is.

pub(super) const DRAIN: &str = "SELECT * FROM bus.drain($1, $2)";

pub(super) const CLAIM: &str = "SELECT * FROM bus.claim($1, $2, $3, $4, $5, $6, $7, $8)";

pub(super) const SETTLE: &str = "SELECT * FROM bus.settle($1, $2, $3, true)";

pub(super) const BEAT: &str = "
UPDATE bus.deliveries d SET visible_at = now() + make_interval(secs => $4)
WHERE d.consumer_group = $1 AND d.outbox_id = ANY ($2)
  AND (d.outbox_id, d.claim_token) IN (SELECT * FROM unnest($2::bigint[], $3::uuid[]))
RETURNING d.outbox_id, d.claim_token";

pub(super) const FAILURES: &str = "
SELECT failures FROM bus.deliveries
WHERE consumer_group = $1 AND outbox_id = $2 AND claim_token = $3 FOR UPDATE";

/// `$4` seconds and up to `$5` more, so that what failed together does not come back together.
pub(super) const RETRY: &str = "
UPDATE bus.deliveries
SET visible_at = now() + make_interval(secs => $4 + random() * $5), claim_token = NULL, claimed_by = NULL,
    failures = failures + 1, last_error = left($6, 4000)
WHERE consumer_group = $1 AND outbox_id = $2 AND claim_token = $3";

pub(super) const DEFER: &str = "
UPDATE bus.deliveries
SET visible_at = now() + make_interval(secs => $4), claim_token = NULL, claimed_by = NULL, attempts = attempts - 1
WHERE consumer_group = $1 AND outbox_id = $2 AND claim_token = $3";

pub(super) const LEAVE: &str = "
UPDATE bus.deliveries
SET visible_at = now(), claim_token = NULL, claimed_by = NULL, attempts = attempts - 1
WHERE consumer_group = $1 AND claimed_by = $2 AND claim_token IS NOT NULL AND done_at IS NULL";

pub(super) const DEAD_LETTER: &str = "
WITH given_up AS (
    UPDATE bus.deliveries
    SET done_at = now(), claim_token = NULL, failures = failures + 1, last_error = left($5, 4000)
    WHERE consumer_group = $1 AND outbox_id = $2 AND claim_token = $3
    RETURNING outbox_id, attempts
), kept AS (
    INSERT INTO bus.dead_letters (consumer_group, outbox_id, event_id, destination, event_type, payload, headers,
        ordering_key, attempts, reason, error)
    SELECT $1, o.id, o.event_id, o.destination, o.event_type, o.payload, o.headers, o.ordering_key, g.attempts,
        $4, left($5, 4000)
    FROM given_up g JOIN bus.outbox o ON o.id = g.outbox_id
    ON CONFLICT DO NOTHING
)
SELECT count(*) FROM given_up";

pub(super) const BURY: &str = "
WITH buried AS MATERIALIZED (
    SELECT d.consumer_group, d.outbox_id, d.attempts, d.last_error FROM bus.deliveries d
    WHERE d.consumer_group = $1 AND d.done_at IS NULL AND d.visible_at <= now()
      AND d.attempts - d.failures >= 2 AND d.attempts - d.failures >= $2
    ORDER BY d.visible_at LIMIT 50 FOR UPDATE SKIP LOCKED
), kept AS (
    INSERT INTO bus.dead_letters (consumer_group, outbox_id, event_id, destination, event_type, payload, headers,
        ordering_key, attempts, reason, error)
    SELECT b.consumer_group, b.outbox_id, o.event_id, o.destination, o.event_type, o.payload, o.headers,
        o.ordering_key, b.attempts, 'claimed repeatedly, never settled', b.last_error
    FROM buried b JOIN bus.outbox o ON o.id = b.outbox_id
    ON CONFLICT DO NOTHING
)
UPDATE bus.deliveries d SET done_at = now(), claim_token = NULL
FROM buried b WHERE d.consumer_group = b.consumer_group AND d.outbox_id = b.outbox_id";
