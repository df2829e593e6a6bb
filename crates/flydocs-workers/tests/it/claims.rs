//! Who may work on a row: the claim, its loss, and the heart that notices.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use flydocs_contract::Status;
use tokio::sync::Notify;

use crate::{
    house::House,
    work::{Act, Scripted},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_claim_cannot_finish() {
    let house = House::with(|store, options| {
        store.heartbeat_interval = Duration::from_secs(20);
        options.worker_concurrency = NonZeroUsize::MIN;
    })
    .await;
    // Deaf to cancellation: it finishes long after its claim went to another one.
    let go = Arc::new(Notify::new());
    let first = Scripted::marked("first", [], Act::Wait(go.clone()));
    let slow = house.worker(first.clone()).await;
    let id = house.submit().await;
    first.started(1).await;
    house.store.reclaim(id).await.unwrap().unwrap();
    let second = Scripted::marked("second", [], Act::Succeed);
    let quick = house.worker(second.clone()).await;
    house.until_status(id, Status::Succeeded).await;
    go.notify_one();
    slow.stop().await;
    quick.stop().await;
    let row = house.row(id).await;
    assert_eq!(row.extraction.attempts, 2);
    assert_eq!(house.mark(id).await, "second");
}

#[tokio::test(flavor = "multi_thread")]
async fn work_whose_claim_is_gone_is_stopped_at_the_next_heartbeat() {
    let house = House::with(|_, options| options.worker_concurrency = NonZeroUsize::MIN).await;
    let first = Scripted::new([], Act::Hang);
    let slow = house.worker(first.clone()).await;
    let id = house.submit().await;
    first.started(1).await;
    house.store.reclaim(id).await.unwrap().unwrap();
    let second = Scripted::new([], Act::Succeed);
    let quick = house.worker(second).await;
    house.until_status(id, Status::Succeeded).await;
    first.cancelled(1).await;
    slow.stop().await;
    quick.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn work_is_stopped_when_no_heartbeat_gets_through_for_the_whole_timeout() {
    let house = House::with(|store, _| {
        store.heartbeat_interval = Duration::from_millis(50);
        store.heartbeat_timeout = Duration::from_millis(400);
    })
    .await;
    let work = Scripted::new([], Act::Hang);
    let services = house.process(work.clone()).await;
    let store = services.store.clone();
    let worker = flydocs_workers::ExtractionWorker::new(services, house.options.clone());
    let worker = crate::house::Running::start(|shutdown| worker.run(shutdown));
    house.submit().await;
    work.started(1).await;
    store.close().await;
    work.cancelled(1).await;
    worker.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_whose_row_another_worker_has_waits_and_one_of_a_finished_row_is_done() {
    let house = House::new().await;
    let go = Arc::new(Notify::new());
    let work = Scripted::new([], Act::Wait(go.clone()));
    let worker = house.worker(work.clone()).await;
    let id = house.submit().await;
    work.started(1).await;
    let again = |n: u128| {
        let payload = serde_json::json!({"extraction": {"id": id}, "something": "newer"});
        flydocs_bus::NewEvent::new(
            uuid::Uuid::from_u128(n),
            "flydocs.extractions",
            "extraction.submitted",
            payload.to_string(),
        )
    };
    house.bus.publish(&again(1)).await.unwrap();
    // One is worked on, the other waits for ten minutes.
    let waiting = "SELECT count(*) FROM bus_deliveries
        WHERE consumer_group = 'flydocs-workers' AND claim_token IS NULL
          AND visible_at > (SELECT max(created_at) FROM bus_outbox) + 60000";
    house.until_number(waiting, 1).await;
    go.notify_one();
    house.until_status(id, Status::Succeeded).await;
    house.bus.publish(&again(2)).await.unwrap();
    let open = "SELECT count(*) FROM bus_deliveries
        WHERE consumer_group = 'flydocs-workers'";
    house.until_number(open, 1).await;
    worker.stop().await;
    assert_eq!(work.extractions()[&id], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_nobody_understands_becomes_a_dead_letter_and_harms_no_other() {
    let house = House::new().await;
    let work = Scripted::new([], Act::Succeed);
    let worker = house.worker(work).await;
    for payload in ["not json", "{\"extraction\": {\"id\": \"ext_1\"}}"] {
        let event = flydocs_bus::NewEvent::new(
            uuid::Uuid::new_v4(),
            "flydocs.extractions",
            "extraction.submitted",
            payload,
        );
        house.bus.publish(&event).await.unwrap();
    }
    let id = house.submit().await;
    house.until_status(id, Status::Succeeded).await;
    house
        .until_number("SELECT count(*) FROM bus_dead_letters", 2)
        .await;
    worker.stop().await;
}
