//! A caller that calls too often waits; the others do not.

use std::num::NonZeroU32;

use axum::{body::Body, http::Method};

use crate::house::{House, Reply, ask};

async fn version(house: &House, key: &str) -> Reply {
    let request = ask(Method::GET, "/api/v1/version")
        .header("authorization", format!("Bearer {key}"))
        .body(Body::empty())
        .unwrap();
    house.send(request).await
}

#[tokio::test]
async fn a_caller_over_its_rate_is_told_when_to_come_back() {
    let house = House::with(|plan| {
        plan.options.keys = "one,acme:two".parse().unwrap();
        plan.options.rate_limit_per_minute = NonZeroU32::new(2);
    })
    .await;
    for _ in 0..2 {
        assert_eq!(version(&house, "one").await.status, 200);
    }
    let reply = version(&house, "one").await;
    assert_eq!(reply.status, 429);
    let problem = reply.problem("too_many_requests");
    assert_eq!(
        problem["extensions"]["setting"],
        "FLYDOCS_RATE_LIMIT_PER_MINUTE"
    );
    let wait: u64 = reply.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=30).contains(&wait), "{wait}");
    assert_eq!(
        version(&house, "two").await.status,
        200,
        "a key has its own"
    );
    for _ in 0..5 {
        assert_eq!(house.get("/actuator/health").await.status, 200);
    }
    assert_eq!(version(&house, "wrong").await.status, 401);
}
