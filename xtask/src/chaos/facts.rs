//! Reads the facts of the audit straight from the tables, in one snapshot where the database has one. Every column
//! as text, so that both databases read alike.

use anyhow::{Context as _, Result};
use sqlx::{
    AssertSqlSafe, PgPool, Row as _, SqlitePool, postgres::PgPoolOptions, sqlite::SqlitePoolOptions,
};

use super::audit::{Event, Facts, Hook, Moment, Owed, Row};

/// The database of the fleet, past everything that is tested.
pub(super) enum Database {
    Postgres(PgPool),
    Sqlite(SqlitePool),
}

/// How much is still to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Open {
    pub(super) rows: i64,
    pub(super) legs: i64,
    pub(super) events: i64,
    pub(super) webhooks: i64,
}

impl Open {
    pub(super) const fn nothing(self) -> bool {
        self.rows + self.legs + self.events + self.webhooks == 0
    }
}

type Texts = Vec<Option<String>>;

const OPEN: &str = "\
SELECT (SELECT count(*) FROM extractions WHERE status IN ('queued', 'running')),
       (SELECT count(*) FROM extractions
        WHERE post_processing->'bbox_refinement'->>'status' IN ('pending', 'running')),
       (SELECT count(*) FROM {deliveries} d WHERE {owed}),
       (SELECT count(*) FROM webhook_deliveries WHERE status = 'pending')";

const ROWS: &str = "\
SELECT id, metadata->>'chaos', status, CAST(attempts AS text), error->>'code',
       CAST((SELECT count(*) FROM extraction_results r WHERE r.extraction_id = e.id) AS text),
       post_processing->'bbox_refinement'->>'status', post_processing->'bbox_refinement'->'error'->>'code'
FROM extractions e";

const MOMENTS: &str = "\
SELECT extraction_id, {at}, method, status, leg_status, CAST(attempts AS text), worker
FROM extraction_history ORDER BY extraction_id, revision";

const EVENTS: &str = "\
SELECT CAST(event_id AS text), {payload}->'extraction'->>'id', event_type, {payload}->'extraction'->>'status',
       {payload}->'extraction'->'post_processing'->'bbox_refinement'->>'status'
FROM {outbox}";

const OWED: &str = "\
SELECT d.consumer_group, d.event_type, {payload}->'extraction'->>'id',
       'attempts ' || d.attempts || ', failures ' || d.failures || ', ' || coalesce(d.claimed_by, 'nobody') || ', '
       || coalesce(d.last_error, 'no error')
FROM {deliveries} d JOIN {outbox} o ON o.id = d.outbox_id WHERE {owed}";

const LETTERS: &str = "\
SELECT consumer_group, event_type, {payload}->'extraction'->>'id', reason || ': ' || coalesce(error, 'no error')
FROM {letters}";

const HOOKS: &str =
    "SELECT event_id, extraction_id, event_type, status, {body} FROM webhook_deliveries";

const BURIED: &str = "SELECT instance, {dead_at} FROM workers WHERE dead_at IS NOT NULL";

/// What each database calls the parts in braces.
const POSTGRES: &[(&str, &str)] = &[
    ("{at}", "extract(epoch FROM at)::text"),
    ("{dead_at}", "extract(epoch FROM dead_at)::text"),
    ("{payload}", "payload::json"),
    ("{outbox}", "bus.outbox"),
    ("{deliveries}", "bus.deliveries"),
    ("{letters}", "bus.dead_letters"),
    ("{owed}", "d.done_at IS NULL"),
    ("{body}", "convert_from(body, 'UTF8')"),
];
const SQLITE: &[(&str, &str)] = &[
    (
        "{at}",
        "CAST((julianday(at) - 2440587.5) * 86400.0 AS text)",
    ),
    (
        "{dead_at}",
        "CAST((julianday(dead_at) - 2440587.5) * 86400.0 AS text)",
    ),
    ("{payload}", "payload"),
    ("{outbox}", "bus_outbox"),
    ("{deliveries}", "bus_deliveries"),
    ("{letters}", "bus_dead_letters"),
    ("{owed}", "true"),
    ("{body}", "CAST(body AS text)"),
];

impl Database {
    pub(super) async fn open(url: &str) -> Result<Self> {
        Ok(if url.starts_with("sqlite:") {
            Self::Sqlite(
                SqlitePoolOptions::new()
                    .max_connections(1)
                    .connect(url)
                    .await?,
            )
        } else {
            let pool = PgPoolOptions::new().max_connections(1);
            Self::Postgres(pool.connect(url).await?)
        })
    }

    /// How much is still to be done.
    pub(super) async fn open_work(&self) -> Result<Open> {
        let text = OPEN.replace("(SELECT count(*)", "(SELECT CAST(count(*) AS text)");
        let rows = self.read(&text).await?;
        let row = rows.first().context("no counts")?;
        let count = |at| number(row, at).map(|count| count as i64);
        Ok(Open {
            rows: count(0)?,
            legs: count(1)?,
            events: count(2)?,
            webhooks: count(3)?,
        })
    }

    /// Fills in everything that the database knows.
    pub(super) async fn read_into(&self, facts: &mut Facts) -> Result<()> {
        for row in self.read(ROWS).await? {
            facts.rows.push(Row {
                id: text(&row, 0),
                nonce: text(&row, 1),
                status: text(&row, 2),
                attempts: number(&row, 3)? as i64,
                error: maybe(&row, 4),
                results: number(&row, 5)? as i64,
                leg: maybe(&row, 6),
                leg_error: maybe(&row, 7),
            });
        }
        for row in self.read(MOMENTS).await? {
            facts.moments.push(Moment {
                id: text(&row, 0),
                at: number(&row, 1)?,
                method: text(&row, 2),
                status: text(&row, 3),
                leg: maybe(&row, 4),
                attempts: number(&row, 5)? as i64,
                worker: maybe(&row, 6),
            });
        }
        for row in self.read(EVENTS).await? {
            facts.events.push(Event {
                event_id: text(&row, 0),
                id: text(&row, 1),
                event_type: text(&row, 2),
                status: text(&row, 3),
                leg: maybe(&row, 4),
            });
        }
        facts.undelivered = self.read(OWED).await?.iter().map(owed).collect();
        facts.dead_letters = self.read(LETTERS).await?.iter().map(owed).collect();
        for row in self.read(HOOKS).await? {
            facts.hooks.push(Hook {
                event_id: text(&row, 0),
                id: text(&row, 1),
                event_type: text(&row, 2),
                status: text(&row, 3),
                body: text(&row, 4),
            });
        }
        for row in self.read(BURIED).await? {
            facts.buried.insert(text(&row, 0), number(&row, 1)?);
        }
        Ok(())
    }

    async fn read(&self, sql: &str) -> Result<Vec<Texts>> {
        let names = match self {
            Self::Postgres(_) => POSTGRES,
            Self::Sqlite(_) => SQLITE,
        };
        let sql = names
            .iter()
            .fold(sql.to_owned(), |sql, (name, text)| sql.replace(name, text));
        let columns = |count: usize| 0..count;
        let query = AssertSqlSafe(sql.clone());
        let rows = match self {
            Self::Postgres(pool) => sqlx::query(query)
                .fetch_all(pool)
                .await
                .with_context(|| format!("running {sql}"))?
                .iter()
                .map(|row| columns(row.len()).map(|at| row.try_get(at)).collect())
                .collect::<sqlx::Result<Vec<Texts>>>(),
            Self::Sqlite(pool) => sqlx::query(query)
                .fetch_all(pool)
                .await
                .with_context(|| format!("running {sql}"))?
                .iter()
                .map(|row| columns(row.len()).map(|at| row.try_get(at)).collect())
                .collect::<sqlx::Result<Vec<Texts>>>(),
        };
        rows.with_context(|| format!("reading the answer of {sql}"))
    }
}

fn owed(row: &Texts) -> Owed {
    Owed {
        group: text(row, 0),
        event_type: text(row, 1),
        id: text(row, 2),
        why: text(row, 3),
    }
}

fn maybe(row: &Texts, at: usize) -> Option<String> {
    row.get(at).cloned().flatten()
}

fn text(row: &Texts, at: usize) -> String {
    maybe(row, at).unwrap_or_default()
}

fn number(row: &Texts, at: usize) -> Result<f64> {
    let text = text(row, at);
    text.parse()
        .with_context(|| format!("column {at} is {text:?}, no number"))
}
