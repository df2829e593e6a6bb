//! Version, probes, metrics, documents.

use crate::house::House;

#[tokio::test]
async fn the_version_says_what_runs_here() {
    let house = House::new().await;
    insta::assert_snapshot!(house.get("/api/v1/version").await.shown());
}

#[tokio::test]
async fn health_names_its_components() {
    let house = House::new().await;
    for path in ["/actuator/health", "/actuator/health/readiness"] {
        let reply = house.get(path).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        let health = reply.json();
        assert_eq!(health["status"], "UP");
        assert_eq!(health["components"]["database"]["status"], "UP");
        assert_eq!(health["components"]["eda"]["details"]["adapter"], "sqlite");
    }
}

#[tokio::test]
async fn liveness_does_not_ask_the_database_and_readiness_does() {
    let house = House::new().await;
    house.store.close().await;
    assert_eq!(house.get("/actuator/health/liveness").await.status, 200);
    let reply = house.get("/actuator/health/readiness").await;
    assert_eq!(reply.status, 503);
    assert_eq!(reply.json()["components"]["database"]["status"], "DOWN");
}

#[tokio::test]
async fn a_process_that_ends_gets_no_more_requests() {
    let house = House::new().await;
    house.shutdown.cancel();
    assert_eq!(house.get("/actuator/health/readiness").await.status, 503);
    assert_eq!(house.get("/actuator/health/liveness").await.status, 200);
}

#[tokio::test]
async fn metrics_are_prometheus_text() {
    let house = House::new().await;
    let reply = house.get("/actuator/metrics").await;
    assert_eq!(
        reply.header("content-type"),
        Some("text/plain; version=0.0.4; charset=utf-8")
    );
    assert_eq!(reply.text(), "flydocs_up 1\n");
}

#[tokio::test]
async fn the_viewer_is_whole_without_a_network() {
    let house = House::new().await;
    assert_eq!(house.get("/docs").await.header("location"), Some("/docs/"));
    let page = house.get("/docs/").await.text();
    let mut files = 0;
    for attribute in ["src=\"", "href=\""] {
        for place in page.split(attribute).skip(1) {
            let place = place.split('"').next().unwrap();
            assert!(!place.contains("//"), "{place} leaves the machine");
            let reply = house
                .get(&format!("/docs/{}", place.trim_start_matches("./")))
                .await;
            assert_eq!(reply.status, 200, "{place}");
            files += 1;
        }
    }
    assert!(files > 3);
    assert_eq!(house.get("/docs/nothing.js").await.status, 404);
    assert!(house.get("/").await.text().contains("docs/"));
}
