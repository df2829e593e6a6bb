//! Every hot statement, explained over a large table: none of them may read all of it.

use std::time::Duration;

use flydocs_contract::{LegStatus, Status};
use sqlx::Row as _;

use crate::{
    change::Changes,
    deliveries,
    dialect::{Arg, Dialect, Sql, ago},
    extractions::{beat, cancel, claim, leg, list, list::ListQuery, reap, settle, submit},
    listing::Filter,
    options::Options,
    postgres::PostgresDatabase,
    retention,
    sqlite::SqliteDatabase,
};

const ID: &str = "ext_00000000000000000000000500";
const HOUR: Duration = Duration::from_hours(1);

/// What is done to one row, what looks for rows, and with what it is bound.
fn statements() -> Vec<(&'static str, Sql, Vec<Arg>)> {
    let error = r#"{"code":"x","message":"y"}"#;
    let fenced = |more: Vec<Arg>| {
        let mut args = args![ID, 1_u32, 1_u32];
        args.extend(more);
        args
    };
    let claimed = || args![ID, "w", ago(HOUR), ago(HOUR), 3_u32];
    let lost = || args![ID, error, ago(HOUR), ago(HOUR), 3_u32];
    let page = |more: Vec<Arg>| {
        let mut args = args![ago(HOUR), "1970-01-01T00:00:00.000Z", "", 500_u32];
        args.extend(more);
        args
    };
    let silent = || vec![ago(HOUR)];
    vec![
        ("look up a key", submit::BY_KEY, args!["k", "t"]),
        ("count the backlog", submit::BACKLOG, args![1000_u32]),
        ("refer to a blob", submit::COUNT_REFERENCE, args!["00"]),
        ("claim", claim::CLAIM, claimed()),
        ("give up", claim::WORKER_LOST, lost()),
        (
            "cancel a lost row",
            claim::CANCEL_LOST,
            args![ID, ago(HOUR), ago(HOUR)],
        ),
        ("look", claim::LOOK, args![ID]),
        ("succeed", settle::SUCCEED, fenced(args![1_i64])),
        ("fail", settle::FAIL, fenced(args![error])),
        ("requeue", settle::REQUEUE, fenced(args![error, HOUR])),
        ("give back", settle::GIVE_BACK, fenced(vec![])),
        ("settle cancelled", settle::CANCEL, fenced(vec![])),
        ("cancel", cancel::CANCEL_QUEUED, args![ID, None::<String>]),
        ("ask to cancel", cancel::ASK, args![ID, None::<String>]),
        ("retry", cancel::RETRY, args![ID, None::<String>]),
        ("claim a leg", leg::CLAIM, claimed()),
        ("give up a leg", leg::WORKER_LOST, lost()),
        ("start a leg", leg::START, args![ID]),
        ("succeed a leg", leg::SUCCEED, fenced(vec![])),
        ("requeue a leg", leg::REQUEUE, fenced(args![error, HOUR])),
        (
            "beat",
            beat::BEAT,
            args![format!(r#"[{{"id":"{ID}","fence":1}}]"#)],
        ),
        ("get", list::GET, args![ID, "t"]),
        ("result", list::RESULT, args![ID, "t"]),
        ("history", list::HISTORY, args![ID, "t", 0_u32]),
        ("count", list::COUNTS, vec![]),
        ("orphans queued", reap::QUEUED, page(vec![])),
        ("orphans retrying", reap::RETRYING, page(vec![])),
        ("orphans running", reap::RUNNING, page(silent())),
        ("orphans leg pending", reap::LEG_PENDING, page(vec![])),
        ("orphans leg running", reap::LEG_RUNNING, page(silent())),
        (
            "claim deliveries",
            deliveries::CLAIM,
            args!["d", HOUR, "[]", 50_u32],
        ),
        (
            "keep a delivery",
            deliveries::KEEP,
            args![ID, 1_u32, 1_u32, HOUR],
        ),
        ("next delivery", deliveries::NEXT, vec![]),
        ("deliveries of one", deliveries::OF_EXTRACTION, args![ID]),
        (
            "old extractions",
            retention::OLD,
            args![ago(720 * HOUR), 100_u32],
        ),
        (
            "unreferenced blobs",
            retention::DELETE_BLOBS,
            args![ago(HOUR), 100_u32],
        ),
    ]
}

fn filters() -> Vec<Filter> {
    let base = Filter::default;
    vec![
        base(),
        Filter {
            tenant_id: Some("t1".into()),
            ..base()
        },
        Filter {
            status: vec![Status::Failed],
            ..base()
        },
        Filter {
            status: vec![Status::Queued, Status::Running],
            ..base()
        },
        Filter {
            post_processing_status: vec![LegStatus::Pending],
            ..base()
        },
        Filter {
            idempotency_key: Some("k5".into()),
            ..base()
        },
        Filter {
            created_after: Some(chrono::DateTime::UNIX_EPOCH + chrono::TimeDelta::days(20_000)),
            created_before: Some(chrono::DateTime::UNIX_EPOCH + chrono::TimeDelta::days(20_001)),
            ..base()
        },
    ]
}

/// Most rows are done; a few of each kind are not.
const FILL_SQLITE: &str = "
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99999),
r AS (SELECT i, strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-' || i || ' seconds') AS at,
             CASE WHEN i % 1000 < 10 THEN 'queued' WHEN i % 1000 = 10 THEN 'running'
                  WHEN i % 1000 < 15 THEN 'failed' ELSE 'succeeded' END AS status FROM n)
INSERT INTO extractions (id, tenant_id, idempotency_key, request_digest, status, filename, content_sha256,
  content_bytes, metadata, correlation, submitted_at, started_at, finished_at, claimed_by, heartbeat_at,
  post_processing, request)
SELECT printf('ext_%026d', i), 't' || (i % 50), CASE WHEN i % 3 = 0 THEN 'k' || i END, 'd', status, 'f', 's', 1,
  '{}', '{}', at, at, CASE WHEN status IN ('succeeded', 'failed') THEN at END, 'w', at,
  CASE WHEN status = 'succeeded' AND i % 3 = 0 THEN json_object('bbox_refinement', json_object('status',
    CASE WHEN i % 1000 < 30 THEN 'pending' WHEN i % 1000 < 32 THEN 'running' ELSE 'succeeded' END,
    'requested_at', at, 'started_at', at, 'attempts', 1)) END, '{}'
FROM r";

const FILL_POSTGRES: &str = r#"
INSERT INTO extractions (id, tenant_id, idempotency_key, request_digest, status, filename, content_sha256,
  content_bytes, metadata, correlation, submitted_at, started_at, finished_at, claimed_by, heartbeat_at,
  post_processing, request)
SELECT 'ext_' || lpad(i::text, 26, '0'), 't' || (i % 50), CASE WHEN i % 3 = 0 THEN 'k' || i END, 'd', status, 'f',
  's', 1, '{}', '{}', at, at, CASE WHEN status IN ('succeeded', 'failed') THEN at END, 'w', at,
  CASE WHEN status = 'succeeded' AND i % 3 = 0 THEN
    CASE WHEN i % 1000 < 30 THEN pending WHEN i % 1000 < 32 THEN running ELSE done END END, '{}'
FROM (SELECT i, now() - make_interval(secs => i) AS at,
             CASE WHEN i % 1000 < 10 THEN 'queued' WHEN i % 1000 = 10 THEN 'running'
                  WHEN i % 1000 < 15 THEN 'failed' ELSE 'succeeded' END AS status
      FROM generate_series(0, 999999) AS i) AS r,
  (SELECT replace(leg, '?', 'pending')::jsonb AS pending, replace(leg, '?', 'running')::jsonb AS running,
          replace(leg, '?', 'succeeded')::jsonb AS done
   FROM (VALUES ('{"bbox_refinement": {"status": "?", "attempts": 1, "requested_at": "2026-01-01T00:00:00.000Z",
                 "started_at": "2026-01-01T00:00:00.000Z"}}')) AS v(leg) OFFSET 0) AS legs"#;

/// As the migration counts what it finds.
const TOTALS: &str = "
INSERT INTO extraction_totals (status, leg_status, slot, number)
SELECT status, coalesce(post_processing->'bbox_refinement'->>'status', ''), 0, count(*)
FROM extractions GROUP BY 1, 2";

/// Deliveries, of which one in a thousand is due, and blobs, of which one in a thousand is not referred to.
const FILL_AROUND: &[&str] = &[
    "ALTER TABLE webhook_deliveries DROP CONSTRAINT IF EXISTS webhook_deliveries_extraction_id_fkey",
    "INSERT INTO webhook_deliveries (event_id, extraction_id, event_type, url, receiver, correlation, status,
       created_at, round_started_at, next_attempt_at, finished_at, body)
     SELECT 'e' || i, 'ext_' || lpad(i::text, 26, '0'), 'extraction.completed', 'u', 'r', '{}',
       CASE WHEN i % 1000 = 0 THEN 'pending' ELSE 'delivered' END, at, at,
       CASE WHEN i % 1000 = 0 THEN at END, CASE WHEN i % 1000 <> 0 THEN at END, 'b'
     FROM (SELECT i, now() - make_interval(secs => i) AS at FROM generate_series(0, 199999) AS i) AS r",
    "INSERT INTO blobs (sha256, bytes, referenced, touched_at)
     SELECT lpad(i::text, 64, '0'), 1, CASE WHEN i % 1000 = 0 THEN 0 ELSE 1 END, now() - make_interval(secs => i)
     FROM generate_series(0, 199999) AS i",
    "VACUUM ANALYZE webhook_deliveries",
    "VACUUM ANALYZE blobs",
];

macro_rules! bound {
    ($query:expr, $args:expr) => {{
        let mut query = $query;
        for arg in $args {
            query = match arg {
                Arg::Text(text) => query.bind(text),
                Arg::Int(n) => query.bind(n),
                Arg::OptionalInt(n) => query.bind(n),
                Arg::Real(n) => query.bind(n),
                Arg::Bytes(bytes) => query.bind(bytes),
            };
        }
        query
    }};
}

/// Everything that is asked, as one text and its values each.
fn questions<D: Dialect>() -> Vec<(String, String, Vec<Arg>)> {
    let mut all: Vec<_> = statements()
        .into_iter()
        .map(|(name, sql, args)| (name.to_owned(), D::text(&sql).to_owned(), args))
        .collect();
    for filter in filters() {
        let query = ListQuery::new::<D>(&filter);
        all.push((format!("page of {filter:?}"), query.page, query.page_args));
        all.push((
            format!("count of {filter:?}"),
            query.count,
            query.count_args,
        ));
    }
    all
}

#[tokio::test]
async fn no_hot_statement_reads_the_whole_table_on_sqlite() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("plans.db");
    let database = SqliteDatabase::open(&path, Changes::default())
        .await
        .unwrap();
    database.migrate().await.unwrap();
    let pool = sqlx::SqlitePool::connect(&format!("sqlite://{}", path.display()))
        .await
        .unwrap();
    sqlx::query(FILL_SQLITE).execute(&pool).await.unwrap();

    let mut bad = Vec::new();
    for (name, text, args) in questions::<SqliteDatabase>() {
        let explain = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {text}"));
        let plan = bound!(sqlx::query(explain), args)
            .fetch_all(&pool)
            .await
            .unwrap();
        let plan: Vec<String> = plan.iter().map(|row| row.get("detail")).collect();
        let whole = plan.iter().any(|step| {
            ["extractions", "webhook_deliveries", "blobs"]
                .iter()
                .any(|table| *step == format!("SCAN {table}"))
        });
        let sorts = plan
            .iter()
            .any(|step| step.contains("TEMP B-TREE FOR ORDER BY"));
        // Several statuses come from several places of one index.
        let several = name.contains("Queued, Running");
        if whole || sorts && !several && !name.contains("k5") {
            bad.push((name, plan));
        }
    }
    assert!(bad.is_empty(), "{bad:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_hot_statement_reads_the_whole_table_on_postgres_at_a_million_rows() {
    let url = flydocs_testkit::postgres::database().await.unwrap().url;
    let options = Options::default();
    let database = PostgresDatabase::open(&url, &options, Changes::default())
        .await
        .unwrap();
    database.migrate().await.unwrap();
    let pool = sqlx::PgPool::connect(&url).await.unwrap();
    fill_postgres(&pool).await;
    for statement in FILL_AROUND {
        sqlx::raw_sql(*statement).execute(&pool).await.unwrap();
    }

    let mut bad = Vec::new();
    for (name, text, args) in questions::<PostgresDatabase>() {
        let explain = sqlx::AssertSqlSafe(format!("EXPLAIN {text}"));
        let plan = bound!(sqlx::query(explain), args)
            .fetch_all(&pool)
            .await
            .unwrap();
        let plan: Vec<String> = plan.iter().map(|row| row.get(0)).collect();
        let whole = plan.iter().any(|step| {
            ["extractions", "webhook_deliveries", "blobs"]
                .iter()
                .any(|table| step.contains(&format!("Seq Scan on {table}")))
        });
        let sorts = plan.iter().any(|step| step.contains("Sort Key"));
        let orders = name.starts_with("page of") || name.starts_with("orphans");
        let several = name.contains("Queued, Running") || name.contains("k5");
        if whole || sorts && orders && !several {
            bad.push((name, plan));
        }
    }
    assert!(bad.is_empty(), "{bad:#?}");
    a_page_of_the_list_reads_little_more_than_itself(&pool).await;
}

/// Whatever the machine does besides: the pages of the table and its indexes that the first page of the list and its
/// total touch.
async fn a_page_of_the_list_reads_little_more_than_itself(pool: &sqlx::PgPool) {
    let query = ListQuery::new::<PostgresDatabase>(&Filter::default());
    for (text, args) in [
        (query.page, query.page_args),
        (query.count, query.count_args),
    ] {
        let explain =
            sqlx::AssertSqlSafe(format!("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {text}"));
        let plan: serde_json::Value = bound!(sqlx::query(explain), args)
            .fetch_one(pool)
            .await
            .unwrap()
            .get(0);
        let top = &plan[0]["Plan"];
        let touched = ["Shared Hit Blocks", "Shared Read Blocks"]
            .map(|kind| top[kind].as_u64().unwrap())
            .iter()
            .sum::<u64>();
        assert!(touched < 500, "{text} touches {touched} pages: {plan:#}");
    }
}

/// Constraints and the log of the server are left out and indexes are made after the rows: a plan depends on
/// neither, and a million rows are there in a fraction of the time.
async fn fill_postgres(pool: &sqlx::PgPool) {
    let mut connection = pool.acquire().await.unwrap();
    let indexes: Vec<(String, String)> = sqlx::query_as(
        "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'extractions'",
    )
    .fetch_all(&mut *connection)
    .await
    .unwrap();
    let constraints: Vec<(String,)> = sqlx::query_as(
        "SELECT conname FROM pg_constraint WHERE conrelid = 'extractions'::regclass",
    )
    .fetch_all(&mut *connection)
    .await
    .unwrap();
    let mut script = vec!["SET maintenance_work_mem = '256MB'".to_owned()];
    for (name,) in &constraints {
        script.push(format!(
            "ALTER TABLE extractions DROP CONSTRAINT {name} CASCADE"
        ));
    }
    for (name, _) in &indexes {
        script.push(format!("DROP INDEX IF EXISTS {name}"));
    }
    script.push("ALTER TABLE extractions SET UNLOGGED".to_owned());
    script.push("ALTER TABLE extractions DISABLE TRIGGER USER".to_owned());
    script.push(FILL_POSTGRES.to_owned());
    script.push("ALTER TABLE extractions ENABLE TRIGGER USER".to_owned());
    script.push(TOTALS.to_owned());
    script.extend(indexes.into_iter().map(|(_, definition)| definition));
    script.push("VACUUM ANALYZE extractions".to_owned());
    for statement in script {
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement))
            .execute(&mut *connection)
            .await
            .unwrap();
    }
}
