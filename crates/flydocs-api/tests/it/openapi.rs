//! The document that callers generate clients from.

use std::path::Path;

/// Where the committed copy lies; `FLYDOCS_TEST_UPDATE=1 cargo test -p flydocs-api openapi` writes it anew.
fn committed() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("openapi.json")
}

#[test]
fn the_committed_document_is_the_one_that_is_served() {
    let text = flydocs_api::openapi::text();
    if std::env::var_os("FLYDOCS_TEST_UPDATE").is_some() {
        std::fs::write(committed(), &text).unwrap();
    }
    let kept = std::fs::read_to_string(committed()).unwrap_or_default();
    assert!(
        kept == text,
        "openapi.json drifted: FLYDOCS_TEST_UPDATE=1 cargo test -p flydocs-api openapi"
    );
}

#[tokio::test]
async fn the_document_is_served_as_it_is_committed() {
    let house = crate::house::House::new().await;
    let reply = house.get("/openapi.json").await;
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(reply.text(), flydocs_api::openapi::text());
}

#[tokio::test]
async fn every_documented_route_is_there() {
    let house = crate::house::House::new().await;
    let document = flydocs_api::openapi::document();
    for (path, item) in document["paths"].as_object().unwrap() {
        for method in item.as_object().unwrap().keys() {
            let path = path
                .replace("{file}", "0")
                .replace("{page}", "1")
                .replace("{id}", "x");
            let method = axum::http::Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            let request = crate::house::ask(method.clone(), &path)
                .body(axum::body::Body::empty())
                .unwrap();
            let response = house.open(request).await;
            let status = response.status().as_u16();
            assert_ne!(status, 405, "{method} {path}");
            let text = axum::body::to_bytes(response.into_body(), 1 << 20)
                .await
                .unwrap();
            assert!(
                !String::from_utf8_lossy(&text).contains("there is no route"),
                "{method} {path}"
            );
        }
    }
}

#[test]
fn a_request_may_be_null_wherever_it_may_be_silent() {
    let schemas = &flydocs_api::openapi::document()["components"]["schemas"];
    for name in [
        "ExtractRequest",
        "Field",
        "ExtractionOptions",
        "StageToggles",
        "RuleSpec",
    ] {
        let schema = &schemas[name];
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        for (key, property) in schema["properties"].as_object().unwrap() {
            let optional = !required.contains(&key.as_str().into());
            let nullable = property.to_string().contains("\"null\"");
            assert!(
                !optional || nullable,
                "{name}.{key} may be absent but not null"
            );
        }
        assert_eq!(schema["additionalProperties"], false, "{name} is closed");
    }
}
