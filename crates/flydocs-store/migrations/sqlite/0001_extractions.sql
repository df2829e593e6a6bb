-- Times are text, UTC, `2026-11-30T14:23:28.123Z`, by the database's clock: they compare as they sort.
CREATE TABLE extractions (
    id                  TEXT    NOT NULL PRIMARY KEY,
    tenant_id           TEXT,
    idempotency_key     TEXT,
    request_digest      TEXT    NOT NULL,
    status              TEXT    NOT NULL,
    filename            TEXT    NOT NULL,
    content_sha256      TEXT    NOT NULL,
    content_bytes       INTEGER NOT NULL,
    callback_url        TEXT,
    metadata            TEXT    NOT NULL, -- JSON, the caller's own
    correlation         TEXT    NOT NULL, -- JSON
    error               TEXT,             -- JSON {code, message}
    attempts            INTEGER NOT NULL DEFAULT 0,
    submitted_at        TEXT    NOT NULL,
    started_at          TEXT,
    finished_at         TEXT,
    next_attempt_at     TEXT,
    cancel_requested_at TEXT,
    claimed_by          TEXT,
    heartbeat_at        TEXT,
    progress            TEXT,             -- JSON
    post_processing     TEXT,             -- JSON {bbox_refinement: {status, requested_at, started_at, ...}}
    revision            INTEGER NOT NULL DEFAULT 1, -- grows with every visible change
    fence               INTEGER NOT NULL DEFAULT 0, -- grows with every transition, never goes back
    request             TEXT    NOT NULL, -- JSON, last: it is long and seldom read
    CONSTRAINT extractions_status CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    CONSTRAINT extractions_leg_status CHECK (
        post_processing IS NULL
        OR (status = 'succeeded'
            AND coalesce(post_processing ->> '$.bbox_refinement.status', '')
                IN ('pending', 'running', 'succeeded', 'failed'))),
    CONSTRAINT extractions_finished_at CHECK ((finished_at IS NOT NULL) = (status IN ('succeeded', 'failed', 'cancelled'))),
    CONSTRAINT extractions_started_at CHECK (started_at IS NOT NULL OR status IN ('queued', 'cancelled')),
    CONSTRAINT extractions_claimed_by CHECK (status <> 'running' OR (claimed_by IS NOT NULL AND heartbeat_at IS NOT NULL)),
    CONSTRAINT extractions_counters CHECK (attempts >= 0 AND fence >= 0 AND revision >= 1)
) STRICT;

-- One key, one row, within a tenant. The key comes first so that a look-up without a tenant finds it too.
CREATE UNIQUE INDEX uq_extractions_idempotency_key ON extractions (idempotency_key, coalesce(tenant_id, ''))
    WHERE idempotency_key IS NOT NULL;
-- the list
CREATE INDEX ix_extractions_submitted ON extractions (submitted_at, id);
CREATE INDEX ix_extractions_tenant ON extractions (tenant_id, submitted_at, id) WHERE tenant_id IS NOT NULL;
CREATE INDEX ix_extractions_status ON extractions (status, submitted_at, id);
CREATE INDEX ix_extractions_leg_status
    ON extractions ((post_processing ->> '$.bbox_refinement.status'), submitted_at, id)
    WHERE post_processing IS NOT NULL;
-- the reapers
CREATE INDEX ix_extractions_queued ON extractions (coalesce(next_attempt_at, submitted_at), id) WHERE status = 'queued';
CREATE INDEX ix_extractions_running ON extractions (started_at, id) WHERE status = 'running';
CREATE INDEX ix_extractions_leg_pending
    ON extractions (coalesce(post_processing ->> '$.bbox_refinement.requested_at', '1970-01-01T00:00:00.000Z'), id)
    WHERE (post_processing ->> '$.bbox_refinement.status') = 'pending';
CREATE INDEX ix_extractions_leg_running
    ON extractions ((post_processing ->> '$.bbox_refinement.started_at'), id)
    WHERE (post_processing ->> '$.bbox_refinement.status') = 'running';
-- the retention
CREATE INDEX ix_extractions_finished ON extractions (finished_at, id) WHERE finished_at IS NOT NULL;

CREATE TABLE extraction_results (
    extraction_id TEXT NOT NULL PRIMARY KEY REFERENCES extractions (id) ON DELETE CASCADE,
    updated_at    TEXT NOT NULL,
    result        TEXT NOT NULL -- JSON
) STRICT;

CREATE TABLE extraction_history (
    extraction_id TEXT    NOT NULL REFERENCES extractions (id) ON DELETE CASCADE,
    revision      INTEGER NOT NULL,
    at            TEXT    NOT NULL,
    method        TEXT    NOT NULL,
    status        TEXT    NOT NULL,
    leg_status    TEXT,
    attempts      INTEGER NOT NULL,
    worker        TEXT,
    error         TEXT,
    PRIMARY KEY (extraction_id, revision)
) STRICT, WITHOUT ROWID;

CREATE TABLE blobs (
    blob_id    INTEGER PRIMARY KEY,
    sha256     TEXT UNIQUE, -- NULL while it is being uploaded
    bytes      INTEGER NOT NULL,
    referenced INTEGER NOT NULL DEFAULT 0, -- how many rows of extraction_blobs point here
    touched_at TEXT    NOT NULL,
    CONSTRAINT blobs_referenced CHECK (referenced >= 0)
) STRICT;
CREATE INDEX ix_blobs_unreferenced ON blobs (touched_at) WHERE referenced = 0;

CREATE TABLE blob_chunks (
    blob_id  INTEGER NOT NULL REFERENCES blobs (blob_id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    content  BLOB    NOT NULL,
    PRIMARY KEY (blob_id, position)
) STRICT;

CREATE TABLE extraction_blobs (
    extraction_id TEXT    NOT NULL REFERENCES extractions (id) ON DELETE CASCADE,
    position      INTEGER NOT NULL,
    blob_id       INTEGER NOT NULL REFERENCES blobs (blob_id),
    PRIMARY KEY (extraction_id, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX ix_extraction_blobs_blob ON extraction_blobs (blob_id);

CREATE TABLE webhook_deliveries (
    event_id         TEXT    NOT NULL PRIMARY KEY,
    extraction_id    TEXT    NOT NULL REFERENCES extractions (id) ON DELETE CASCADE,
    event_type       TEXT    NOT NULL,
    url              TEXT    NOT NULL,
    receiver         TEXT    NOT NULL, -- host:port
    correlation      TEXT    NOT NULL, -- JSON
    status           TEXT    NOT NULL,
    attempts         INTEGER NOT NULL DEFAULT 0,
    attempts_before  INTEGER NOT NULL DEFAULT 0, -- attempts before the last redelivery by hand
    fence            INTEGER NOT NULL DEFAULT 0,
    claimed_by       TEXT,
    created_at       TEXT    NOT NULL,
    round_started_at TEXT    NOT NULL,
    next_attempt_at  TEXT,
    finished_at      TEXT,
    body             BLOB    NOT NULL,
    CONSTRAINT webhook_deliveries_status CHECK (status IN ('pending', 'delivered', 'failed')),
    CONSTRAINT webhook_deliveries_due CHECK ((next_attempt_at IS NOT NULL) = (status = 'pending')),
    CONSTRAINT webhook_deliveries_finished_at CHECK ((finished_at IS NOT NULL) = (status <> 'pending'))
) STRICT;
CREATE INDEX ix_webhook_deliveries_due ON webhook_deliveries (next_attempt_at, event_id) WHERE status = 'pending';
CREATE INDEX ix_webhook_deliveries_extraction ON webhook_deliveries (extraction_id, created_at);

CREATE TABLE webhook_attempts (
    event_id    TEXT    NOT NULL REFERENCES webhook_deliveries (event_id) ON DELETE CASCADE,
    attempt     INTEGER NOT NULL,
    at          TEXT    NOT NULL,
    status_code INTEGER,
    duration_ms INTEGER NOT NULL,
    error       TEXT,
    answer      TEXT, -- the first 4 KiB
    PRIMARY KEY (event_id, attempt)
) STRICT, WITHOUT ROWID;

CREATE TABLE workers (
    instance      TEXT    NOT NULL PRIMARY KEY,
    name          TEXT    NOT NULL,
    registered_at TEXT    NOT NULL,
    dead_at       TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX ix_workers_alive ON workers (instance) WHERE dead_at IS NULL;
