//! Server-sent events of one extraction.

use axum::{
    body::Body,
    http::{Method, Request},
};
use flydocs_store::{Beat, Progress};
use futures::StreamExt;
use serde_json::Value;

use crate::house::{House, PATIENCE, ask};

fn stream(path: &str, last: Option<&str>) -> Request<Body> {
    let mut request = ask(Method::GET, path).header("accept", "text/event-stream");
    if let Some(last) = last {
        request = request.header("last-event-id", last);
    }
    request.body(Body::empty()).unwrap()
}

/// Every event of a text: id, name, data.
fn events(text: &str) -> Vec<(u64, String, Value)> {
    text.split("\n\n")
        .filter(|block| block.contains("event:"))
        .map(|block| {
            let of = |key: &str| {
                block
                    .lines()
                    .find_map(|line| line.strip_prefix(key)?.strip_prefix(": "))
                    .unwrap_or_default()
                    .to_owned()
            };
            (
                of("id").parse().unwrap(),
                of("event"),
                serde_json::from_str(&of("data")).unwrap(),
            )
        })
        .collect()
}

#[tokio::test]
async fn a_finished_extraction_is_told_whole_and_its_end_is_not_told_again() {
    let house = House::new().await;
    let id = house.failed().await;
    let path = format!("/api/v1/extractions/{id}/events");
    let reply = house.send(stream(&path, None)).await;
    assert_eq!(reply.header("content-type"), Some("text/event-stream"));
    let told = events(&reply.text());
    let names: Vec<_> = told
        .iter()
        .map(|(_, name, data)| format!("{name} {}", data["status"].as_str().unwrap_or_default()))
        .collect();
    assert_eq!(
        names,
        [
            "state queued",
            "state running",
            "state failed",
            "settled failed"
        ]
    );
    for (_, name, data) in &told {
        let shape = if name == "state" {
            "StateChange"
        } else {
            "Extraction"
        };
        crate::shapes::component(shape, data);
    }
    let resumed = house
        .send(stream(&path, Some(&told[1].0.to_string())))
        .await;
    let rest: Vec<_> = events(&resumed.text())
        .into_iter()
        .map(|(_, name, _)| name)
        .collect();
    assert_eq!(rest, ["state", "settled"]);
    let last = told.last().unwrap().0.to_string();
    assert_eq!(house.send(stream(&path, Some(&last))).await.status, 204);
    let odd = house.send(stream(&path, Some("soon"))).await;
    assert_eq!(odd.status, 400);
    odd.problem("invalid_request");
}

#[tokio::test]
async fn progress_and_the_end_are_told_while_they_happen() {
    let house = House::new().await;
    let id = house.submitted().await;
    let response = house
        .open(stream(&format!("/api/v1/extractions/{id}/events"), None))
        .await;
    let mut chunks = response.into_body().into_data_stream();
    let mut text = String::new();
    let mut until = async |text: &mut String, word: &str| {
        while !text.contains(word) {
            let chunk = tokio::time::timeout(PATIENCE, chunks.next())
                .await
                .unwrap()
                .unwrap()
                .unwrap();
            text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    };
    until(&mut text, "queued").await;
    let (token, _worker) = house.claimed(id).await;
    until(&mut text, "running").await;
    let at = Progress {
        stage: "load".to_owned(),
        pages_done: Some(1),
        pages_total: Some(3),
    };
    house
        .store
        .heartbeat(&[Beat::of(&token, Some(at))])
        .await
        .unwrap();
    until(&mut text, "pages_total").await;
    let error = flydocs_contract::status::ExtractionError {
        code: "corrupt_pdf".to_owned(),
        message: "no".to_owned(),
    };
    house
        .store
        .mark_failed(&token, &error)
        .await
        .unwrap()
        .unwrap();
    until(&mut text, "settled").await;
    let told = events(&text);
    let progress = told.iter().find(|(_, name, _)| name == "progress").unwrap();
    assert_eq!(progress.2["stage"], "load");
    crate::shapes::component("StageProgress", &progress.2);
    assert!(
        told.windows(2).all(|pair| pair[0].0 <= pair[1].0),
        "ids only grow"
    );
}
