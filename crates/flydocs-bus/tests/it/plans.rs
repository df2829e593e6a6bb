//! What the hot statements of the postgres adapter read does not grow with the tables, with and without statistics:
//! counted in rows, whatever the plan is called.

use flydocs_bus::group_lock_key;
use sqlx::{AssertSqlSafe, Executor as _, PgConnection, PgPool};

use crate::{
    conformance::{GROUP, KIND, TOPIC},
    houses::postgres::PostgresHouse,
};

/// A scan of all of them would touch many times what the limits allow; `FLYDOCS_TEST_BUS_EVENTS` makes them more.
fn events() -> i32 {
    std::env::var_os("FLYDOCS_TEST_BUS_EVENTS").map_or(30_000, |number| {
        number.into_string().unwrap().parse().unwrap()
    })
}

/// What a scan of the group would exceed many times.
const BATCH: i64 = 500;

#[tokio::test]
async fn without_statistics_no_hot_statement_reads_more_in_a_large_table() {
    hot_statements_stay_small(Statistics::Absent).await;
}

#[tokio::test]
async fn with_statistics_no_hot_statement_reads_more_in_a_large_table() {
    hot_statements_stay_small(Statistics::Fresh).await;
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Statistics {
    /// As in a queue that was empty a moment ago.
    Absent,
    Fresh,
}

async fn hot_statements_stay_small(statistics: Statistics) {
    let house = PostgresHouse::open().await;
    let pool = &house.pool;
    for table in ["outbox", "deliveries", "offsets", "dead_letters"] {
        let off = format!("ALTER TABLE bus.{table} SET (autovacuum_enabled = off)");
        pool.execute(AssertSqlSafe(off)).await.unwrap();
    }
    fill(pool).await;
    analyze(pool, statistics).await;

    let drain = format!("SELECT * FROM bus.drain('{GROUP}', {BATCH})");
    for _ in 0..20 {
        // A few for each event it moves, however many there are.
        let rows = rows_touched(pool, &drain).await;
        assert!(rows < BATCH * 6, "a drain of {BATCH} touched {rows} rows");
    }
    analyze(pool, statistics).await;

    let claim = format!(
        "SELECT * FROM bus.claim('{GROUP}', 10, 60, '11111111-1111-1111-1111-111111111111', 'x', 5, false,
           '{{{KIND}}}')"
    );
    let settle = format!(
        "SELECT bus.settle('{GROUP}', ARRAY[1, 2, 4, 5, 7, 8]::bigint[],
           array_fill('11111111-1111-1111-1111-111111111111'::uuid, ARRAY[6]), true)"
    );
    let look = format!("SELECT * FROM bus.drain('{GROUP}', 1)");
    for (name, statement) in [
        ("claim", &claim),
        ("settle", &settle),
        ("look", &look),
        ("claim", &claim),
    ] {
        let rows = rows_touched(pool, statement).await;
        assert!(rows < 250, "{name} touched {rows} rows");
    }

    let mut tx = pool.begin().await.unwrap();
    let before = rows_read(&mut tx).await;
    let freed = flydocs_bus::leases::postgres::free(&mut tx, "nobody").await;
    assert_eq!(freed.unwrap(), 0);
    let rows = rows_read(&mut tx).await - before;
    assert!(rows < 250, "freeing leases touched {rows} rows");
}

/// Events of many transactions, all of them final.
async fn fill(pool: &PgPool) {
    sqlx::query(
        "INSERT INTO bus.offsets (consumer_group, lock_key, destinations, event_types)
         VALUES ($1, $2, ARRAY[$3], ARRAY[$4])",
    )
    .bind(GROUP)
    .bind(group_lock_key(GROUP))
    .bind(TOPIC)
    .bind(KIND)
    .execute(pool)
    .await
    .unwrap();
    sqlx::query(
        "INSERT INTO bus.outbox (txid, event_id, destination, event_type, payload, ordering_key)
         SELECT (3 + i / 100)::text::xid8, gen_random_uuid(), $1, $2, '{}',
                CASE WHEN i % 3 = 0 THEN (i % 1000)::text END
         FROM generate_series(1, $3) i",
    )
    .bind(TOPIC)
    .bind(KIND)
    .bind(events())
    .execute(pool)
    .await
    .unwrap();
}

async fn analyze(pool: &PgPool, statistics: Statistics) {
    if statistics == Statistics::Fresh {
        pool.execute("ANALYZE bus.outbox, bus.deliveries, bus.offsets")
            .await
            .unwrap();
    }
}

/// Rows that the statement read, by whatever scan, in the tables of the bus.
async fn rows_touched(pool: &PgPool, statement: &str) -> i64 {
    let mut tx = pool.begin().await.unwrap();
    let before = rows_read(&mut tx).await;
    sqlx::raw_sql(AssertSqlSafe(statement.to_owned()))
        .execute(&mut *tx)
        .await
        .unwrap();
    let after = rows_read(&mut tx).await;
    tx.commit().await.unwrap();
    after - before
}

/// What this session has read and not reported yet.
async fn rows_read(session: &mut PgConnection) -> i64 {
    sqlx::query_scalar(
        "SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint
         FROM pg_stat_xact_user_tables WHERE schemaname = 'bus'",
    )
    .fetch_one(session)
    .await
    .unwrap()
}
