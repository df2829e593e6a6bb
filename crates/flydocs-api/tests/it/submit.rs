//! `POST /extractions`: accepted once, whatever is repeated.

use axum::{body::Body, http::Request};
use serde_json::{Value, json};

use crate::{
    house::{House, PATIENCE, invoice_type, multipart, post, request},
    paper,
};

fn keyed(body: &Value, key: &str, tenant: Option<&str>) -> Request<Body> {
    let (mut parts, body) = post("/api/v1/extractions", body).into_parts();
    parts
        .headers
        .insert("idempotency-key", key.parse().unwrap());
    if let Some(tenant) = tenant {
        parts.headers.insert("x-tenant-id", tenant.parse().unwrap());
    }
    Request::from_parts(parts, body)
}

#[tokio::test]
async fn a_submission_is_accepted_with_its_place() {
    let house = House::new().await;
    let reply = house.post("/api/v1/extractions", &request()).await;
    assert_eq!(reply.status, 202);
    let extraction = reply.json();
    let id = extraction["id"].as_str().unwrap();
    assert_eq!(
        reply.header("location").unwrap(),
        format!("/api/v1/extractions/{id}")
    );
    insta::assert_snapshot!(reply.shown());
    let again = house.get(reply.header("location").unwrap()).await;
    assert_eq!(again.status, 200);
    assert_eq!(again.json(), extraction);
}

#[tokio::test]
async fn what_a_caller_sends_is_stored_with_it() {
    let house = House::new().await;
    let mut body = request();
    body["metadata"] = json!({"order": 7});
    body["callback_url"] = "https://example.com/hook".into();
    let (mut parts, body) = post("/api/v1/extractions", &body).into_parts();
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for (name, value) in [
        ("x-correlation-id", "order-7"),
        ("x-request-id", "call-1"),
        ("x-tenant-id", "acme"),
        ("traceparent", trace),
        ("tracestate", "vendor=1"),
    ] {
        parts.headers.insert(name, value.parse().unwrap());
    }
    let reply = house.send(Request::from_parts(parts, body)).await;
    assert_eq!(reply.header("x-correlation-id"), Some("order-7"));
    assert_eq!(reply.header("x-request-id"), Some("call-1"));
    let id = reply.json()["id"].as_str().unwrap().parse().unwrap();
    let row = house.store.get(id, None).await.unwrap().unwrap();
    assert_eq!(row.tenant_id.as_deref(), Some("acme"));
    assert_eq!(row.correlation.correlation_id.as_deref(), Some("order-7"));
    assert_eq!(row.correlation.traceparent.as_deref(), Some(trace));
    assert_eq!(row.correlation.tracestate.as_deref(), Some("vendor=1"));
    assert_eq!(row.metadata["order"], 7);
    assert_eq!(
        row.callback_url.as_deref(),
        Some("https://example.com/hook")
    );
    let stored = house.store.request(id, None).await.unwrap().unwrap();
    let blob = house
        .store
        .get_blob(&stored.files[0].sha256)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(blob.collect().await.unwrap(), paper::invoice());
}

#[tokio::test]
async fn the_same_key_and_body_is_the_same_extraction_in_either_form() {
    let house = House::new().await;
    let first = house.send(keyed(&request(), "k-1", None)).await;
    assert_eq!(first.status, 202);
    assert_eq!(first.header("idempotency-replayed"), None);
    let id = first.json()["id"].clone();
    // null where the first was silent: the same request
    let mut silent = request();
    silent["rules"] = Value::Null;
    let again = house.send(keyed(&silent, "k-1", None)).await;
    assert_eq!((again.status.as_u16(), &again.json()["id"]), (202, &id));
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    let body = json!({"document_types": [invoice_type()]}).to_string();
    let pdf = paper::invoice();
    let (mut parts, body) = multipart(
        "/api/v1/extractions",
        &[
            ("request", None, "application/json", body.as_bytes()),
            (
                "files",
                Some("invoice.pdf"),
                "application/octet-stream",
                &pdf,
            ),
        ],
    )
    .into_parts();
    parts
        .headers
        .insert("idempotency-key", "k-1".parse().unwrap());
    let other_form = house.send(Request::from_parts(parts, body)).await;
    assert_eq!(other_form.json()["id"], id, "{}", other_form.text());
    // a replay answers with the state of now
    house.claimed(id.as_str().unwrap().parse().unwrap()).await;
    assert_eq!(
        house.send(keyed(&request(), "k-1", None)).await.json()["status"],
        "running"
    );
    assert_eq!(house.get("/api/v1/extractions").await.json()["total"], 1);
}

#[tokio::test]
async fn the_same_key_with_another_body_is_a_mismatch() {
    let house = House::new().await;
    let id = house.send(keyed(&request(), "k-1", None)).await.json()["id"].clone();
    let mut other = request();
    other["intention"] = "something else".into();
    let reply = house.send(keyed(&other, "k-1", None)).await;
    assert_eq!(reply.status, 422);
    assert_eq!(
        reply.problem("idempotency_mismatch")["extensions"]["extraction_id"],
        id
    );
    insta::assert_snapshot!(reply.shown());
}

#[tokio::test]
async fn keys_of_tenants_do_not_meet() {
    let house = House::new().await;
    let a = house.send(keyed(&request(), "k", Some("a"))).await;
    let b = house.send(keyed(&request(), "k", Some("b"))).await;
    assert_ne!(a.json()["id"], b.json()["id"]);
}

#[tokio::test]
async fn a_key_that_is_too_long_is_400() {
    let house = House::new().await;
    assert_eq!(
        house
            .send(keyed(&request(), &"k".repeat(128), None))
            .await
            .status,
        202
    );
    let reply = house.send(keyed(&request(), &"k".repeat(129), None)).await;
    assert_eq!(reply.status, 400);
    assert_eq!(
        reply.problem("invalid_request")["extensions"]["errors"][0]["path"],
        "Idempotency-Key"
    );
}

#[tokio::test]
async fn many_calls_with_one_key_at_once_make_one_row() {
    let house = House::new().await;
    let body = request();
    let calls = (0..8).map(|_| house.send(keyed(&body, "k", None)));
    let replies = futures::future::join_all(calls).await;
    let ids: std::collections::BTreeSet<_> = replies
        .iter()
        .map(|reply| reply.json()["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids.len(), 1);
    assert_eq!(
        replies
            .iter()
            .filter(|r| r.header("idempotency-replayed").is_none())
            .count(),
        1
    );
}

#[tokio::test]
async fn a_preference_to_wait_holds_until_it_settled_or_time_is_up() {
    let house = House::new().await;
    let prefer = |wait: &str| {
        let (mut parts, body) = post("/api/v1/extractions", &request()).into_parts();
        parts.headers.insert("prefer", wait.parse().unwrap());
        Request::from_parts(parts, body)
    };
    let reply = house.send(prefer("wait=0")).await;
    assert_eq!(
        (reply.status.as_u16(), reply.json()["status"].as_str()),
        (202, Some("queued"))
    );
    let cancel_when_there = async {
        loop {
            let queued = house.get("/api/v1/extractions?status=queued").await.json();
            if queued["total"] == 2 {
                let id = queued["items"][0]["id"].as_str().unwrap().to_owned();
                break house
                    .call(
                        axum::http::Method::DELETE,
                        &format!("/api/v1/extractions/{id}"),
                    )
                    .await;
            }
            tokio::task::yield_now().await;
        }
    };
    let both = async { tokio::join!(house.send(prefer("wait=60")), cancel_when_there) };
    let (reply, cancelled) = tokio::time::timeout(PATIENCE, both).await.unwrap();
    assert_eq!(cancelled.status, 200);
    assert_eq!(
        (reply.status.as_u16(), reply.json()["status"].as_str()),
        (200, Some("cancelled"))
    );
    assert_eq!(reply.header("preference-applied"), Some("wait=60"));
}
