//! Each of the five ways in which an extraction can be left alone, and how it comes back.

use std::time::Duration;

use flydocs_contract::{ExtractionId, LegStatus, Status, status::ExtractionError};
use flydocs_store::{Claimed, LegClaimed, Requeue};

use crate::{
    house::House,
    work::{Act, Scripted, result},
};

/// A house whose thresholds are over at once.
async fn house() -> House {
    House::with(|store, _| {
        store.queued_orphan_threshold = Duration::from_millis(1);
        store.post_processing_pending_orphan_threshold = Duration::from_millis(1);
    })
    .await
}

async fn claim(house: &House, id: ExtractionId, worker: &str) -> flydocs_store::Token {
    match house.store.mark_running(id, worker).await.unwrap() {
        Claimed::Won(claim) => claim.token,
        other => panic!("not won: {other:?}"),
    }
}

async fn with_pending_leg(house: &House) -> ExtractionId {
    let id = house.submit_with_boxes().await;
    let token = claim(house, id, "somebody").await;
    let first = serde_json::to_string(&result(id, "first")).unwrap();
    house
        .store
        .mark_succeeded(&token, &first, true)
        .await
        .unwrap()
        .unwrap();
    id
}

async fn comes_back(house: &House, id: ExtractionId, attempts: u32) {
    let work = Scripted::new([], Act::Succeed);
    let worker = house.worker(work.clone()).await;
    let reaper = house.extraction_reaper();
    let row = house.until_status(id, Status::Succeeded).await;
    assert_eq!(row.extraction.attempts, attempts);
    assert_eq!(work.extractions()[&id], 1);
    worker.stop().await;
    reaper.stop().await;
}

async fn leg_comes_back(house: &House, id: ExtractionId, attempts: u32) {
    let work = Scripted::new([], Act::Succeed);
    let worker = house.bbox_worker(work.clone()).await;
    let reaper = house.bbox_reaper();
    let row = house.until_leg(id, LegStatus::Succeeded).await;
    assert_eq!(
        row.extraction
            .post_processing
            .unwrap()
            .bbox_refinement
            .attempts,
        attempts
    );
    assert_eq!(work.refinements()[&id], 1);
    worker.stop().await;
    reaper.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn class_1_queued_whose_event_was_never_published() {
    let house = house().await;
    let id = house.submit().await;
    house.lose_every_event().await;
    comes_back(&house, id, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn class_2_running_whose_worker_died() {
    let house = house().await;
    let dead = house.process(Scripted::new([], Act::Hang)).await;
    let liveness = dead.store.register_worker("dead").await.unwrap();
    let id = house.submit().await;
    claim(&house, id, liveness.instance()).await;
    drop(liveness);
    house.lose_every_event().await;
    comes_back(&house, id, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn class_3_queued_after_a_retry_whose_delayed_event_is_gone() {
    let house = house().await;
    let id = house.submit().await;
    let token = claim(&house, id, "somebody").await;
    let requeue = Requeue {
        delay: Duration::from_millis(5),
        error: ExtractionError {
            code: "engine_error".to_owned(),
            message: "429".to_owned(),
        },
    };
    house
        .store
        .requeue_for_retry(&token, &requeue)
        .await
        .unwrap()
        .unwrap();
    house.lose_every_event().await;
    comes_back(&house, id, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn class_4_succeeded_whose_leg_nobody_was_told_of() {
    let house = house().await;
    let id = with_pending_leg(&house).await;
    house.lose_every_event().await;
    leg_comes_back(&house, id, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn class_5_leg_running_whose_worker_died() {
    let house = house().await;
    let id = with_pending_leg(&house).await;
    let dead = house.process(Scripted::new([], Act::Hang)).await;
    let liveness = dead.store.register_worker("dead").await.unwrap();
    let claimed = house
        .store
        .mark_bbox_refinement_running(id, liveness.instance())
        .await
        .unwrap();
    assert!(matches!(claimed, LegClaimed::Won(_)));
    drop(liveness);
    house.lose_every_event().await;
    leg_comes_back(&house, id, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_worker_had_is_finished_by_another_one() {
    let house = House::with(|store, _| store.heartbeat_timeout = Duration::from_mins(10)).await;
    let reaper = house.extraction_reaper();
    let hanging = Scripted::new([], Act::Hang);
    let killed = house.worker(hanging.clone()).await;
    let id = house.submit().await;
    hanging.started(1).await;
    killed.kill().await;
    let other = house
        .worker(Scripted::marked("other", [], Act::Succeed))
        .await;
    let row = house.until_status(id, Status::Succeeded).await;
    assert_eq!(row.extraction.attempts, 2);
    assert_eq!(house.mark(id).await, "other");
    other.stop().await;
    reaper.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_kills_every_worker_fails_in_the_end() {
    let house = house().await;
    let id = house.submit().await;
    let max = house.store_options.job_max_attempts;
    for _ in 0..max {
        let liveness = house.store.register_worker("dying").await.unwrap();
        claim(&house, id, liveness.instance()).await;
        drop(liveness);
        house.store.sweep_workers().await.unwrap();
    }
    let work = Scripted::new([], Act::Succeed);
    let worker = house.worker(work.clone()).await;
    let reaper = house.extraction_reaper();
    let row = house.until_status(id, Status::Failed).await;
    assert_eq!(row.extraction.error.unwrap().code, "worker_lost");
    assert_eq!(row.extraction.attempts, max);
    assert!(work.extractions().is_empty());
    worker.stop().await;
    reaper.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backlog_that_waits_is_not_announced_again_and_again() {
    let house = house().await;
    for _ in 0..10 {
        house.submit().await;
    }
    let before = house.number("SELECT count(*) FROM bus_outbox").await;
    let reapers = [house.extraction_reaper(), house.extraction_reaper()];
    let lost = house.submit().await;
    house
        .execute_about(
            lost,
            "DELETE FROM bus_outbox WHERE dedupe_key LIKE ?1 || '%'",
        )
        .await;
    // The reapers have seen all of them when the only lost one is back.
    house
        .until_number("SELECT count(*) FROM bus_outbox", before + 1)
        .await;
    for reaper in reapers {
        reaper.stop().await;
    }
    assert_eq!(
        house.number("SELECT count(*) FROM bus_outbox").await,
        before + 1
    );
}
