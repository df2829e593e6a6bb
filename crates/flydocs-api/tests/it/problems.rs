//! Every code the surface can answer, provoked, with the body a caller reads.

use std::{ops::RangeInclusive, sync::Arc, time::Duration};

use async_trait::async_trait;
use axum::{
    body::Body,
    http::{Method, header},
};
use bytes::Bytes;
use flydocs_contract::{ErrorCode, JsonObject, PageWords};
use flydocs_pages::{ImageFormat, ImageSize, PageImage, Reader, Row, Source};
use futures::StreamExt;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    house::{House, ask, file, invoice_type, multipart, post, request},
    paper,
};

/// A reader that refuses every file with one code, or never answers.
#[derive(Debug)]
enum Odd {
    Refuses(ErrorCode),
    Hangs,
}

#[async_trait]
impl Reader for Odd {
    async fn load(&self, source: Source, _: &CancellationToken) -> flydocs_pages::Result<Vec<Row>> {
        match self {
            Self::Refuses(code) => {
                let mut facts = JsonObject::new();
                if *code == ErrorCode::LimitExceeded {
                    facts.insert("limit".to_owned(), "pages".into());
                }
                Err(flydocs_pages::Error::Refused {
                    code: *code,
                    detail: format!("{} is refused", source.filename),
                    filename: source.filename,
                    facts,
                })
            }
            Self::Hangs => std::future::pending().await,
        }
    }

    async fn words(
        &self,
        _: &Row,
        _: u32,
        _: Option<&str>,
        _: &CancellationToken,
    ) -> flydocs_pages::Result<Arc<PageWords>> {
        std::future::pending().await
    }

    async fn image(
        &self,
        _: &Row,
        _: u32,
        _: ImageSize,
        _: ImageFormat,
        _: &CancellationToken,
    ) -> flydocs_pages::Result<PageImage> {
        std::future::pending().await
    }

    async fn slice(
        &self,
        _: &Row,
        _: RangeInclusive<u32>,
        _: &CancellationToken,
    ) -> flydocs_pages::Result<Bytes> {
        std::future::pending().await
    }
}

fn with_file(name: &str, content: &[u8]) -> Value {
    json!({"files": [file(name, content)], "document_types": [invoice_type()]})
}

#[tokio::test]
async fn a_route_that_is_not_there_is_a_problem() {
    let house = House::new().await;
    let reply = house.get("/api/v1/nothing?x=1").await;
    assert_eq!(reply.status, 404);
    let problem = reply.problem("not_found");
    assert_eq!(problem["instance"], "/api/v1/nothing");
    insta::assert_snapshot!(reply.shown());
}

#[tokio::test]
async fn an_extraction_that_is_not_there_is_a_problem() {
    let house = House::new().await;
    for id in ["ext_01ARZ3NDEKTSV4RRFFQ69G5FAV", "nonsense"] {
        for (method, path) in [
            (Method::GET, format!("/api/v1/extractions/{id}")),
            (Method::GET, format!("/api/v1/extractions/{id}/result")),
            (Method::GET, format!("/api/v1/extractions/{id}/events")),
            (Method::GET, format!("/api/v1/extractions/{id}/deliveries")),
            (
                Method::GET,
                format!("/api/v1/extractions/{id}/files/0/pages/1.png"),
            ),
            (Method::DELETE, format!("/api/v1/extractions/{id}")),
            (Method::POST, format!("/api/v1/extractions/{id}:cancel")),
            (Method::POST, format!("/api/v1/extractions/{id}:retry")),
        ] {
            let reply = house.call(method, &path).await;
            assert_eq!(reply.status, 404, "{path}");
            assert_eq!(
                reply.problem("not_found")["extensions"]["extraction_id"],
                id
            );
        }
    }
    let reply = house
        .call(Method::POST, "/api/v1/extractions/ext_x:explode")
        .await;
    assert_eq!(reply.status, 404);
    reply.problem("not_found");
    let reply = house
        .call(
            Method::POST,
            "/api/v1/deliveries/00000000-0000-0000-0000-000000000001:redeliver",
        )
        .await;
    assert_eq!(reply.status, 404);
    reply.problem("not_found");
}

#[tokio::test]
async fn a_method_the_route_does_not_know_is_405_with_allow() {
    let house = House::new().await;
    for (method, path, allow) in [
        (Method::PUT, "/api/v1/extractions", "POST,GET,HEAD"),
        (Method::GET, "/api/v1/extract", "POST"),
        (
            Method::PATCH,
            "/api/v1/extractions/ext_x",
            "GET,HEAD,DELETE",
        ),
        (Method::PUT, "/api/v1/extractions/ext_x:cancel", "POST"),
        (Method::GET, "/api/v1/extractions/ext_x:retry", "POST"),
        (Method::DELETE, "/api/v1/extractions/ext_x:cancel", "POST"),
        (Method::GET, "/api/v1/deliveries/x:redeliver", "POST"),
        (Method::POST, "/api/v1/extractions/ext_x", "GET,HEAD,DELETE"),
        (Method::DELETE, "/actuator/health", "GET,HEAD"),
    ] {
        let reply = house.call(method.clone(), path).await;
        assert_eq!(reply.status, 405, "{method} {path}");
        reply.problem("method_not_allowed");
        let mut given: Vec<_> = reply.header("allow").unwrap().split(',').collect();
        let mut wanted: Vec<_> = allow.split(',').collect();
        given.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(given, wanted, "{method} {path}");
    }
}

#[tokio::test]
async fn a_caller_that_takes_no_json_is_406() {
    let house = House::new().await;
    let of = |path: &str, accept: &str| {
        ask(Method::GET, path)
            .header(header::ACCEPT, accept)
            .body(Body::empty())
            .unwrap()
    };
    let reply = house.send(of("/api/v1/extractions", "text/html")).await;
    assert_eq!(reply.status, 406);
    reply.problem("not_acceptable");
    insta::assert_snapshot!(reply.shown());
    let reply = house
        .send(of("/api/v1/extractions", "application/json"))
        .await;
    assert_eq!(reply.status, 200);
    let id = house.submitted().await;
    for (path, accept) in [
        (
            format!("/api/v1/extractions/{id}/events"),
            "application/json",
        ),
        (
            format!("/api/v1/extractions/{id}/files/0/pages/1.png"),
            "image/jpeg",
        ),
    ] {
        assert_eq!(house.send(of(&path, accept)).await.status, 406, "{path}");
    }
}

#[tokio::test]
async fn a_body_of_another_type_is_415() {
    let house = House::new().await;
    for path in [
        "/api/v1/extract",
        "/api/v1/extract:validate",
        "/api/v1/extractions",
    ] {
        for kind in [
            Some("text/plain"),
            Some("application/x-www-form-urlencoded"),
            None,
        ] {
            let mut request = ask(Method::POST, path);
            if let Some(kind) = kind {
                request = request.header(header::CONTENT_TYPE, kind);
            }
            let reply = house.send(request.body(Body::from("{}")).unwrap()).await;
            assert_eq!(reply.status, 415, "{path} {kind:?}");
            reply.problem("unsupported_media_type");
        }
    }
}

#[tokio::test]
async fn every_refusal_of_a_file_has_its_status_and_names_the_file() {
    for (code, status) in [
        (ErrorCode::UnsupportedFile, 415),
        (ErrorCode::EncryptedPdf, 422),
        (ErrorCode::CorruptPdf, 422),
        (ErrorCode::OfficeConversionFailed, 422),
        (ErrorCode::ArchiveExtractionFailed, 422),
        (ErrorCode::ImageConversionFailed, 422),
        (ErrorCode::EmptyFile, 422),
        (ErrorCode::EncryptedFile, 422),
        (ErrorCode::UnsafeArchive, 422),
        (ErrorCode::LimitExceeded, 422),
    ] {
        let house = House::with(|plan| plan.reader = Some(Arc::new(Odd::Refuses(code)))).await;
        let reply = house.post("/api/v1/extract", &request()).await;
        assert_eq!(reply.status, status, "{code}");
        let problem = reply.problem(code.as_str());
        assert_eq!(problem["extensions"]["filename"], "invoice.pdf");
        if code == ErrorCode::LimitExceeded {
            assert_eq!(problem["extensions"]["limit"], "pages");
        }
    }
}

#[tokio::test]
async fn files_that_cannot_be_read_are_told_apart() {
    let house = House::with(|plan| plan.pages.max_pages = 1).await;
    for (name, content, status, code) in [
        ("locked.pdf", paper::encrypted(), 422, "encrypted_pdf"),
        (
            "broken.pdf",
            b"%PDF-1.7\nnot really".to_vec(),
            422,
            "corrupt_pdf",
        ),
        (
            "broken.png",
            b"\x89PNG\r\n\x1a\n....".to_vec(),
            422,
            "image_conversion_failed",
        ),
        (
            "blob.bin",
            vec![0, 159, 146, 150, 7, 0, 1, 2],
            415,
            "unsupported_file",
        ),
        ("empty.pdf", Vec::new(), 422, "empty_file"),
        (
            "long.pdf",
            paper::pdf(&[&["one"], &["two"]]),
            422,
            "limit_exceeded",
        ),
    ] {
        let reply = house
            .post("/api/v1/extract", &with_file(name, &content))
            .await;
        let problem = reply.problem(code);
        assert_eq!(reply.status, status, "{problem:#}");
        assert_eq!(problem["extensions"]["filename"], name);
    }
    let reply = house
        .post(
            "/api/v1/extract",
            &with_file("long.pdf", &paper::pdf(&[&["1"], &["2"]])),
        )
        .await;
    insta::assert_snapshot!(reply.shown());
    // the asynchronous route takes what only reading can tell, but not what has no bytes
    let reply = house
        .post("/api/v1/extractions", &with_file("empty.pdf", b""))
        .await;
    assert_eq!(reply.status, 422);
    reply.problem("empty_file");
}

#[tokio::test]
async fn a_synchronous_extraction_has_a_ceiling() {
    let house = House::with(|plan| {
        plan.reader = Some(Arc::new(Odd::Hangs));
        plan.options.sync_timeout = Duration::from_millis(50);
    })
    .await;
    let reply = house.post("/api/v1/extract", &request()).await;
    assert_eq!(reply.status, 408);
    assert_eq!(reply.problem("timeout")["extensions"]["timeout_s"], 0.05);
    insta::assert_snapshot!(reply.shown());
}

#[tokio::test]
async fn a_file_over_the_limit_is_refused_while_it_arrives() {
    let house = House::with(|plan| plan.options.limits.max_bytes = 1000).await;
    let large = vec![b'x'; 1001];
    for path in [
        "/api/v1/extract",
        "/api/v1/extract:validate",
        "/api/v1/extractions",
    ] {
        let json = house.post(path, &with_file("large.pdf", &large)).await;
        let body = json!({"document_types": [invoice_type()]}).to_string();
        let parts = house
            .send(multipart(
                path,
                &[
                    ("request", None, "application/json", body.as_bytes()),
                    ("files", Some("large.pdf"), "application/pdf", &large),
                ],
            ))
            .await;
        for reply in [json, parts] {
            assert_eq!(reply.status, 413, "{path}");
            let problem = reply.problem("file_too_large");
            assert_eq!(
                problem["extensions"],
                json!({"filename": "large.pdf", "limit_bytes": 1000})
            );
        }
    }
    assert_eq!(
        house
            .post(
                "/api/v1/extract:validate",
                &with_file("fits.pdf", &large[..1000])
            )
            .await
            .status,
        200
    );
}

#[tokio::test]
async fn a_file_of_several_megabytes_within_the_limit_is_taken_in_either_form() {
    let house = House::new().await;
    let large = vec![b'x'; 5 << 20];
    let body = json!({"document_types": [invoice_type()]}).to_string();
    let parts = multipart(
        "/api/v1/extractions",
        &[
            ("request", None, "application/json", body.as_bytes()),
            ("files", Some("large.txt"), "text/plain", &large),
        ],
    );
    let reply = house.send(parts).await;
    assert_eq!(reply.status, 202, "{}", reply.text());
    let reply = house
        .post("/api/v1/extractions", &with_file("large.txt", &large))
        .await;
    assert_eq!(reply.status, 202, "{}", reply.text());
    let id = reply.json()["id"].as_str().unwrap().parse().unwrap();
    let stored = house.store.request(id, None).await.unwrap().unwrap();
    assert_eq!(stored.files[0].bytes, 5 << 20);
}

#[tokio::test]
async fn an_endless_body_is_refused_before_its_end() {
    let house = House::with(|plan| plan.options.limits.max_bytes = 1000).await;
    let head =
        Bytes::from_static(b"{\"files\":[{\"filename\":\"endless.pdf\",\"content_base64\":\"");
    let endless = futures::stream::once(async { Ok::<_, std::io::Error>(head) }).chain(
        futures::stream::repeat_with(|| Ok(Bytes::from_static(&[b'A'; 4096]))),
    );
    let request = ask(Method::POST, "/api/v1/extractions")
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from_stream(endless))
        .unwrap();
    let reply = house.send(request).await;
    assert_eq!(
        reply.problem("file_too_large")["extensions"]["filename"],
        "endless.pdf"
    );
}

#[tokio::test]
async fn a_request_over_its_limits_is_413() {
    let house = House::with(|plan| {
        plan.options.limits.max_request_bytes = 2000;
        plan.options.limits.max_files = 2;
    })
    .await;
    let mut long = request();
    long["intention"] = "x".repeat(3000).into();
    let mut many = request();
    many["files"] = json!([file("a", b"a"), file("b", b"b"), file("c", b"c")]);
    for (body, setting) in [
        (long, "FLYDOCS_MAX_REQUEST_BYTES"),
        (many, "FLYDOCS_MAX_FILES"),
    ] {
        let reply = house.post("/api/v1/extractions", &body).await;
        assert_eq!(reply.status, 413);
        assert_eq!(
            reply.problem("request_too_large")["extensions"]["setting"],
            setting
        );
    }
    let body = json!({"document_types": [invoice_type()]}).to_string();
    let mut parts = vec![("request", None, "application/json", body.as_bytes())];
    parts.extend([("files", Some("a"), "text/plain", b"a".as_slice()); 3]);
    let reply = house.send(multipart("/api/v1/extractions", &parts)).await;
    assert_eq!(reply.status, 413);
    reply.problem("request_too_large");
}

#[tokio::test]
async fn base64_that_is_none_names_its_file() {
    let house = House::new().await;
    for text in ["????", "QUJ", "QUJD\n", "data:application/pdf,QUJD"] {
        let mut body = request();
        body["files"] = json!([
            file("fine.pdf", b"%PDF-"),
            {"filename": "odd.pdf", "content_base64": text},
        ]);
        for path in [
            "/api/v1/extract",
            "/api/v1/extract:validate",
            "/api/v1/extractions",
        ] {
            let reply = house.post(path, &body).await;
            assert_eq!(reply.status, 422, "{text} {path}");
            assert_eq!(
                reply.problem("invalid_base64")["extensions"]["filename"],
                "odd.pdf"
            );
        }
    }
}

#[tokio::test]
async fn a_request_that_contradicts_itself_is_422_and_a_dry_run_says_so_with_200() {
    let house = House::new().await;
    let mut body = request();
    body["document_types"] = json!([invoice_type(), invoice_type()]);
    body["files"][0]["expected_type"] = "receipt".into();
    body["rules"] =
        json!([{"id": "r", "predicate": "p", "parents": [{"kind": "rule", "rule": "r"}]}]);
    for path in ["/api/v1/extract", "/api/v1/extractions"] {
        let reply = house.post(path, &body).await;
        assert_eq!(reply.status, 422, "{path}");
        let problem = reply.problem("validation_failed");
        let codes: Vec<_> = problem["extensions"]["errors"]
            .as_array()
            .unwrap()
            .iter()
            .map(|e| e["code"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(
            codes,
            [
                "document_type_unknown",
                "duplicate_document_type",
                "rule_self_reference"
            ]
        );
    }
    let reply = house.post("/api/v1/extract:validate", &body).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.json()["error_count"], 3);
    insta::assert_snapshot!(reply.shown());
}

#[tokio::test]
async fn a_panic_is_a_500_that_tells_nothing_of_the_inside() {
    let house = House::new().await;
    let mut body = request();
    body["options"] = json!({"model": "local:panics"});
    let request = post("/api/v1/extract", &body);
    let (mut parts, body) = request.into_parts();
    parts
        .headers
        .insert("x-request-id", "call-7".parse().unwrap());
    let reply = house
        .send(axum::http::Request::from_parts(parts, body))
        .await;
    assert_eq!(reply.status, 500);
    let problem = reply.problem("internal");
    assert_eq!(problem["extensions"]["request_id"], "call-7");
    assert!(!reply.text().contains("does not hold"), "{}", reply.text());
    insta::assert_snapshot!(reply.shown());
}

#[tokio::test]
async fn a_database_that_is_gone_is_503_and_nothing_was_accepted() {
    let house = House::new().await;
    let id = house.submitted().await;
    house.store.close().await;
    for (method, path) in [
        (Method::GET, "/api/v1/extractions".to_owned()),
        (Method::GET, format!("/api/v1/extractions/{id}")),
        (Method::POST, format!("/api/v1/extractions/{id}:cancel")),
    ] {
        let reply = house.call(method, &path).await;
        assert_eq!(reply.status, 503, "{path}");
        reply.problem("unavailable");
        assert_eq!(reply.header("retry-after"), Some("5"));
    }
    let reply = house.post("/api/v1/extractions", &request()).await;
    assert_eq!(reply.status, 503);
    insta::assert_snapshot!(reply.shown());
}

#[tokio::test]
async fn a_backlog_over_its_limit_is_429() {
    let house = House::with(|plan| plan.store.max_queued = Some(1)).await;
    house.submitted().await;
    let reply = house.post("/api/v1/extractions", &request()).await;
    assert_eq!(reply.status, 429);
    reply.problem("too_many_requests");
    assert_eq!(reply.header("retry-after"), Some("30"));
}

#[tokio::test]
async fn a_model_nobody_knows_is_a_fault_of_the_request() {
    let house = House::new().await;
    let mut body = request();
    body["options"] = json!({"model": "local:magic"});
    for path in ["/api/v1/extract", "/api/v1/extractions"] {
        let reply = house.post(path, &body).await;
        assert_eq!(reply.status, 400, "{path}");
        assert_eq!(
            reply.problem("invalid_request")["extensions"]["errors"][0]["path"],
            "options.model"
        );
    }
}
