//! Bodies that do not fit: 400 with every fault and its place.

use axum::{
    body::Body,
    http::{Method, header},
};
use serde_json::{Value, json};

use crate::{
    house::{House, ask, file, invoice_type, multipart},
    paper,
};

const ROUTES: [&str; 3] = [
    "/api/v1/extract",
    "/api/v1/extract:validate",
    "/api/v1/extractions",
];

fn raw(path: &str, text: impl Into<Body>) -> axum::http::Request<Body> {
    ask(Method::POST, path)
        .header(header::CONTENT_TYPE, "application/json; charset=utf-8")
        .body(text.into())
        .unwrap()
}

#[tokio::test]
async fn text_that_is_no_json_is_400_on_every_route() {
    let house = House::new().await;
    let deep = "[".repeat(10_000);
    for path in ROUTES {
        for text in [
            "",
            "{",
            "{}{}",
            "nonsense",
            "{\"files\":[{\"content_base64\":\"QU",
            deep.as_str(),
        ] {
            let reply = house.send(raw(path, text.to_owned())).await;
            assert_eq!(reply.status, 400, "{path} {text:.20}");
            reply.problem("invalid_request");
        }
        let reply = house
            .send(raw(path, b"{\"intention\":\"\xff\"}".to_vec()))
            .await;
        assert_eq!(reply.status, 400);
    }
    let reply = house.send(raw("/api/v1/extract", "{\"files\": [}")).await;
    insta::assert_snapshot!(reply.shown());
}

#[tokio::test]
async fn every_fault_is_named_at_once_of_the_shape_and_beyond() {
    let house = House::new().await;
    let body = json!({
        "intention": 7,
        "files": [{"filename": "", "content_base64": "", "colour": 1}, {"filename": "b"}],
        "document_types": [
            {"id": "t", "country": "Germany", "field_groups": [{"name": "g", "fields": [
                {"name": "a", "type": "money"},
                {"name": "b", "type": "array"},
                {"name": "c", "minimum": 2, "maximum": 1, "pattern": 5},
                {"name": "d", "type": "object", "fields": [{"name": "e", "validators": [{"params": []}]}]},
            ]}]},
            {"id": "u", "field_groups": []},
        ],
        "rules": [{"id": "r", "predicate": "p", "parents": [{"kind": "page"}, {"kind": "rule"}]}],
        "options": {"stages": {"ocr": true}, "language_hint": "a-very-long-language-name",
            "transformations": [{"type": "entity_resolution", "target_group": "g", "scope": "all", "match_by": []}]},
        "callback_url": "ftp://x",
        "metadata": {"_mine": 1},
        "files_too": [],
    });
    let reply = house.post("/api/v1/extractions", &body).await;
    assert_eq!(reply.status, 400);
    insta::assert_snapshot!(reply.shown());
}

#[tokio::test]
async fn a_key_that_stands_twice_is_a_fault() {
    let house = House::new().await;
    let reply = house
        .send(raw(
            "/api/v1/extractions",
            r#"{"files":[],"document_types":[],"files":[]}"#,
        ))
        .await;
    assert_eq!(reply.status, 400);
    let problem = reply.problem("invalid_request");
    assert!(
        problem["detail"].as_str().unwrap().contains("twice"),
        "{problem:#}"
    );
}

#[tokio::test]
async fn null_for_every_optional_key_is_what_absence_is() {
    let house = House::new().await;
    let content = file("a.pdf", &paper::invoice())["content_base64"].clone();
    let body = json!({
        "intention": null,
        "files": [{"filename": "a.pdf", "content_base64": content, "content_type": null, "expected_type": null}],
        "document_types": [{"id": "t", "description": null, "country": null, "visual_checks": null,
            "field_groups": [{"name": "g", "description": null, "fields": [{"name": "f", "description": null,
                "type": null, "required": null, "pattern": null, "format": null, "enum": null, "minimum": null,
                "maximum": null, "items": null, "fields": null, "validators": null}]}]}],
        "rules": null, "options": null, "callback_url": null, "metadata": null,
    });
    let reply = house.post("/api/v1/extractions", &body).await;
    assert_eq!(reply.status, 202, "{}", reply.text());
    let mut options = body.clone();
    options["options"] = json!({"model": null, "language_hint": null, "return_bboxes": null,
        "declared_media_type": null, "escalation": null, "transformations": null, "stages": {
            "splitter": null, "classifier": null, "field_validation": null, "visual_authenticity": null,
            "content_authenticity": null, "judge": null, "judge_escalation": null, "bbox_refine": null,
            "transform": null, "rule_engine": null}});
    let reply = house.post("/api/v1/extract:validate", &options).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
}

#[tokio::test]
async fn a_prefix_of_a_data_url_is_cut_and_escapes_are_read() {
    let house = House::new().await;
    let content = file("a", &paper::invoice())["content_base64"]
        .as_str()
        .unwrap()
        .to_owned();
    let prefixed = json!({"files": [{"filename": "a.pdf", "content_base64": format!("data:application/pdf;base64,{content}")}],
        "document_types": [invoice_type()]});
    let plain = house.post("/api/v1/extract", &prefixed).await;
    assert_eq!(plain.status, 200, "{}", plain.text());
    let escaped = prefixed
        .to_string()
        .replace('/', "\\/")
        .replace('=', "\\u003d");
    let reply = house.send(raw("/api/v1/extract", escaped)).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.json()["documents"], plain.json()["documents"]);
    let hidden = prefixed.to_string().replace("\"files\"", "\"\\u0066iles\"");
    let reply = house.send(raw("/api/v1/extract", hidden)).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
}

#[tokio::test]
async fn multipart_faults_are_named_by_part() {
    let house = House::new().await;
    let good = json!({"document_types": [invoice_type()]}).to_string();
    let pdf = paper::invoice();
    let request = ("request", None, "application/json", good.as_bytes());
    let file = (
        "files",
        Some("a.pdf"),
        "application/octet-stream",
        pdf.as_slice(),
    );
    let with_files = json!({"document_types": [invoice_type()], "files": []}).to_string();
    let unknown_name = json!({"document_types": [invoice_type()], "file_options": {"b.pdf": {"expected_type": "invoice"}}}).to_string();
    let odd_option =
        json!({"document_types": [invoice_type()], "file_options": {"a.pdf": {"colour": 1}}})
            .to_string();
    for (parts, path) in [
        (vec![file], "request"),
        (vec![request], "files"),
        (vec![request, request, file], "request"),
        (vec![request, ("extra", None, "text/plain", b"x")], "extra"),
        (
            vec![request, ("files", None, "application/pdf", pdf.as_slice())],
            "files[0].filename",
        ),
        (
            vec![("request", None, "application/json", b"{".as_slice()), file],
            "request",
        ),
        (
            vec![
                ("request", None, "application/json", with_files.as_bytes()),
                file,
            ],
            "files",
        ),
        (
            vec![
                ("request", None, "application/json", unknown_name.as_bytes()),
                file,
            ],
            "file_options.b.pdf",
        ),
        (
            vec![
                ("request", None, "application/json", odd_option.as_bytes()),
                file,
            ],
            "file_options.a.pdf.colour",
        ),
    ] {
        let reply = house.send(multipart("/api/v1/extractions", &parts)).await;
        assert_eq!(reply.status, 400, "{path}");
        assert_eq!(
            reply.problem("invalid_request")["extensions"]["errors"][0]["path"],
            path
        );
    }
    let broken = ask(Method::POST, "/api/v1/extractions")
        .header(header::CONTENT_TYPE, "multipart/form-data; boundary=edge")
        .body(Body::from(
            "--edge\r\nContent-Disposition: form-data; name=\"request\"\r\n\r\n{}",
        ))
        .unwrap();
    assert_eq!(house.send(broken).await.status, 400);
    let bare = ask(Method::POST, "/api/v1/extractions")
        .header(header::CONTENT_TYPE, "multipart/form-data")
        .body(Body::empty())
        .unwrap();
    assert_eq!(house.send(bare).await.status, 400);
}

#[tokio::test]
async fn multipart_pins_a_file_and_sniffs_its_type() {
    let house = House::new().await;
    let body = json!({"document_types": [invoice_type(), {"id": "receipt", "field_groups": [{"name": "g", "fields": [{"name": "total"}]}]}],
        "file_options": {"a.pdf": {"expected_type": "invoice"}}}).to_string();
    let pdf = paper::invoice();
    let reply = house
        .send(multipart(
            "/api/v1/extract",
            &[
                ("files", Some("a.pdf"), "application/octet-stream", &pdf),
                ("request", None, "application/json", body.as_bytes()),
            ],
        ))
        .await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let result: Value = reply.json();
    assert_eq!(result["documents"][0]["type"], "invoice");
    assert_eq!(result["files"][0]["media_type"], "application/pdf");
    assert_eq!(result["files"][0]["filename"], "a.pdf");
}
