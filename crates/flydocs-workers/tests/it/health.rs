//! The probes of a worker.

use flydocs_workers::{HealthServer, Render};
use tokio::net::TcpListener;

use crate::house::{House, Running};

#[tokio::test(flavor = "multi_thread")]
async fn liveness_outlasts_the_database_and_readiness_does_not() {
    let house = House::new().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/actuator", listener.local_addr().unwrap());
    let render = Render::new(|| "flydocs_up 1\n".to_owned());
    let server = HealthServer::new(house.store.clone(), house.bus.clone(), render);
    let server = Running::start(|shutdown| server.run(listener, shutdown));
    let client = crate::webhooks::client();
    let get = async |path: &str| {
        let answer = client.get(format!("{base}{path}")).send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    for path in ["/health", "/health/readiness"] {
        let (status, body) = get(path).await;
        assert_eq!(status, 200, "{body}");
        let body: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["status"], "UP");
        assert_eq!(body["components"]["database"]["status"], "UP");
        assert_eq!(body["components"]["eda"]["details"]["adapter"], "sqlite");
    }
    assert_eq!(get("/metrics").await, (200, "flydocs_up 1\n".to_owned()));
    house.store.close().await;
    assert_eq!(get("/health/readiness").await.0, 503);
    assert_eq!(get("/health/liveness").await.0, 200);
    drop(client);
    server.stop().await;
}
