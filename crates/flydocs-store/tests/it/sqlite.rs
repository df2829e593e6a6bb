//! SQLite: the suite, and what is special to it.

use std::{path::Path, sync::Arc, time::Duration};

use flydocs_bus::adapters::sqlite::SqliteBus;
use flydocs_store::{Claimed, NewExtraction, Options, Submitted};

use crate::{
    bus::{
        the_store_and_the_bus_go_round,
        what_a_killed_worker_had_taken_is_due_when_its_death_is_found,
    },
    conformance::conformance,
    place::{Place, claim, fresh_id, new_extraction, submit},
};

conformance!(
    crate::place::Place::sqlite(),
    std::future::ready(crate::place::Place::sqlite_empty())
);

#[tokio::test]
async fn folders_on_the_way_to_the_database_are_made() {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}/a/b/flydocs.db", directory.path().display());
    let store = flydocs_store::open(&url, Options::default()).await.unwrap();
    store.migrate().await.unwrap();
    submit(&*store).await;
    let health = store.health().await.unwrap();
    assert!(health.database == "sqlite" && health.version.starts_with("SQLite 3."));
}

#[tokio::test]
async fn a_path_that_cannot_be_a_database_says_so() {
    let directory = tempfile::tempdir().unwrap();
    for path in [directory.path(), Path::new("/proc/nothing/here.db")] {
        let url = format!("sqlite://{}", path.display());
        assert!(
            flydocs_store::open(&url, Options::default()).await.is_err(),
            "{url}"
        );
    }
}

#[tokio::test]
async fn a_lock_file_goes_with_its_worker() {
    let place = Place::sqlite().await;
    let store = place.open().await;
    let folder = format!("{}.workers", place.url.trim_start_matches("sqlite://"));
    let files = || std::fs::read_dir(&folder).unwrap().count();
    let one = store.register_worker("one").await.unwrap();
    let two = store.register_worker("two").await.unwrap();
    assert_eq!(files(), 2);
    drop(one);
    assert_eq!(store.sweep_workers().await.unwrap().len(), 1);
    assert_eq!(files(), 1);
    store.sign_off(two).await.unwrap();
    assert_eq!(files(), 0);
}

#[tokio::test]
async fn a_write_waits_for_another_process_and_then_goes_through() {
    let place = Place::sqlite().await;
    let store = place.open().await;
    let id = submit(&*store).await;
    let blocker = sqlx::SqlitePool::connect(&place.url).await.unwrap();
    let transaction = blocker.begin_with("BEGIN IMMEDIATE").await.unwrap();
    let claiming = tokio::spawn({
        let store = store.clone();
        async move { store.mark_running(id, "w").await.unwrap() }
    });
    // Readers are not held up meanwhile.
    assert_eq!(
        store
            .get(id, None)
            .await
            .unwrap()
            .unwrap()
            .extraction
            .attempts,
        0
    );
    assert!(!claiming.is_finished());
    transaction.rollback().await.unwrap();
    assert!(matches!(claiming.await.unwrap(), Claimed::Won(_)));
}

#[tokio::test]
async fn the_tables_refuse_what_the_state_machine_forbids() {
    let place = Place::sqlite().await;
    let store = place.open().await;
    let id = submit(&*store).await;
    claim(&*store, id, "w").await;
    place
        .backdate(id, "started_at", Duration::from_secs(1))
        .await;
    let raw = sqlx::SqlitePool::connect(&place.url).await.unwrap();
    for forbidden in [
        "status = 'done'",
        "status = 'succeeded'",
        "finished_at = '2026-01-01T00:00:00.000Z'",
        "started_at = NULL",
        "claimed_by = NULL",
        "attempts = -1",
        r#"post_processing = '{"bbox_refinement":{"status":"pending"}}'"#,
        r#"status = 'succeeded', finished_at = submitted_at, post_processing = '{"bbox_refinement":{"status":"lost"}}'"#,
        r"status = 'succeeded', finished_at = submitted_at, post_processing = '{}'",
    ] {
        let text = format!("UPDATE extractions SET {forbidden}");
        let refused = sqlx::query(sqlx::AssertSqlSafe(text))
            .execute(&raw)
            .await
            .unwrap_err();
        let refused = refused.as_database_error().unwrap().to_string();
        assert!(
            refused.contains("CHECK constraint"),
            "{forbidden}: {refused}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn store_and_bus_share_one_file_and_one_writer() {
    let place = Place::sqlite_empty();
    let path = flydocs_store::sqlite_path(&place.url).unwrap();
    let file = flydocs_bus::sqlite::open(&path).await.unwrap();
    let store = flydocs_store::open_beside_bus(file.clone(), Options::default()).unwrap();
    store.migrate().await.unwrap();
    let bus = SqliteBus::new(file, flydocs_bus::Options::default()).unwrap();
    the_store_and_the_bus_go_round(&place, store, Arc::new(bus)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_killed_worker_had_taken_is_due_when_its_death_is_found_on_sqlite() {
    what_a_killed_worker_had_taken_is_due_when_its_death_is_found(&Place::sqlite().await).await;
}

#[tokio::test]
async fn a_disk_that_was_full_for_a_moment_is_written_to_again() {
    let place = Place::sqlite().await;
    let path = flydocs_store::sqlite_path(&place.url).unwrap();
    let file = flydocs_bus::sqlite::open(&path).await.unwrap();
    let store = flydocs_store::open_beside_bus(file.clone(), Options::default()).unwrap();
    let limit = async |pages: i64| {
        let text = format!("PRAGMA max_page_count = {pages}");
        let set = sqlx::query(sqlx::AssertSqlSafe(text)).execute(&file.writer);
        set.await.unwrap();
    };
    let worker = store.register_worker("w").await.unwrap();
    let id = submit(&*store).await;
    let one = new_extraction(&*store).await;
    let new = || NewExtraction {
        id: fresh_id(),
        ..one.clone()
    };
    // The space runs out in every statement of a submission once: SQLite undoes the statement in some and the whole
    // transaction in others.
    for spare in 0..24 {
        let taken: i64 = sqlx::query_scalar("PRAGMA page_count")
            .fetch_one(&file.writer)
            .await
            .unwrap();
        limit(taken + spare % 8).await;
        let mut accepted = 0;
        let refused = loop {
            match store.submit(new()).await {
                Ok(_) => accepted += 1,
                Err(error) => break error,
            }
            assert!(accepted < 1_000, "it is never full");
        };
        assert!(refused.is_unavailable(), "{refused:?}");
        // A new connection knows no limit; 1 = what the file has now.
        limit(1).await;
        let large = format!("{spare}").repeat(100_000);
        let upload = Box::pin(futures::stream::iter([Ok(large.into())]));
        let refused = store.put_blob(upload).await;
        assert!(refused.is_err_and(|error| error.is_unavailable()));
        limit(1_000_000).await;
        let again = store.submit(new()).await;
        assert!(again.is_ok(), "{again:?}");
    }
    assert!(store.sweep_workers().await.unwrap().is_empty());
    claim(&*store, id, worker.instance()).await;
}

#[tokio::test]
async fn a_commit_that_the_database_refused_leaves_no_transaction_behind() {
    let place = Place::sqlite().await;
    let path = flydocs_store::sqlite_path(&place.url).unwrap();
    let file = flydocs_bus::sqlite::open(&path).await.unwrap();
    let store = flydocs_store::open_beside_bus(file.clone(), Options::default()).unwrap();
    let new = new_extraction(&*store).await;
    let mut writer = file.writer.acquire().await.unwrap();
    let mut handle = writer.lock_handle().await.unwrap();
    handle.set_commit_hook(|| false);
    drop(handle);
    drop(writer);
    assert!(store.submit(new.clone()).await.is_err());
    let again = store.submit(new).await;
    assert!(matches!(again, Ok(Submitted::New(_))), "{again:?}");
}
