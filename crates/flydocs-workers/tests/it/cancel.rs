//! A caller takes a running extraction back.

use std::{sync::Arc, time::Duration};

use flydocs_contract::Status;
use flydocs_store::CancelRequested;
use tokio::{sync::Notify, time::Instant};

use crate::{
    house::House,
    work::{Act, Scripted},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_running_extraction_is_cancelled_long_before_the_next_heartbeat() {
    let house = House::with(|store, _| store.heartbeat_interval = Duration::from_secs(25)).await;
    let work = Scripted::new([], Act::Hang);
    let worker = house.worker(work.clone()).await;
    let id = house.submit().await;
    work.started(1).await;
    let asked_at = Instant::now();
    let asked = house.store.request_cancel(id, None).await.unwrap();
    assert!(matches!(asked, CancelRequested::Requested(_)));
    let row = house.until_status(id, Status::Cancelled).await;
    assert!(
        asked_at.elapsed() < Duration::from_secs(20),
        "{:?}",
        asked_at.elapsed()
    );
    assert!(row.extraction.finished_at.is_some());
    work.cancelled(1).await;
    assert_eq!(house.store.result(id, None).await.unwrap(), None);
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_kept_of_work_that_ended_after_it_was_cancelled() {
    let house = House::new().await;
    let go = Arc::new(Notify::new());
    let work = Scripted::new([], Act::Wait(go.clone()));
    let worker = house.worker(work.clone()).await;
    let id = house.submit().await;
    work.started(1).await;
    house.store.request_cancel(id, None).await.unwrap();
    go.notify_one();
    house.until_status(id, Status::Cancelled).await;
    worker.stop().await;
    assert_eq!(house.store.result(id, None).await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_heartbeat_alone_brings_the_request_too() {
    let house = House::new().await;
    let work = Scripted::new([], Act::Hang);
    let id = house.submit().await;
    let worker = house.worker(work.clone()).await;
    work.started(1).await;
    // Behind the back of whoever tells of changes.
    house
        .execute("UPDATE extractions SET cancel_requested_at = started_at")
        .await;
    house.until_status(id, Status::Cancelled).await;
    worker.stop().await;
}
