-- The bus on SQLite. Times are milliseconds since 1970 by the database's clock.
-- One writer at a time: ids are given in commit order, so a cursor of ids skips nothing.
CREATE TABLE bus_outbox (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    event_id     TEXT    NOT NULL,
    destination  TEXT    NOT NULL,
    event_type   TEXT    NOT NULL,
    payload      TEXT    NOT NULL,
    headers      TEXT    NOT NULL DEFAULT '{}',
    ordering_key TEXT,
    dedupe_key   TEXT,
    only_group   TEXT,
    available_at INTEGER NOT NULL,
    created_at   INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX bus_outbox_dedupe ON bus_outbox (destination, dedupe_key) WHERE dedupe_key IS NOT NULL;
CREATE INDEX bus_outbox_drain ON bus_outbox (destination, id);
CREATE INDEX bus_outbox_age ON bus_outbox (created_at);

CREATE TABLE bus_offsets (
    consumer_group TEXT    PRIMARY KEY,
    lock_key       INTEGER NOT NULL,
    destinations   TEXT    NOT NULL, -- JSON array, only grows
    event_types    TEXT    NOT NULL, -- JSON array, only grows
    last_event_id  INTEGER NOT NULL DEFAULT 0,
    updated_at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE bus_deliveries (
    consumer_group TEXT    NOT NULL,
    outbox_id      INTEGER NOT NULL,
    event_type     TEXT    NOT NULL,
    ordering_key   TEXT,
    visible_at     INTEGER NOT NULL,
    attempts       INTEGER NOT NULL DEFAULT 0, -- claims so far
    failures       INTEGER NOT NULL DEFAULT 0, -- handler failures; attempts - failures = claims that never settled
    claim_token    TEXT,
    claimed_by     TEXT,
    last_error     TEXT,
    PRIMARY KEY (consumer_group, outbox_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX bus_deliveries_due ON bus_deliveries (consumer_group, visible_at, outbox_id);
CREATE INDEX bus_deliveries_key ON bus_deliveries (consumer_group, ordering_key, outbox_id) WHERE ordering_key IS NOT NULL;
CREATE INDEX bus_deliveries_outbox ON bus_deliveries (outbox_id);

CREATE TABLE bus_dead_letters (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    consumer_group TEXT    NOT NULL,
    outbox_id      INTEGER NOT NULL,
    event_id       TEXT    NOT NULL,
    destination    TEXT    NOT NULL,
    event_type     TEXT    NOT NULL,
    payload        TEXT    NOT NULL,
    headers        TEXT    NOT NULL,
    ordering_key   TEXT,
    attempts       INTEGER NOT NULL,
    reason         TEXT    NOT NULL,
    error          TEXT,
    failed_at      INTEGER NOT NULL,
    requeued_at    INTEGER,
    UNIQUE (consumer_group, outbox_id)
) STRICT;
