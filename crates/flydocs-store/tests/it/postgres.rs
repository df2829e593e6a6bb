//! PostgreSQL: the suite, and what is special to it.

use std::{sync::Arc, time::Duration};

use flydocs_bus::adapters::postgres::PostgresBus;
use flydocs_contract::Status;
use flydocs_store::{Claimed, Options, OrphanClass, Store};
use flydocs_testkit::{
    pgbouncer::Pooler,
    postgres::{Server, database_on},
};

use crate::{
    bus::{
        the_store_and_the_bus_go_round,
        what_a_killed_worker_had_taken_is_due_when_its_death_is_found,
    },
    conformance::conformance,
    place::{LONG, Place, claim, claim_leg, requeue, result, submit, with_pending_leg},
};

conformance!(
    crate::place::Place::postgres(),
    crate::place::Place::postgres_empty()
);

/// The statements of the operators' page, as they stand there.
fn recipes() -> [&'static str; 4] {
    const PAGE: &str = include_str!("../../../../docs/concurrency.md");
    let recipes: Vec<&str> = PAGE
        .split("```sql\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    recipes
        .try_into()
        .expect("four recipes: running, queued, waiting for boxes, and one that changes something")
}

#[tokio::test]
async fn the_operators_recipes_run_as_they_stand() {
    let place = Place::postgres().await;
    let store = place.open().await;
    let minutes = |n: u64| Duration::from_secs(60 * n + 1);

    let running = submit(&*store).await;
    claim(&*store, running, "w").await;
    let queued = submit(&*store).await;
    let retrying = submit(&*store).await;
    let token = claim(&*store, retrying, "w").await.token;
    store
        .requeue_for_retry(&token, &requeue(Duration::ZERO))
        .await
        .unwrap()
        .unwrap();
    let pending = with_pending_leg(&*store).await;
    let requeued = with_pending_leg(&*store).await;
    let leg = claim_leg(&*store, requeued, "b").await.token;
    store
        .requeue_bbox_refinement(&leg, &requeue(LONG))
        .await
        .unwrap()
        .unwrap();
    let refining = with_pending_leg(&*store).await;
    claim_leg(&*store, refining, "b").await;
    let [
        stuck_running,
        queued_without_event,
        waiting_for_bbox,
        force_reclaim,
    ] = recipes();
    for recipe in [stuck_running, queued_without_event, waiting_for_bbox] {
        assert!(
            place.rows(recipe).await.is_empty(),
            "nothing is stuck yet: {recipe}"
        );
    }

    place.backdate(running, "started_at", minutes(21)).await;
    place.backdate(queued, "submitted_at", minutes(11)).await;
    place.backdate(retrying, "started_at", minutes(10)).await;
    for id in [pending, requeued, refining] {
        place.backdate(id, "started_at", minutes(22)).await;
    }
    assert_eq!(place.rows(stuck_running).await, [running]);
    assert_eq!(place.rows(queued_without_event).await, [queued, retrying]);
    let mut waiting = place.rows(waiting_for_bbox).await;
    waiting.sort();
    assert_eq!(waiting, [pending, requeued]);

    let fresh = submit(&*store).await;
    claim(&*store, fresh, "w").await;
    assert!(matches!(
        store.mark_running(fresh, "x").await.unwrap(),
        Claimed::Held
    ));
    let reclaim = force_reclaim.replace("<extraction-id>", &fresh.to_string());
    assert_eq!(place.execute("", &reclaim).await, 1);
    let lost = store.orphans(OrphanClass::Running, None, 10).await.unwrap();
    assert_eq!(
        lost[0].id, fresh,
        "the reaper's next sweep picks the row up"
    );
    assert_eq!(claim(&*store, fresh, "x").await.token.attempts, 2);
}

async fn server() -> Arc<Server> {
    Arc::new(
        tokio::task::spawn_blocking(Server::start)
            .await
            .unwrap()
            .unwrap(),
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_of_the_server_is_survived() {
    let server = server().await;
    let url = database_on(&server).await.unwrap().url;
    let store = flydocs_store::open(&url, Options::default()).await.unwrap();
    store.migrate().await.unwrap();
    let mut burst = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let store = store.clone();
        burst.spawn(async move { submit(&*store).await });
    }
    let ids = burst.join_all().await;
    let worker = store.register_worker("w").await.unwrap();
    let held = claim(&*store, ids[0], worker.instance()).await;
    let mut watch = store.watch(ids[1]);
    watch.changed().await;

    let down = server.clone();
    tokio::task::spawn_blocking(move || down.crash())
        .await
        .unwrap()
        .unwrap();
    let refused = store.get(ids[0], None).await.unwrap_err();
    assert!(refused.is_unavailable(), "{refused:?}");
    let up = server.clone();
    tokio::task::spawn_blocking(move || up.resume())
        .await
        .unwrap()
        .unwrap();

    // All pooled connections are broken: nobody notices.
    for &id in &ids {
        assert!(store.get(id, None).await.unwrap().is_some());
    }
    let lost = tokio::time::timeout(Duration::from_secs(20), worker.lost().cancelled_owned());
    lost.await
        .expect("the worker is told that its lock is gone");
    assert_eq!(
        store.sweep_workers().await.unwrap(),
        [worker.instance().to_owned()]
    );
    let next = claim(&*store, ids[0], "next").await.token;
    assert_eq!(
        store
            .mark_succeeded(&held.token, &result(ids[0], "z"), false)
            .await
            .unwrap(),
        None
    );
    store
        .mark_succeeded(&next, &result(ids[0], "x"), false)
        .await
        .unwrap()
        .unwrap();

    // The listener is back too.
    let other = flydocs_store::open(&url, Options::default()).await.unwrap();
    let (woken, cancelled) = tokio::join!(
        tokio::time::timeout(Duration::from_secs(20), async {
            while store
                .get(ids[1], None)
                .await
                .unwrap()
                .unwrap()
                .extraction
                .status
                == Status::Queued
            {
                watch.changed().await;
            }
        }),
        other.mark_cancelled(ids[1], None),
    );
    woken.expect("never woken");
    assert!(cancelled.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn behind_a_pooler_everything_works_except_telling_the_dead_at_once() {
    let server = server().await;
    let name = database_on(&server).await.unwrap().name;
    let before = server.clone();
    let pooler = tokio::task::spawn_blocking(move || Pooler::start(&before))
        .await
        .unwrap()
        .unwrap();
    let url = pooler.url(&name);
    let store = flydocs_store::open(&url, Options::default()).await.unwrap();
    store.migrate().await.unwrap();
    store.migrate().await.unwrap();
    let other = flydocs_store::open(&url, Options::default()).await.unwrap();
    assert!(
        !store.health().await.unwrap().watches_workers,
        "and health says so"
    );

    let worker = store.register_worker("w").await.unwrap();
    assert!(!worker.is_watched());
    let mut work = tokio::task::JoinSet::new();
    for n in 0..16 {
        let store = if n % 2 == 0 {
            store.clone()
        } else {
            other.clone()
        };
        let instance = worker.instance().to_owned();
        work.spawn(async move {
            let id = submit(&*store).await;
            let token = claim(&*store, id, &instance).await.token;
            store
                .mark_succeeded(&token, &result(id, "x"), true)
                .await
                .unwrap()
                .unwrap();
            let token = claim_leg(&*store, id, "b").await.token;
            let text = result(id, "y");
            store
                .mark_bbox_refinement_succeeded(&token, &text)
                .await
                .unwrap()
                .unwrap();
            store.list(&flydocs_store::Filter::default()).await.unwrap();
            store.result(id, None).await.unwrap().unwrap()
        });
    }
    assert_eq!(work.join_all().await.len(), 16);

    let id = submit(&*store).await;
    claim(&*store, id, worker.instance()).await;
    drop(worker);
    assert!(store.sweep_workers().await.unwrap().is_empty());
    assert!(matches!(
        other.mark_running(id, "x").await.unwrap(),
        Claimed::Held
    ));

    let id = submit(&*store).await;
    let mut watch = store.watch(id);
    let (woken, cancelled) = tokio::join!(
        tokio::time::timeout(Duration::from_secs(20), async {
            while store
                .get(id, None)
                .await
                .unwrap()
                .unwrap()
                .extraction
                .status
                == Status::Queued
            {
                watch.changed().await;
            }
        }),
        other.mark_cancelled(id, None),
    );
    woken.expect("never woken");
    assert!(cancelled.unwrap().is_some());
}

#[tokio::test]
async fn a_direct_connection_is_not_taken_for_a_pooler() {
    let place = Place::postgres().await;
    let store: Arc<dyn Store> = place.open().await;
    let health = store.health().await.unwrap();
    assert!(health.watches_workers && health.version.starts_with("PostgreSQL "));
    assert_eq!(health.database, "postgres");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn store_and_bus_share_one_database() {
    let place = Place::postgres().await;
    let pool = sqlx::PgPool::connect(&place.url).await.unwrap();
    let bus = PostgresBus::new(
        pool,
        place.url.parse().ok(),
        flydocs_bus::Options::default(),
    );
    the_store_and_the_bus_go_round(&place, place.open().await, Arc::new(bus)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_killed_worker_had_taken_is_due_when_its_death_is_found_on_postgres() {
    what_a_killed_worker_had_taken_is_due_when_its_death_is_found(&Place::postgres().await).await;
}

/// Fails the next so many changes of a table as a deadlock does; the sequence is not undone with the transaction.
async fn disturb(place: &Place, table: &str, code: &str, times: u32) {
    for statement in [
        "DROP SEQUENCE IF EXISTS disturbances CASCADE".to_owned(),
        "CREATE SEQUENCE disturbances".to_owned(),
        format!(
            "CREATE OR REPLACE FUNCTION disturb() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
               IF nextval('disturbances') <= {times} THEN RAISE EXCEPTION 'in the way' USING ERRCODE = '{code}'; END IF;
               RETURN NEW; END $$"
        ),
        format!(
            "CREATE OR REPLACE TRIGGER disturb BEFORE INSERT OR UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION disturb()"
        ),
    ] {
        place.execute("", &statement).await;
    }
}

#[tokio::test]
async fn a_transaction_that_the_database_undoes_is_done_again() {
    let place = Place::postgres().await;
    let store = place.open().await;
    for code in ["40001", "40P01"] {
        disturb(&place, "extractions", code, 2).await;
        let id = submit(&*store).await;
        disturb(&place, "extractions", code, 2).await;
        let token = claim(&*store, id, "w").await.token;
        disturb(&place, "bus.outbox", code, 2).await;
        let row = store
            .mark_succeeded(&token, &result(id, "kept"), false)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(row.extraction.status, Status::Succeeded);
        assert_eq!(row.extraction.attempts, 1, "{code}: each was done once");
        for table in ["extractions", "bus.outbox"] {
            place
                .execute("", &format!("DROP TRIGGER IF EXISTS disturb ON {table}"))
                .await;
        }
    }
}

#[tokio::test]
async fn a_transaction_that_is_always_undone_ends_as_an_error() {
    let place = Place::postgres().await;
    let store = place.open().await;
    let id = submit(&*store).await;
    disturb(&place, "extractions", "40P01", 1000).await;
    let error = store.mark_running(id, "w").await.unwrap_err();
    assert!(error.to_string().contains("claim an extraction"), "{error}");
    assert_eq!(place.number("SELECT last_value FROM disturbances").await, 6);
}

#[tokio::test]
async fn the_log_says_when_a_change_was_made_and_not_when_it_was_asked_for() {
    let place = Place::postgres().await;
    let store = place.open().await;
    let (plain, chained) = (submit(&*store).await, submit(&*store).await);
    let pool = sqlx::PgPool::connect(&place.url).await.unwrap();

    let mut holding = pool.begin().await.unwrap();
    sqlx::query("SELECT 1 FROM extractions FOR UPDATE")
        .execute(&mut *holding)
        .await
        .unwrap();
    let waiting = tokio::spawn({
        let store = Arc::clone(&store);
        async move {
            tokio::join!(
                store.request_cancel(plain, None),
                store.mark_running(chained, "w")
            )
        }
    });
    // Both transactions have begun, and wait for the row.
    let blocked = "SELECT count(*) FROM pg_stat_activity
                   WHERE datname = current_database() AND wait_event_type = 'Lock'";
    while sqlx::query_scalar::<_, i64>(blocked)
        .fetch_one(&pool)
        .await
        .unwrap()
        < 2
    {
        tokio::task::yield_now().await;
    }
    let (let_go,): (chrono::DateTime<chrono::Utc>,) = sqlx::query_as("SELECT clock_timestamp()")
        .fetch_one(&pool)
        .await
        .unwrap();
    holding.commit().await.unwrap();
    let (cancelled, claimed) = waiting.await.unwrap();
    cancelled.unwrap();
    assert!(matches!(claimed.unwrap(), Claimed::Won(_)));

    for id in [plain, chained] {
        let log = store.history(id, None, 1).await.unwrap();
        let change = log.last().unwrap();
        assert!(change.at >= let_go, "{change:?} before {let_go}");
    }
}

/// Counted one by one, every extraction is another version of one row that the next one steps over.
#[tokio::test]
async fn a_statement_that_adds_or_removes_many_extractions_counts_them_once() {
    let place = Place::postgres().await;
    let store = place.open().await;
    let pool = sqlx::PgPool::connect(&place.url).await.unwrap();
    let many = "INSERT INTO extractions (id, request_digest, status, filename, content_sha256, content_bytes, metadata,
                                         correlation, attempts, submitted_at, finished_at, request)
                SELECT 'ext_' || lpad(i::text, 26, '0'), '',
                       CASE i % 2 WHEN 0 THEN 'queued' ELSE 'cancelled' END, 'a.pdf', '', 1, '{}', '{}', 0, now(),
                       CASE i % 2 WHEN 0 THEN NULL ELSE now() END, '{}'
                FROM generate_series(1, 400) i";
    for (statement, left) in [
        (many, 400),
        ("DELETE FROM extractions WHERE attempts = 0", 0),
    ] {
        let mut tx = pool.begin().await.unwrap();
        sqlx::query(statement).execute(&mut *tx).await.unwrap();
        let (written,): (i64,) = sqlx::query_as(
            "SELECT n_tup_ins + n_tup_upd FROM pg_stat_xact_user_tables WHERE relname = 'extraction_totals'",
        )
        .fetch_one(&mut *tx)
        .await
        .unwrap();
        tx.commit().await.unwrap();
        assert!(written <= 4, "{written} rows were written for two statuses");
        crate::conformance::lists::totals_are_what_is_there(&*store).await;
        let (there,): (i64,) = sqlx::query_as("SELECT sum(number)::bigint FROM extraction_totals")
            .fetch_one(&pool)
            .await
            .unwrap();
        assert_eq!(there, left);
    }
}
