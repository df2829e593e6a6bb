//! `GET /extractions/{id}/result`, held until the boxes settle.

use std::sync::Arc;

use flydocs_store::LegClaimed;

use crate::house::{House, PATIENCE};

#[tokio::test]
async fn there_is_no_result_before_success() {
    let house = House::new().await;
    let queued = house.submitted().await;
    let reply = house
        .get(&format!(
            "/api/v1/extractions/{queued}/result?wait_for_bboxes=true"
        ))
        .await;
    assert_eq!(reply.status, 409);
    let problem = reply.problem("not_ready");
    assert_eq!(problem["extensions"]["id"], queued.to_string());
    assert_eq!(problem["extensions"]["status"], "queued");
    insta::assert_snapshot!(reply.shown());
    let failed = house.failed().await;
    let reply = house
        .get(&format!("/api/v1/extractions/{failed}/result"))
        .await;
    assert_eq!(
        reply.problem("not_ready")["extensions"]["error"]["code"],
        "corrupt_pdf"
    );
}

#[tokio::test]
async fn the_result_is_the_stored_one() {
    let house = House::new().await;
    let id = house.succeeded(false).await;
    let reply = house
        .get(&format!(
            "/api/v1/extractions/{id}/result?wait_for_bboxes=yes"
        ))
        .await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.json()["id"], id.to_string());
    assert_eq!(reply.json()["result"]["documents"][0]["type"], "invoice");
}

#[tokio::test]
async fn a_caller_that_waits_for_boxes_is_woken_by_their_settling() {
    let house = Arc::new(House::new().await);
    let id = house.succeeded(true).await;
    for flag in ["wait_for_bboxes", "wait_for_post_processing"] {
        let at_once = house
            .get(&format!(
                "/api/v1/extractions/{id}/result?{flag}=true&timeout=1"
            ))
            .await;
        assert_eq!(at_once.status, 200, "time is up: what is stored");
    }
    let waiting = tokio::spawn({
        let house = Arc::clone(&house);
        async move {
            house
                .get(&format!(
                    "/api/v1/extractions/{id}/result?wait_for_bboxes=true&timeout=300"
                ))
                .await
        }
    });
    let worker = house.store.register_worker("bbox").await.unwrap();
    let LegClaimed::Won(leg) = house
        .store
        .mark_bbox_refinement_running(id, worker.instance())
        .await
        .unwrap()
    else {
        panic!("the leg could not be claimed");
    };
    let refined = leg.result.replacen("RE-2026-0042", "refined", 1);
    house
        .store
        .mark_bbox_refinement_succeeded(&leg.token, &refined)
        .await
        .unwrap()
        .unwrap();
    let reply = tokio::time::timeout(PATIENCE, waiting)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(reply.status, 200);
    assert!(reply.text().contains("refined"));
}

#[tokio::test]
async fn a_process_that_ends_lets_its_waiting_callers_go() {
    let house = Arc::new(House::new().await);
    let id = house.succeeded(true).await;
    let waiting = tokio::spawn({
        let house = Arc::clone(&house);
        async move {
            house
                .get(&format!(
                    "/api/v1/extractions/{id}/result?wait_for_bboxes=true&timeout=300"
                ))
                .await
        }
    });
    house.shutdown.cancel();
    let reply = tokio::time::timeout(PATIENCE, waiting)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(reply.status, 200);
}

#[tokio::test]
async fn a_flag_or_a_time_that_is_none_is_400() {
    let house = House::new().await;
    let id = house.submitted().await;
    let reply = house
        .get(&format!(
            "/api/v1/extractions/{id}/result?wait_for_bboxes=perhaps&timeout=301"
        ))
        .await;
    assert_eq!(reply.status, 400);
    assert_eq!(
        reply.problem("invalid_request")["extensions"]["errors"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
}
