//! Keys, tenants, and the headers of every route.

use axum::{
    body::Body,
    http::{Method, Request, header},
};

use crate::house::{House, Reply, ask, post, request};

async fn with_key(house: &House, method: Method, path: &str, authorization: Option<&str>) -> Reply {
    let mut request = ask(method, path);
    if let Some(text) = authorization {
        request = request.header(header::AUTHORIZATION, text);
    }
    house.send(request.body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn without_a_key_only_probes_and_documents_answer() {
    let house = House::with(|plan| plan.options.keys = "secret".parse().unwrap()).await;
    for authorization in [
        None,
        Some("Bearer wrong"),
        Some("Basic secret"),
        Some("secret"),
        Some("Bearer "),
    ] {
        let reply = with_key(&house, Method::GET, "/api/v1/version", authorization).await;
        assert_eq!(reply.status, 401, "{authorization:?}");
        reply.problem("unauthorized");
        assert!(
            reply
                .header("www-authenticate")
                .unwrap()
                .starts_with("Bearer")
        );
    }
    for authorization in ["Bearer secret", "bearer secret"] {
        assert_eq!(
            with_key(&house, Method::GET, "/api/v1/version", Some(authorization))
                .await
                .status,
            200
        );
    }
    for path in [
        "/actuator/health",
        "/actuator/health/liveness",
        "/actuator/metrics",
        "/openapi.json",
        "/docs/",
        "/",
    ] {
        assert_eq!(
            with_key(&house, Method::GET, path, None).await.status,
            200,
            "{path}"
        );
    }
    let reply = with_key(&house, Method::GET, "/api/v1/nothing", None).await;
    assert_eq!(
        reply.status, 401,
        "an unknown caller learns nothing of the routes"
    );
    insta::assert_snapshot!(reply.shown());
}

#[tokio::test]
async fn keys_can_be_replaced_while_it_runs() {
    let house = House::with(|plan| plan.options.keys = "old".parse().unwrap()).await;
    house.api.replace_keys("new, newer".parse().unwrap());
    for (key, status) in [("old", 401), ("new", 200), ("newer", 200)] {
        let reply = with_key(
            &house,
            Method::GET,
            "/api/v1/version",
            Some(&format!("Bearer {key}")),
        )
        .await;
        assert_eq!(reply.status, status, "{key}");
    }
}

#[tokio::test]
async fn a_key_bound_to_a_tenant_sees_that_tenant_alone() {
    let house =
        House::with(|plan| plan.options.keys = "all,acme:a-key,bolt:b-key".parse().unwrap()).await;
    let submit = |key: &str, tenant: Option<&str>| {
        let mut body = request();
        body["callback_url"] = "https://example.com/hook".into();
        let (mut parts, body) = post("/api/v1/extractions", &body).into_parts();
        parts.headers.insert(
            header::AUTHORIZATION,
            format!("Bearer {key}").parse().unwrap(),
        );
        if let Some(tenant) = tenant {
            parts.headers.insert("x-tenant-id", tenant.parse().unwrap());
        }
        Request::from_parts(parts, body)
    };
    let id = house.send(submit("a-key", None)).await.json()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let row = house
        .store
        .get(id.parse().unwrap(), None)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(row.tenant_id.as_deref(), Some("acme"));
    assert_eq!(house.send(submit("a-key", Some("bolt"))).await.status, 401);
    assert_eq!(house.send(submit("all", Some("bolt"))).await.status, 202);
    let path = format!("/api/v1/extractions/{id}");
    for (key, status, total) in [("a-key", 200, 1), ("b-key", 404, 1), ("all", 200, 2)] {
        let bearer = format!("Bearer {key}");
        assert_eq!(
            with_key(&house, Method::GET, &path, Some(&bearer))
                .await
                .status,
            status,
            "{key}"
        );
        let list = with_key(&house, Method::GET, "/api/v1/extractions", Some(&bearer))
            .await
            .json();
        assert_eq!(list["total"], total, "{key}");
    }
    let foreign = Some("Bearer b-key");
    let event = told(&house, &id).await;
    for (method, path) in [
        (
            Method::POST,
            format!("/api/v1/deliveries/{event}:redeliver"),
        ),
        (Method::DELETE, path.clone()),
        (Method::POST, format!("{path}:cancel")),
        (Method::POST, format!("{path}:retry")),
        (Method::GET, format!("{path}/result")),
        (Method::GET, format!("{path}/events")),
        (Method::GET, format!("{path}/deliveries")),
        (Method::GET, format!("{path}/files/0/pages/1.png")),
    ] {
        assert_eq!(
            with_key(&house, method.clone(), &path, foreign)
                .await
                .status,
            404,
            "{method} {path}"
        );
    }
}

/// Cancels an extraction that has a callback, and gives the id of its delivery.
async fn told(house: &House, id: &str) -> String {
    let id = id.parse().unwrap();
    house.store.mark_cancelled(id, None).await.unwrap().unwrap();
    let deliveries = house.store.deliveries(id, None).await.unwrap().unwrap();
    deliveries[0].event_id.to_string()
}

#[tokio::test]
async fn ids_are_made_when_absent_and_echoed_when_sent_on_every_route() {
    let house = House::new().await;
    for path in [
        "/api/v1/version",
        "/api/v1/nothing",
        "/actuator/health",
        "/openapi.json",
        "/docs/",
    ] {
        let reply = house.get(path).await;
        for name in ["x-request-id", "x-correlation-id"] {
            assert_eq!(reply.header(name).unwrap().len(), 36, "{path} {name}");
        }
        let request = ask(Method::GET, path)
            .header("x-correlation-id", "mine")
            .header("x-request-id", "call")
            .body(Body::empty())
            .unwrap();
        let reply = house.send(request).await;
        assert_eq!(reply.header("x-correlation-id"), Some("mine"), "{path}");
        assert_eq!(reply.header("x-request-id"), Some("call"), "{path}");
    }
    let empty = ask(Method::GET, "/api/v1/version")
        .header("x-correlation-id", "")
        .body(Body::empty())
        .unwrap();
    let reply = house.send(empty).await;
    assert_eq!(
        reply.header("x-correlation-id").unwrap().len(),
        36,
        "an empty id is none"
    );
    let long = ask(Method::GET, "/api/v1/version")
        .header("x-correlation-id", "x".repeat(129))
        .body(Body::empty())
        .unwrap();
    let reply = house.send(long).await;
    assert_eq!(reply.status, 400);
    reply.problem("invalid_request");
}
