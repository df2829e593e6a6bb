//! Pages of the list over a table of a million rows.

use std::time::Duration;

use anyhow::Result;
use flydocs_testkit::postgres;
use sqlx::Connection as _;
use tokio::time::Instant;

use super::{
    Page, Plan,
    figures::Figures,
    process::{Process, client, sqlite},
};

const BAR: Duration = Duration::from_millis(50);
const CALLS: u32 = 200;

const FILL_SQLITE: &str = "\
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
INSERT INTO extractions (id, request_digest, status, filename, content_sha256, content_bytes, metadata, correlation,
                         attempts, submitted_at, started_at, finished_at, request)
SELECT 'ext_' || printf('%026d', i), '', CASE i % 10 WHEN 0 THEN 'failed' ELSE 'succeeded' END, 'a.pdf', '', 1, '{}',
       '{}', 1, strftime('%Y-%m-%dT%H:%M:%fZ', 1760000000 + i, 'unixepoch'),
       strftime('%Y-%m-%dT%H:%M:%fZ', 1760000000 + i, 'unixepoch'),
       strftime('%Y-%m-%dT%H:%M:%fZ', 1760000001 + i, 'unixepoch'), '{}' FROM n";

const FILL_POSTGRES: &str = "\
INSERT INTO extractions (id, request_digest, status, filename, content_sha256, content_bytes, metadata, correlation,
                         attempts, submitted_at, started_at, finished_at, request)
SELECT 'ext_' || lpad(i::text, 26, '0'), '', CASE i % 10 WHEN 0 THEN 'failed' ELSE 'succeeded' END, 'a.pdf', '', 1,
       '{}', '{}', 1, to_timestamp(1760000000 + i), to_timestamp(1760000000 + i), to_timestamp(1760000001 + i), '{}'
FROM generate_series(1, $1) i";

const QUERIES: [(&str, &str); 3] = [
    ("newest page", "limit=50"),
    ("status=failed", "status=failed&limit=50"),
    (
        "a day",
        "created_after=2025-10-12T00:00:00Z&created_before=2025-10-13T00:00:00Z",
    ),
];

/// Measures both stores.
pub(super) async fn measure(plan: &Plan, page: &mut Page) -> Result<()> {
    page.line(&format!(
        "\n## Listing at {} rows\n\nMilliseconds of {CALLS} calls, one after the other; bar: p99 under 50 ms.\n\n\
         | | p50 | p99 | longest | |\n|---|--:|--:|--:|---|",
        plan.rows
    ));
    let rows = i64::try_from(plan.rows)?;
    let folder = tempfile::tempdir()?;
    let database = sqlite(folder.path());
    let serve = Process::start(plan, "serve", &database)?;
    let mut connection = sqlx::SqliteConnection::connect(&database).await?;
    sqlx::query(FILL_SQLITE)
        .bind(rows)
        .execute(&mut connection)
        .await?;
    connection.close().await?;
    pages("SQLite", &serve, page).await?;
    drop(serve);
    let on_postgres = postgres::database().await?;
    let serve = Process::start(plan, "serve", &on_postgres.url)?;
    let mut connection = sqlx::PgConnection::connect(&on_postgres.url).await?;
    sqlx::query(FILL_POSTGRES)
        .bind(rows)
        .execute(&mut connection)
        .await?;
    sqlx::query("ANALYZE").execute(&mut connection).await?;
    connection.close().await?;
    pages("PostgreSQL", &serve, page).await
}

async fn pages(store: &str, serve: &Process, page: &mut Page) -> Result<()> {
    let client = client()?;
    for (name, query) in QUERIES {
        let url = format!("{}/api/v1/extractions?{query}", serve.url);
        let mut times = Vec::new();
        for _ in 0..CALLS {
            let began = Instant::now();
            let answered = client.get(&url).send().await?.error_for_status()?;
            answered.bytes().await?;
            times.push(began.elapsed());
        }
        let figures = Figures::of(times);
        page.line(&format!(
            "| {store}, {name} | {} | {} |",
            figures.cells(),
            Page::verdict(figures.at(0.99) <= BAR)
        ));
    }
    Ok(())
}
