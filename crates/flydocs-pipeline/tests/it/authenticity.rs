//! visual_authenticity and content_authenticity.

use flydocs_contract::result::{IntegrityStatus, TraceStatus, VisualCheckResult};
use serde_json::json;

use crate::fakes::{FakeEngine, errors, file, house, request, status};

fn check(name: &str, passed: bool) -> VisualCheckResult {
    VisualCheckResult {
        name: name.to_owned(),
        passed,
        confidence: 7.0,
        notes: None,
    }
}

#[tokio::test]
async fn every_check_of_the_type_has_one_result_in_its_order() {
    let house = house([FakeEngine {
        checks: vec![
            check("signature", true),
            check("stamp", false),
            check("unasked", true),
        ],
        ..FakeEngine::default()
    }]);
    let stages = json!({"visual_authenticity": true, "content_authenticity": true});
    let request = request(&["invoice"], json!({"options": {"stages": stages}}));
    let result = house
        .run(&request, &[file("a.pdf", "number: A-1")])
        .await
        .unwrap();
    let authenticity = &result.documents[0].authenticity;
    let found: Vec<_> = authenticity
        .visual
        .iter()
        .map(|c| (c.name.as_str(), c.passed, c.confidence))
        .collect();
    assert_eq!(found, [("stamp", false, 1.0), ("signature", true, 1.0)]);
    let content = authenticity.content.as_ref().unwrap();
    assert_eq!(content.overall_integrity_status, IntegrityStatus::Valid);
    assert_eq!(errors(&result), []);
}

#[tokio::test]
async fn a_check_left_out_has_not_passed_and_is_an_error() {
    let house = house([FakeEngine {
        checks: vec![check("stamp", true)],
        ..FakeEngine::default()
    }]);
    let request = request(
        &["invoice"],
        json!({"options": {"stages": {"visual_authenticity": true}}}),
    );
    let result = house
        .run(&request, &[file("a.pdf", "number: A-1")])
        .await
        .unwrap();
    let visual = &result.documents[0].authenticity.visual;
    assert_eq!(
        (
            visual[1].name.as_str(),
            visual[1].passed,
            visual[1].confidence
        ),
        ("signature", false, 0.0)
    );
    assert_eq!(errors(&result), [("visual_authenticity", "engine_error")]);
    assert!(result.pipeline.errors[0].message.contains("signature"));
}

#[tokio::test]
async fn a_type_without_checks_is_not_asked_about() {
    let house = house([FakeEngine::default()]);
    let mut request = request(
        &["invoice"],
        json!({"options": {"stages": {"visual_authenticity": true}}}),
    );
    let mut types = request.document_types.to_vec();
    types[0].visual_checks.clear();
    request.document_types = types.into();
    let result = house
        .run(&request, &[file("a.pdf", "number: A-1")])
        .await
        .unwrap();
    assert_eq!(status(&result, "visual_authenticity"), TraceStatus::Skipped);
}
