//! Several workers of both kinds over one database.

use std::{sync::Arc, time::Duration};

use flydocs_contract::{LegStatus, Status};
use futures::future::join_all;
use tokio::sync::Notify;

use crate::{
    house::House,
    work::{Act, Scripted},
};

#[tokio::test(flavor = "multi_thread")]
async fn every_extraction_and_every_leg_is_worked_on_once() {
    let house = House::new().await;
    let work = Scripted::new([], Act::SucceedAfter(Duration::from_millis(5)));
    let mut fleet = Vec::new();
    for _ in 0..3 {
        fleet.push(house.worker(work.clone()).await);
    }
    fleet.push(house.bbox_worker(work.clone()).await);
    fleet.push(house.bbox_worker(work.clone()).await);
    fleet.push(house.extraction_reaper());
    fleet.push(house.bbox_reaper());
    let mut ids = Vec::new();
    for _ in 0..30 {
        ids.push(house.submit_with_boxes().await);
    }
    for id in &ids {
        let row = house.until_leg(*id, LegStatus::Succeeded).await;
        assert_eq!(row.extraction.status, Status::Succeeded);
        assert_eq!(row.extraction.attempts, 1);
        assert_eq!(house.mark(*id).await, "refined");
    }
    join_all(fleet.into_iter().map(crate::house::Running::stop)).await;
    for ran in [work.extractions(), work.refinements()] {
        assert_eq!(ran.len(), ids.len());
        assert!(ran.values().all(|times| *times == 1), "{ran:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_takes_no_more_than_it_has_slots() {
    let house = House::with(|_, options| {
        options.worker_concurrency = std::num::NonZeroUsize::new(2).unwrap();
    })
    .await;
    let go = Arc::new(Notify::new());
    let work = Scripted::new([], Act::Wait(go.clone()));
    let mut ids = Vec::new();
    for _ in 0..6 {
        ids.push(house.submit().await);
    }
    let worker = house.worker(work.clone()).await;
    for started in 2..=6 {
        work.started(started).await;
        go.notify_one();
    }
    go.notify_one();
    for id in ids {
        house.until_status(id, Status::Succeeded).await;
    }
    worker.stop().await;
    assert_eq!(work.most_at_once(), 2);
}
