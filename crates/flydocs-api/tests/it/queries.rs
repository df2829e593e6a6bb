//! `GET /extractions`: filters, pages, order.

use axum::http::Request;

use crate::house::{House, post, request};

fn ids(list: &serde_json::Value) -> Vec<String> {
    list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["id"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn the_newest_stand_first_and_pages_do_not_overlap() {
    let house = House::new().await;
    let mut all = Vec::new();
    for _ in 0..5 {
        all.push(house.submitted().await.to_string());
    }
    all.reverse();
    let list = house.get("/api/v1/extractions").await.json();
    assert_eq!(ids(&list), all);
    assert_eq!(
        (&list["total"], &list["limit"], &list["offset"]),
        (&5.into(), &50.into(), &0.into())
    );
    let page = house
        .get("/api/v1/extractions?limit=2&offset=2")
        .await
        .json();
    assert_eq!(ids(&page), all[2..4]);
    assert_eq!(page["total"], 5);
}

#[tokio::test]
async fn filters_join_by_and() {
    let house = House::new().await;
    let queued = house.submitted().await.to_string();
    let failed = house.failed().await.to_string();
    let boxes = house.succeeded(true).await.to_string();
    let (mut parts, body) = post("/api/v1/extractions", &request()).into_parts();
    parts
        .headers
        .insert("idempotency-key", "mine".parse().unwrap());
    let keyed = house.send(Request::from_parts(parts, body)).await.json()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let submitted_at = house
        .get(&format!("/api/v1/extractions/{failed}"))
        .await
        .json()["submitted_at"]
        .as_str()
        .unwrap()
        .to_owned();
    for (query, expected) in [
        ("status=failed".to_owned(), vec![&failed]),
        (
            "status=queued, failed".replace(' ', "%20"),
            vec![&keyed, &failed, &queued],
        ),
        ("post_processing_status=pending".to_owned(), vec![&boxes]),
        (
            "post_processing_status=pending&status=queued".to_owned(),
            vec![],
        ),
        ("idempotency_key=mine".to_owned(), vec![&keyed]),
        (
            format!("created_after={submitted_at}&created_before={submitted_at}"),
            vec![&failed],
        ),
        ("created_after=2100-01-01T00:00:00Z".to_owned(), vec![]),
        (
            "created_before=2100-01-01T00:00:00%2B02:00&limit=500".to_owned(),
            vec![&keyed, &boxes, &failed, &queued],
        ),
        (
            "unknown=1&status=".to_owned(),
            vec![&keyed, &boxes, &failed, &queued],
        ),
    ] {
        let reply = house.get(&format!("/api/v1/extractions?{query}")).await;
        assert_eq!(reply.status, 200, "{query}");
        assert_eq!(
            ids(&reply.json()).iter().collect::<Vec<_>>(),
            expected,
            "{query}"
        );
    }
}

#[tokio::test]
async fn every_bad_filter_is_named() {
    let house = House::new().await;
    let reply = house
        .get("/api/v1/extractions?status=done&post_processing_status=x&limit=0&offset=-1&created_after=soon")
        .await;
    assert_eq!(reply.status, 400);
    insta::assert_snapshot!(reply.shown());
}
