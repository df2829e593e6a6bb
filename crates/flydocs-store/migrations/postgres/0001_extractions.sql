-- PostgreSQL 13 and later. Times are the server's clock. JSON that callers gave is kept as they wrote it (json);
-- post_processing is jsonb, as the operators' recipes ask.
CREATE TABLE extractions (
    id                  text        PRIMARY KEY,
    tenant_id           text,
    idempotency_key     text,
    request_digest      text        NOT NULL,
    status              text        NOT NULL,
    filename            text        NOT NULL,
    content_sha256      text        NOT NULL,
    content_bytes       bigint      NOT NULL,
    callback_url        text,
    metadata            json        NOT NULL,
    correlation         json        NOT NULL,
    error               json,
    attempts            bigint      NOT NULL DEFAULT 0,
    submitted_at        timestamptz NOT NULL,
    started_at          timestamptz,
    finished_at         timestamptz,
    next_attempt_at     timestamptz,
    cancel_requested_at timestamptz,
    claimed_by          text,
    heartbeat_at        timestamptz,
    progress            json,
    post_processing     jsonb,
    revision            bigint      NOT NULL DEFAULT 1, -- grows with every visible change
    fence               bigint      NOT NULL DEFAULT 0, -- grows with every transition, never goes back
    request             json        NOT NULL,
    CONSTRAINT extractions_status CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    CONSTRAINT extractions_leg_status CHECK (
        post_processing IS NULL
        OR (status = 'succeeded'
            AND coalesce(post_processing->'bbox_refinement'->>'status', '')
                IN ('pending', 'running', 'succeeded', 'failed'))),
    CONSTRAINT extractions_finished_at CHECK ((finished_at IS NOT NULL) = (status IN ('succeeded', 'failed', 'cancelled'))),
    CONSTRAINT extractions_started_at CHECK (started_at IS NOT NULL OR status IN ('queued', 'cancelled')),
    CONSTRAINT extractions_claimed_by CHECK (status <> 'running' OR (claimed_by IS NOT NULL AND heartbeat_at IS NOT NULL)),
    CONSTRAINT extractions_counters CHECK (attempts >= 0 AND fence >= 0 AND revision >= 1)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

-- One key, one row, within a tenant. The key comes first so that a look-up without a tenant finds it too.
CREATE UNIQUE INDEX uq_extractions_idempotency_key ON extractions (idempotency_key, coalesce(tenant_id, ''))
    WHERE idempotency_key IS NOT NULL;
-- the list
CREATE INDEX ix_extractions_submitted ON extractions (submitted_at, id);
CREATE INDEX ix_extractions_tenant ON extractions (tenant_id, submitted_at, id) WHERE tenant_id IS NOT NULL;
CREATE INDEX ix_extractions_status ON extractions (status, submitted_at, id);
CREATE INDEX ix_extractions_leg_status
    ON extractions ((post_processing->'bbox_refinement'->>'status'), submitted_at, id)
    WHERE post_processing IS NOT NULL;
-- the reapers
CREATE INDEX ix_extractions_queued ON extractions (coalesce(next_attempt_at, submitted_at), id) WHERE status = 'queued';
CREATE INDEX ix_extractions_running ON extractions (started_at, id) WHERE status = 'running';
CREATE INDEX ix_extractions_leg_pending
    ON extractions (coalesce(post_processing->'bbox_refinement'->>'requested_at', '1970-01-01T00:00:00.000Z'), id)
    WHERE (post_processing->'bbox_refinement'->>'status') = 'pending';
CREATE INDEX ix_extractions_leg_running
    ON extractions ((post_processing->'bbox_refinement'->>'started_at'), id)
    WHERE (post_processing->'bbox_refinement'->>'status') = 'running';
-- the retention
CREATE INDEX ix_extractions_finished ON extractions (finished_at, id) WHERE finished_at IS NOT NULL;

CREATE TABLE extraction_results (
    extraction_id text        PRIMARY KEY REFERENCES extractions (id) ON DELETE CASCADE,
    updated_at    timestamptz NOT NULL,
    result        json        NOT NULL
);

CREATE TABLE extraction_history (
    extraction_id text        NOT NULL REFERENCES extractions (id) ON DELETE CASCADE,
    revision      bigint      NOT NULL,
    at            timestamptz NOT NULL,
    method        text        NOT NULL,
    status        text        NOT NULL,
    leg_status    text,
    attempts      bigint      NOT NULL,
    worker        text,
    error         json,
    PRIMARY KEY (extraction_id, revision)
);

CREATE TABLE blobs (
    blob_id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sha256     text UNIQUE, -- NULL while it is being uploaded
    bytes      bigint      NOT NULL,
    referenced bigint      NOT NULL DEFAULT 0, -- how many rows of extraction_blobs point here
    touched_at timestamptz NOT NULL,
    CONSTRAINT blobs_referenced CHECK (referenced >= 0)
);
CREATE INDEX ix_blobs_unreferenced ON blobs (touched_at) WHERE referenced = 0;

CREATE TABLE blob_chunks (
    blob_id  bigint NOT NULL REFERENCES blobs (blob_id) ON DELETE CASCADE,
    position bigint NOT NULL,
    content  bytea  NOT NULL,
    PRIMARY KEY (blob_id, position)
);
-- PDFs and images are compressed already: do not try again on every chunk.
ALTER TABLE blob_chunks ALTER COLUMN content SET STORAGE EXTERNAL;

CREATE TABLE extraction_blobs (
    extraction_id text   NOT NULL REFERENCES extractions (id) ON DELETE CASCADE,
    position      bigint NOT NULL,
    blob_id       bigint NOT NULL REFERENCES blobs (blob_id),
    PRIMARY KEY (extraction_id, position)
);
CREATE INDEX ix_extraction_blobs_blob ON extraction_blobs (blob_id);

CREATE TABLE webhook_deliveries (
    event_id         text        PRIMARY KEY,
    extraction_id    text        NOT NULL REFERENCES extractions (id) ON DELETE CASCADE,
    event_type       text        NOT NULL,
    url              text        NOT NULL,
    receiver         text        NOT NULL, -- host:port
    correlation      json        NOT NULL,
    status           text        NOT NULL,
    attempts         bigint      NOT NULL DEFAULT 0,
    attempts_before  bigint      NOT NULL DEFAULT 0, -- attempts before the last redelivery by hand
    fence            bigint      NOT NULL DEFAULT 0,
    claimed_by       text,
    created_at       timestamptz NOT NULL,
    round_started_at timestamptz NOT NULL,
    next_attempt_at  timestamptz,
    finished_at      timestamptz,
    body             bytea       NOT NULL,
    CONSTRAINT webhook_deliveries_status CHECK (status IN ('pending', 'delivered', 'failed')),
    CONSTRAINT webhook_deliveries_due CHECK ((next_attempt_at IS NOT NULL) = (status = 'pending')),
    CONSTRAINT webhook_deliveries_finished_at CHECK ((finished_at IS NOT NULL) = (status <> 'pending'))
) WITH (fillfactor = 80);
CREATE INDEX ix_webhook_deliveries_due ON webhook_deliveries (next_attempt_at, event_id) WHERE status = 'pending';
CREATE INDEX ix_webhook_deliveries_extraction ON webhook_deliveries (extraction_id, created_at);

CREATE TABLE webhook_attempts (
    event_id    text        NOT NULL REFERENCES webhook_deliveries (event_id) ON DELETE CASCADE,
    attempt     bigint      NOT NULL,
    at          timestamptz NOT NULL,
    status_code bigint,
    duration_ms bigint      NOT NULL,
    error       text,
    answer      text, -- the first 4 KiB
    PRIMARY KEY (event_id, attempt)
);

CREATE TABLE workers (
    instance      text        PRIMARY KEY,
    name          text        NOT NULL,
    lock_key      bigint, -- the session advisory lock it holds while it lives; NULL when nobody can tell
    registered_at timestamptz NOT NULL,
    dead_at       timestamptz
);
CREATE INDEX ix_workers_alive ON workers (instance) WHERE dead_at IS NULL;
