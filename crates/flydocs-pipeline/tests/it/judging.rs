//! judge and judge_escalation.

use flydocs_contract::{
    BoxSource, FieldValue,
    result::{JudgeStatus, TraceStatus},
};
use serde_json::json;

use crate::fakes::{Behaviour, FakeEngine, errors, field, file, house, request, status, text};

const INVOICE: &str = "number: A-1\ntotal: 12.5\nperson: 1A|Ana\nperson: 2B|Luis";

fn judged(threshold: f64) -> flydocs_pipeline::Request {
    request(
        &["invoice"],
        json!({"options": {
            "stages": {"judge": true, "judge_escalation": true, "bbox_refine": true},
            "escalation": {"threshold": threshold, "model": "fake:two"},
        }}),
    )
}

fn first(rejected: &[&'static str]) -> FakeEngine {
    FakeEngine {
        rejected: rejected.to_vec(),
        ..FakeEngine::default()
    }
}

fn second(rejected: &[&'static str]) -> FakeEngine {
    FakeEngine {
        model: "fake:two".to_owned(),
        rejected: rejected.to_vec(),
        suffix: "2",
        ..FakeEngine::default()
    }
}

#[tokio::test]
async fn every_leaf_gets_its_verdict_by_its_path() {
    let house = house([first(&["dni"])]);
    let request = request(
        &["invoice"],
        json!({"options": {"stages": {"judge": true}}}),
    );
    let result = house
        .run(&request, &[file("a.pdf", INVOICE)])
        .await
        .unwrap();
    assert_eq!(field(&result, 0, "number").judge.status, JudgeStatus::Pass);
    let people = field(&result, 0, "person");
    assert_eq!(people.judge.status, JudgeStatus::Uncertain);
    let Some(FieldValue::Fields(rows)) = &people.value else {
        panic!("people have rows")
    };
    for row in rows {
        let Some(FieldValue::Fields(members)) = &row.value else {
            panic!("a row has members")
        };
        let verdicts: Vec<_> = members.iter().map(|m| m.judge.status).collect();
        assert_eq!(verdicts, [JudgeStatus::Fail, JudgeStatus::Pass]);
    }
    assert_eq!(status(&result, "judge_escalation"), TraceStatus::Skipped);
    assert_eq!(result.pipeline.escalation, None);
}

#[tokio::test]
async fn over_the_threshold_a_stronger_model_reads_again_and_is_kept_when_it_fails_less() {
    // Of 8 leaves (number, total, iban, two members of two people, remark) 2 fail.
    let house = house([first(&["number", "total"]), second(&["total"])]);
    let result = house
        .run(&judged(0.2), &[file("a.pdf", INVOICE)])
        .await
        .unwrap();
    let escalation = result.pipeline.escalation.clone().unwrap();
    assert!(escalation.triggered && escalation.accepted);
    assert_eq!(
        (
            escalation.primary_model.as_str(),
            escalation.escalation_model.as_str()
        ),
        ("fake:one", "fake:two")
    );
    assert_eq!(
        (
            escalation.primary_fail_rate,
            escalation.escalation_fail_rate
        ),
        (0.25, Some(0.125))
    );
    let number = field(&result, 0, "number");
    // Validated and grounded anew: "A-12" stands nowhere as such, and still is like "A-1".
    assert_eq!(
        (number.value.clone(), number.judge.status),
        (text("A-12"), JudgeStatus::Pass)
    );
    assert!(number.validation.valid && number.bbox.is_some());
    assert_eq!(
        field(&result, 0, "total").bbox.unwrap().source,
        BoxSource::PdfText
    );
    assert_eq!(result.pipeline.model, "fake:one,fake:two");
    assert_eq!(errors(&result), []);
}

#[tokio::test]
async fn new_groups_are_validated_anew() {
    let house = house([
        first(&["number", "total"]),
        FakeEngine {
            suffix: "!",
            ..second(&[])
        },
    ]);
    let result = house
        .run(&judged(0.2), &[file("a.pdf", INVOICE)])
        .await
        .unwrap();
    let number = field(&result, 0, "number");
    assert_eq!(
        (number.value.clone(), number.validation.valid),
        (text("A-1!"), false)
    );
}

#[tokio::test]
async fn a_second_run_that_fails_as_much_is_thrown_away() {
    let house = house([first(&["number"]), second(&["total"])]);
    let result = house
        .run(&judged(0.1), &[file("a.pdf", INVOICE)])
        .await
        .unwrap();
    let escalation = result.pipeline.escalation.clone().unwrap();
    assert!(escalation.triggered && !escalation.accepted);
    assert_eq!(escalation.escalation_fail_rate, Some(0.125));
    assert_eq!(field(&result, 0, "number").value, text("A-1"));
    assert_eq!(field(&result, 0, "number").judge.status, JudgeStatus::Fail);
}

#[tokio::test]
async fn at_or_under_the_threshold_nobody_else_is_asked() {
    let other = second(&[]);
    let house = house([first(&["number", "total"]), other.clone()]);
    let result = house
        .run(&judged(0.25), &[file("a.pdf", INVOICE)])
        .await
        .unwrap();
    let escalation = result.pipeline.escalation.clone().unwrap();
    assert!(!escalation.triggered && !escalation.accepted);
    assert_eq!(
        (
            escalation.primary_fail_rate,
            escalation.escalation_fail_rate
        ),
        (0.25, None)
    );
    assert_eq!(other.count("extract"), 0);
    assert_eq!(status(&result, "judge_escalation"), TraceStatus::Success);
    let result = house
        .run(&judged(0.0), &[file("a.pdf", INVOICE)])
        .await
        .unwrap();
    assert_eq!(status(&result, "judge_escalation"), TraceStatus::Skipped);
}

#[tokio::test]
async fn when_the_second_run_fails_in_part_the_first_is_kept_whole() {
    let stronger = second(&[]).and("extract", Behaviour::FailsOn("BAD"));
    let house = house([first(&["number", "total"]), stronger]);
    let files = [file("a.pdf", INVOICE), file("b.pdf", "number: B-1\nBAD")];
    let result = house.run(&judged(0.2), &files).await.unwrap();
    assert_eq!(errors(&result), [("judge_escalation", "engine_error")]);
    let escalation = result.pipeline.escalation.clone().unwrap();
    assert!(escalation.triggered && !escalation.accepted);
    assert_eq!(field(&result, 0, "number").value, text("A-1"));
}

#[tokio::test]
async fn a_stronger_model_nobody_knows_is_one_clear_error() {
    let house = house([first(&["number", "total"])]);
    let result = house
        .run(&judged(0.2), &[file("a.pdf", INVOICE)])
        .await
        .unwrap();
    assert_eq!(
        errors(&result),
        [("judge_escalation", "engine_unsupported")]
    );
    assert!(result.pipeline.errors[0].message.contains("fake:two"));
}
