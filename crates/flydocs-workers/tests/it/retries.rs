//! What becomes of attempts that fail.

use std::time::Duration;

use flydocs_contract::{LegStatus, Status};

use crate::{
    house::House,
    work::{Act, Scripted},
};

#[tokio::test(flavor = "multi_thread")]
async fn what_may_pass_is_tried_again_and_what_panicked_too() {
    let house = House::new().await;
    let work = Scripted::new([Act::Transient, Act::Panic], Act::Succeed);
    let worker = house.worker(work.clone()).await;
    let id = house.submit().await;
    let row = house.until_status(id, Status::Succeeded).await;
    assert_eq!(row.extraction.attempts, 3);
    assert_eq!(row.extraction.error, None);
    assert_eq!(work.extractions()[&id], 3);
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_never_passes_fails_at_once_and_the_rest_when_its_attempts_are_used_up() {
    let house = House::new().await;
    let work = Scripted::new([Act::Permanent], Act::Transient);
    let worker = house.worker(work.clone()).await;
    for attempts in [1, 3] {
        let id = house.submit().await;
        let row = house.until_status(id, Status::Failed).await;
        assert_eq!(row.extraction.attempts, attempts);
        assert_eq!(row.extraction.error.unwrap().code, "internal");
        assert_eq!(work.extractions()[&id], attempts);
    }
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_over_its_ceiling_is_stopped_and_counts() {
    let house = House::with(|store, _| {
        store.async_timeout = Duration::from_millis(150);
        store.job_max_attempts = 2;
    })
    .await;
    let work = Scripted::new([], Act::Hang);
    let worker = house.worker(work.clone()).await;
    let id = house.submit().await;
    let row = house.until_status(id, Status::Failed).await;
    let error = row.extraction.error.unwrap();
    assert_eq!(error.code, "extraction_timeout");
    assert!(
        error.message.contains("FLYDOCS_ASYNC_TIMEOUT_S"),
        "{}",
        error.message
    );
    work.cancelled(2).await;
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_are_gone_fail_with_their_own_code() {
    let house = House::new().await;
    let id = house.submit().await;
    house.execute("DELETE FROM extraction_blobs").await;
    house.execute("DELETE FROM blobs").await;
    let worker = house.worker(Scripted::new([], Act::Succeed)).await;
    let row = house.until_status(id, Status::Failed).await;
    assert_eq!(row.extraction.error.unwrap().code, "blob_missing");
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leg_is_tried_again_and_its_failure_leaves_the_extraction_succeeded() {
    let house = House::new().await;
    let worker = house
        .worker(Scripted::marked("first", [], Act::Succeed))
        .await;
    let failing = Scripted::new([Act::Transient, Act::Succeed], Act::Permanent);
    let bbox = house.bbox_worker(failing).await;
    let id = house.submit_with_boxes().await;
    let row = house.until_leg(id, LegStatus::Succeeded).await;
    assert_eq!(
        row.extraction
            .post_processing
            .unwrap()
            .bbox_refinement
            .attempts,
        2
    );
    assert_eq!(house.mark(id).await, "refined");
    let id = house.submit_with_boxes().await;
    let row = house.until_leg(id, LegStatus::Failed).await;
    assert_eq!(row.extraction.status, Status::Succeeded);
    assert_eq!(house.mark(id).await, "first");
    worker.stop().await;
    bbox.stop().await;
}
