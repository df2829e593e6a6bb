//! Worker liveness: a dead worker's claims are lost at once, a live worker's are not.

use std::{
    ffi::OsStr,
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
};

use flydocs_contract::ExtractionId;
use flydocs_store::Claimed;
use tokio_util::sync::CancellationToken;

use crate::place::{Place, claim, submit};

pub(crate) async fn the_row_of_a_dead_worker_can_be_claimed_at_once(place: &Place) {
    let stores = place.open_many(2).await;
    let worker = stores[0].register_worker("w").await.unwrap();
    assert!(worker.is_watched());
    let id = submit(&*stores[0]).await;
    claim(&*stores[0], id, worker.instance()).await;
    assert!(matches!(
        stores[1].mark_running(id, "x").await.unwrap(),
        Claimed::Held
    ));
    drop(worker);
    // PostgreSQL notices the end of a session a moment after it was closed.
    let mut attempts = 0;
    while let Claimed::Held = stores[1].mark_running(id, "x").await.unwrap() {
        attempts += 1;
        assert!(attempts < 1000, "its worker is dead");
    }
    assert_eq!(
        stores[1]
            .get(id, None)
            .await
            .unwrap()
            .unwrap()
            .extraction
            .attempts,
        2
    );
}

pub(crate) async fn the_row_of_a_live_worker_cannot_be_taken(place: &Place) {
    let stores = place.open_many(2).await;
    let worker = stores[0].register_worker("w").await.unwrap();
    let other = stores[1].register_worker("w").await.unwrap();
    let id = submit(&*stores[0]).await;
    claim(&*stores[0], id, worker.instance()).await;
    drop(other);
    for store in &stores {
        store.sweep_workers().await.unwrap();
        assert!(matches!(
            store.mark_running(id, "x").await.unwrap(),
            Claimed::Held
        ));
    }
    assert!(!worker.lost().is_cancelled());
}

pub(crate) async fn a_dead_worker_is_found_by_the_sweep_once(place: &Place) {
    let stores = place.open_many(2).await;
    let worker = stores[0].register_worker("w").await.unwrap();
    let instance = worker.instance().to_owned();
    assert!(stores[1].sweep_workers().await.unwrap().is_empty());
    drop(worker);
    let mut found = Vec::new();
    let mut attempts = 0;
    while found.is_empty() {
        found = stores[1].sweep_workers().await.unwrap();
        attempts += 1;
        assert!(attempts < 1000, "it is dead");
    }
    assert_eq!(found, std::slice::from_ref(&instance));
    assert!(stores[0].sweep_workers().await.unwrap().is_empty());
    let workers = stores[0].workers().await.unwrap();
    assert_eq!(workers.len(), 1);
    assert!(&*workers[0].instance == instance.as_str() && workers[0].dead_at.is_some());
}

pub(crate) async fn a_worker_that_signs_off_is_not_found_dead(place: &Place) {
    let stores = place.open_many(2).await;
    let worker = stores[0].register_worker("w").await.unwrap();
    let instance = worker.instance().to_owned();
    let id = submit(&*stores[0]).await;
    claim(&*stores[0], id, &instance).await;
    stores[0].sign_off(worker).await.unwrap();
    // What it left claimed is lost at once.
    let claimed = stores[1].mark_running(id, "x").await.unwrap();
    assert!(matches!(claimed, Claimed::Won(_)), "{claimed:?}");
    for _ in 0..20 {
        for store in &stores {
            assert!(store.sweep_workers().await.unwrap().is_empty());
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let workers = stores[1].workers().await.unwrap();
    assert!(&*workers[0].instance == instance.as_str() && workers[0].dead_at.is_some());
}

pub(crate) async fn a_worker_that_registers_twice_is_two_workers(place: &Place) {
    let store = place.open().await;
    let one = store.register_worker("same-name").await.unwrap();
    let two = store.register_worker("same-name").await.unwrap();
    assert_ne!(one.instance(), two.instance());
    assert!(one.instance().starts_with("same-name"));
}

const URL: &str = "FLYDOCS_STORE_TEST_CHILD_URL";
const ID: &str = "FLYDOCS_STORE_TEST_CHILD_ID";
const TAKES: &str = "FLYDOCS_STORE_TEST_CHILD_TAKES";

/// The other process: registers, claims what it is told to claim, takes so many events, says so, and waits to be
/// killed.
pub(crate) async fn child_process() {
    let (Some(url), Some(id)) = (std::env::var_os(URL), std::env::var_os(ID)) else {
        return;
    };
    let text = |value: &OsStr| value.to_str().unwrap().to_owned();
    let store = flydocs_store::open(&text(&url), flydocs_store::Options::default())
        .await
        .unwrap();
    let id: ExtractionId = text(&id).parse().unwrap();
    let worker = store.register_worker("child").await.unwrap();
    claim(&*store, id, worker.instance()).await;
    let takes = std::env::var_os(TAKES).map_or(0, |number| text(&number).parse().unwrap());
    let bus = crate::bus::bus_of(&text(&url)).await;
    let consumer = crate::bus::join(&*bus, worker.instance()).await;
    let mut taken = 0;
    while taken < takes {
        let stop = CancellationToken::new();
        taken += consumer.claim(takes - taken, &stop).await.unwrap().len();
    }
    println!("\nclaimed");
    std::future::pending::<()>().await;
}

/// A real process that has claimed the row and taken so many events.
pub(crate) fn child(place: &Place, id: ExtractionId, takes: usize) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_child_process", "--nocapture"])
        .env(URL, &place.url)
        .env(ID, id.to_string())
        .env(TAKES, takes.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let claimed = output.lines().any(|line| line.unwrap() == "claimed");
    assert!(claimed, "the child ended before it claimed");
    child
}

pub(crate) async fn a_killed_process_loses_its_claims_at_once(place: &Place) {
    let store = place.open().await;
    let id = submit(&*store).await;
    let mut child = child(place, id, 0);
    store.sweep_workers().await.unwrap();
    let held = store.mark_running(id, "x").await.unwrap();
    assert!(matches!(held, Claimed::Held), "the child lives: {held:?}");
    child.kill().unwrap();
    child.wait().unwrap();
    let killed = std::time::Instant::now();
    while let Claimed::Held = store.mark_running(id, "x").await.unwrap() {
        assert!(
            killed.elapsed().as_secs() < 5,
            "the claim of a killed process is not lost"
        );
    }
    assert_eq!(
        store
            .get(id, None)
            .await
            .unwrap()
            .unwrap()
            .extraction
            .attempts,
        2
    );
}
