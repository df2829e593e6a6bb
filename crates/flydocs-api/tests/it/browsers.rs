//! Pages of other origins: let in only when an operator names them.

use axum::{body::Body, http::Method};

use crate::house::{House, Reply, ask};

async fn preflight(house: &House, origin: &str) -> Reply {
    let request = ask(Method::OPTIONS, "/api/v1/extractions")
        .header("origin", origin)
        .header("access-control-request-method", "POST")
        .header(
            "access-control-request-headers",
            "authorization,idempotency-key",
        )
        .body(Body::empty())
        .unwrap();
    house.send(request).await
}

#[tokio::test]
async fn no_page_of_another_origin_may_call_unless_it_is_named() {
    let house = House::new().await;
    let reply = preflight(&house, "https://a.example").await;
    assert_eq!(reply.status, 405);
    assert_eq!(reply.header("access-control-allow-origin"), None);

    let house = House::with(|plan| {
        plan.options.keys = "secret".parse().unwrap();
        plan.options.cors_origins = Some("https://a.example".parse().unwrap());
    })
    .await;
    let reply = preflight(&house, "https://a.example").await;
    assert_eq!(reply.status, 200, "a browser asks without a key");
    assert_eq!(
        reply.header("access-control-allow-origin"),
        Some("https://a.example")
    );
    let allowed = reply.header("access-control-allow-headers").unwrap();
    assert!(allowed.contains("idempotency-key"), "{allowed}");
    let reply = preflight(&house, "https://b.example").await;
    assert_eq!(reply.header("access-control-allow-origin"), None);

    let refused = ask(Method::GET, "/api/v1/version")
        .header("origin", "https://a.example")
        .body(Body::empty())
        .unwrap();
    let reply = house.send(refused).await;
    reply.problem("unauthorized");
    assert_eq!(
        reply.header("access-control-allow-origin"),
        Some("https://a.example"),
        "a page reads why it was refused"
    );
    let exposed = reply.header("access-control-expose-headers").unwrap();
    assert!(exposed.contains("retry-after"), "{exposed}");
}
