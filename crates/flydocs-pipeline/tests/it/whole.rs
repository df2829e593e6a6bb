//! The real reader and the real engine on a real document: what the other tests say of fakes holds of them.

use std::sync::Arc;

use flydocs_contract::{BoxSource, ExtractRequest, FieldValue, result::TraceStatus};
use flydocs_engines::{Engine, LocalLayout};
use flydocs_pages::Pages;
use flydocs_pipeline::{
    EngineSource, Input, InputFile, Mode, Options, Pipeline, RefineInput, Request, Silent,
    SystemClock,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::fakes::{errors, field, file, id, status, text};

const INVOICE: &[u8] = include_bytes!("../../../../examples/invoice.pdf");
const TYPES: &str = include_str!("../../../../examples/invoice.types.json");

#[derive(Debug)]
struct OnlyLocal;

impl EngineSource for OnlyLocal {
    fn engine(&self, _model: Option<&str>) -> flydocs_engines::Result<Arc<dyn Engine>> {
        Ok(Arc::new(LocalLayout))
    }
}

fn pipeline() -> Pipeline {
    Pipeline::new(
        Arc::new(Pages::new(flydocs_pages::Options::default())),
        Arc::new(OnlyLocal),
        Arc::new(SystemClock),
        Options::default(),
    )
}

fn request(stages: Value) -> Request {
    let mut body: Value = serde_json::from_str(TYPES).unwrap();
    body["options"] = json!({ "stages": stages });
    body["rules"] = json!([{
        "id": "sums_up", "predicate": "abs(net_amount + tax_amount - total_amount) <= 0.01",
        "parents": [{"kind": "field", "document_type": "invoice",
            "fields": ["net_amount", "tax_amount", "total_amount"]}],
    }]);
    let request: ExtractRequest = serde_json::from_value(body).unwrap();
    Request::from(&request)
}

fn invoice() -> InputFile {
    let mut invoice = file("invoice.pdf", "");
    invoice.source.content = INVOICE.into();
    invoice
}

fn input(stages: Value, mode: Mode) -> Input {
    Input {
        id: id(),
        request: request(stages),
        files: vec![invoice()],
        mode,
    }
}

#[tokio::test]
async fn an_invoice_is_read_grounded_validated_and_reckoned() {
    let never = CancellationToken::new();
    let stages = json!({"bbox_refine": true, "rule_engine": true});
    let result = pipeline()
        .run(input(stages, Mode::Sync), Arc::new(Silent), &never)
        .await
        .unwrap();
    assert_eq!(errors(&result), []);
    assert_eq!(result.documents[0].pages, [1, 2]);
    let number = field(&result, 0, "invoice_number");
    assert_eq!(number.value, text("HP-2026-00417"));
    assert_eq!(number.bbox.unwrap().source, BoxSource::PdfText);
    assert!(field(&result, 0, "invoice_date").validation.valid);
    let Some(FieldValue::Fields(rows)) = &field(&result, 0, "line_items").value else {
        panic!("the invoice has line items")
    };
    assert!(rows.len() > 10, "{} line items", rows.len());
    assert_eq!(
        result.rule_results[0].output,
        Some(json!(true)),
        "{:?}",
        result.rule_results
    );
    assert_eq!(result.pipeline.model, "local:layout");
}

#[tokio::test]
async fn what_the_bbox_worker_makes_is_what_the_inline_stage_makes() {
    let never = CancellationToken::new();
    let stages = json!({"bbox_refine": true});
    let house = pipeline();
    let inline = house
        .run(input(stages.clone(), Mode::Sync), Arc::new(Silent), &never)
        .await
        .unwrap();
    let stored = house
        .run(input(stages.clone(), Mode::Async), Arc::new(Silent), &never)
        .await
        .unwrap();
    assert_eq!(status(&stored, "bbox_refine"), TraceStatus::Skipped);
    let later = RefineInput {
        result: stored,
        request: request(stages),
        files: vec![invoice()],
    };
    let refined = house.refine(later, Arc::new(Silent), &never).await.unwrap();
    assert_eq!(refined.documents, inline.documents);
}

#[tokio::test]
async fn what_the_local_engine_cannot_do_is_said_and_the_fields_stay() {
    let never = CancellationToken::new();
    let stages = json!({"judge": true, "content_authenticity": true});
    let result = pipeline()
        .run(input(stages, Mode::Sync), Arc::new(Silent), &never)
        .await
        .unwrap();
    assert_eq!(
        errors(&result),
        [
            ("content_authenticity", "engine_unsupported"),
            ("judge", "engine_unsupported")
        ]
    );
    assert!(
        result.pipeline.errors[0]
            .message
            .contains("local:layout cannot check content")
    );
    assert_eq!(
        field(&result, 0, "invoice_number").value,
        text("HP-2026-00417")
    );
}
