//! A worker is asked to end.

use std::{sync::Arc, time::Duration};

use flydocs_contract::{LegStatus, Status};
use tokio::sync::Notify;

use crate::{
    house::House,
    work::{Act, Scripted},
};

#[tokio::test(flavor = "multi_thread")]
async fn running_work_is_let_finish_within_its_grace_and_nothing_new_is_begun() {
    let house = House::new().await;
    let go = Arc::new(Notify::new());
    let work = Scripted::new([], Act::Wait(go.clone()));
    let worker = house.worker(work.clone()).await;
    let first = house.submit().await;
    work.started(1).await;
    worker.shutdown.cancel();
    let second = house.submit().await;
    go.notify_one();
    worker.ended().await;
    assert_eq!(house.row(first).await.extraction.status, Status::Succeeded);
    assert_eq!(house.row(second).await.extraction.status, Status::Queued);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_ends_in_order_is_not_found_dead() {
    let house = House::with(|_, options| options.shutdown_grace = Duration::from_millis(50)).await;
    let idle = house.worker(Scripted::new([], Act::Hang)).await;
    let bbox = house.bbox_worker(Scripted::new([], Act::Hang)).await;
    idle.stop().await;
    bbox.stop().await;
    let work = Scripted::new([], Act::Hang);
    let busy = house.worker(work.clone()).await;
    house.submit().await;
    work.started(1).await;
    busy.stop().await;
    assert!(house.store.sweep_workers().await.unwrap().is_empty());
    let workers = house.store.workers().await.unwrap();
    assert!(workers.len() == 3 && workers.iter().all(|worker| worker.dead_at.is_some()));

    let work = Scripted::new([], Act::Hang);
    let killed = house.worker(work.clone()).await;
    work.started(1).await;
    killed.kill().await;
    assert_eq!(house.store.sweep_workers().await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_finished_in_its_grace_goes_back_without_using_up_an_attempt() {
    let house = House::with(|_, options| options.shutdown_grace = Duration::from_millis(50)).await;
    let work = Scripted::new([], Act::Hang);
    let worker = house.worker(work.clone()).await;
    let id = house.submit().await;
    work.started(1).await;
    worker.stop().await;
    let row = house.row(id).await;
    assert_eq!(
        (row.extraction.status, row.extraction.attempts),
        (Status::Queued, 0)
    );
    let next = house.worker(Scripted::new([], Act::Succeed)).await;
    let row = house.until_status(id, Status::Succeeded).await;
    assert_eq!(row.extraction.attempts, 1);
    next.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leg_goes_back_likewise() {
    let house = House::with(|_, options| options.shutdown_grace = Duration::from_millis(50)).await;
    let worker = house.worker(Scripted::new([], Act::Succeed)).await;
    let work = Scripted::new([], Act::Hang);
    let bbox = house.bbox_worker(work.clone()).await;
    let id = house.submit_with_boxes().await;
    work.started(1).await;
    bbox.stop().await;
    let row = house.row(id).await;
    assert_eq!(row.leg_status(), Some(LegStatus::Pending));
    assert_eq!(
        row.extraction
            .post_processing
            .unwrap()
            .bbox_refinement
            .attempts,
        0
    );
    let next = house.bbox_worker(Scripted::new([], Act::Succeed)).await;
    house.until_leg(id, LegStatus::Succeeded).await;
    worker.stop().await;
    next.stop().await;
}
