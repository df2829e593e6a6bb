//! The webhook log and redelivery.

use axum::http::Method;
use flydocs_contract::ExtractionId;
use serde_json::json;

use crate::house::{House, request};

async fn with_callback(house: &House) -> ExtractionId {
    let mut body = request();
    body["callback_url"] = "https://example.com/hook".into();
    let reply = house.post("/api/v1/extractions", &body).await;
    reply.json()["id"].as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn an_extraction_without_a_callback_has_an_empty_log() {
    let house = House::new().await;
    let id = house.failed().await;
    let reply = house
        .get(&format!("/api/v1/extractions/{id}/deliveries"))
        .await;
    assert_eq!(reply.json(), json!({"items": []}));
}

#[tokio::test]
async fn a_delivery_is_listed_and_can_be_made_again() {
    let house = House::new().await;
    let id = with_callback(&house).await;
    house.store.mark_cancelled(id, None).await.unwrap().unwrap();
    let log = house
        .get(&format!("/api/v1/extractions/{id}/deliveries"))
        .await
        .json();
    let delivery = &log["items"][0];
    assert_eq!(delivery["event_type"], "extraction.completed");
    assert_eq!(delivery["status"], "pending");
    let event = delivery["id"].as_str().unwrap();
    let reply = house
        .call(
            Method::POST,
            &format!("/api/v1/deliveries/{event}:redeliver"),
        )
        .await;
    assert_eq!(reply.status, 202);
    assert_eq!(reply.json()["id"], event);
    let odd = house
        .call(Method::POST, &format!("/api/v1/deliveries/{event}:explode"))
        .await;
    assert_eq!(odd.status, 404);
    odd.problem("not_found");
}
