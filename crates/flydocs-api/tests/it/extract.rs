//! `POST /extract` and its dry run.

use serde_json::json;

use crate::house::{House, request};

#[tokio::test]
async fn a_document_comes_back_with_its_fields_and_boxes() {
    let house = House::new().await;
    let mut body = request();
    body["options"] = json!({"stages": {"bbox_refine": true}});
    let reply = house.post("/api/v1/extract", &body).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let result = reply.json();
    let fields = &result["documents"][0]["field_groups"][0]["fields"];
    assert_eq!(fields[0]["value"], "RE-2026-0042", "{fields:#}");
    assert_eq!(fields[1]["value"], 119.0);
    assert_eq!(fields[0]["bbox"]["source"], "pdf_text");
    assert_eq!(result["files"][0]["page_count"], 1);
}

#[tokio::test]
async fn a_dry_run_writes_no_row() {
    let house = House::new().await;
    let reply = house.post("/api/v1/extract:validate", &request()).await;
    assert_eq!(reply.status, 200);
    assert_eq!(
        reply.json(),
        json!({"ok": true, "error_count": 0, "warning_count": 0, "errors": [], "warnings": []})
    );
    assert_eq!(house.get("/api/v1/extractions").await.json()["total"], 0);
}
