//! Delete, cancel, retry.

use axum::http::Method;

use crate::house::House;

#[tokio::test]
async fn delete_cancels_what_is_queued_and_nothing_else() {
    let house = House::new().await;
    let id = house.submitted().await;
    let reply = house
        .call(Method::DELETE, &format!("/api/v1/extractions/{id}"))
        .await;
    assert_eq!(
        (reply.status.as_u16(), reply.json()["status"].as_str()),
        (200, Some("cancelled"))
    );
    let again = house
        .call(Method::DELETE, &format!("/api/v1/extractions/{id}"))
        .await;
    assert_eq!(again.status, 409);
    assert_eq!(
        again.problem("not_cancellable")["extensions"]["status"],
        "cancelled"
    );
    let running = house.submitted().await;
    let _held = house.claimed(running).await;
    let reply = house
        .call(Method::DELETE, &format!("/api/v1/extractions/{running}"))
        .await;
    assert_eq!(reply.status, 409);
    insta::assert_snapshot!(reply.shown());
}

#[tokio::test]
async fn cancel_stops_a_queued_one_at_once_and_asks_a_running_one() {
    let house = House::new().await;
    let queued = house.submitted().await;
    let reply = house
        .call(
            Method::POST,
            &format!("/api/v1/extractions/{queued}:cancel"),
        )
        .await;
    assert_eq!(
        (reply.status.as_u16(), reply.json()["status"].as_str()),
        (202, Some("cancelled"))
    );
    let running = house.submitted().await;
    let _held = house.claimed(running).await;
    let reply = house
        .call(
            Method::POST,
            &format!("/api/v1/extractions/{running}:cancel"),
        )
        .await;
    assert_eq!(
        (reply.status.as_u16(), reply.json()["status"].as_str()),
        (202, Some("running"))
    );
    assert!(
        house
            .store
            .get(running, None)
            .await
            .unwrap()
            .unwrap()
            .cancel_requested_at
            .is_some()
    );
    let done = house.succeeded(false).await;
    let reply = house
        .call(Method::POST, &format!("/api/v1/extractions/{done}:cancel"))
        .await;
    assert_eq!(reply.status, 409);
    assert_eq!(
        reply.problem("not_cancellable")["extensions"]["status"],
        "succeeded"
    );
}

#[tokio::test]
async fn retry_queues_what_failed_again_from_its_first_attempt() {
    let house = House::new().await;
    let failed = house.failed().await;
    let reply = house
        .call(Method::POST, &format!("/api/v1/extractions/{failed}:retry"))
        .await;
    assert_eq!(reply.status, 202);
    assert_eq!(
        reply.header("location").unwrap(),
        format!("/api/v1/extractions/{failed}")
    );
    assert_eq!(reply.json()["status"], "queued");
    assert_eq!(reply.json()["attempts"], 0);
    let again = house
        .call(Method::POST, &format!("/api/v1/extractions/{failed}:retry"))
        .await;
    assert_eq!(again.status, 409);
    again.problem("not_retryable");
    insta::assert_snapshot!(again.shown());
}
