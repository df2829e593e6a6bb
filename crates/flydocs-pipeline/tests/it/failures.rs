//! Failure in each stage: an engine that fails, panics or hangs, files that cannot be read. What is left is legal.

use flydocs_contract::{
    BoxSource, ErrorCode,
    result::{ResultStatus, TraceStatus},
};
use flydocs_pipeline::{Error, Options};
use serde_json::{Value, json};

use crate::fakes::{
    Behaviour, FakeEngine, SOON, errors, field, file, house, house_with, request, short, status,
    text, timeless,
};

const INVOICE: &str = "kind: invoice\nnumber: A-1\ntotal: 12.5\nperson: 1A|Ana";

/// Every stage that asks an engine: its node, the question, and what switches it on.
fn asking_stages() -> Vec<(&'static str, &'static str, Value)> {
    let stages = |on: &[&str]| {
        let on: serde_json::Map<_, _> = on.iter().map(|s| ((*s).to_owned(), json!(true))).collect();
        json!({"options": {"stages": on}})
    };
    let mut transform = stages(&["transform"]);
    transform["options"]["transformations"] =
        json!([{"type": "llm", "target_group": "main", "scope": "task", "intention": "!"}]);
    let mut rules = stages(&["rule_engine"]);
    rules["rules"] = json!([{"id": "r", "predicate": "it looks fine"}]);
    let mut escalation = stages(&["judge", "judge_escalation"]);
    escalation["options"]["escalation"] = json!({"threshold": 0.1, "model": "fake:two"});
    vec![
        ("discover", "split", stages(&["splitter"])),
        ("classify", "classify", stages(&[])),
        ("extract", "extract", stages(&[])),
        (
            "visual_authenticity",
            "check_visually",
            stages(&["visual_authenticity"]),
        ),
        (
            "content_authenticity",
            "check_content",
            stages(&["content_authenticity"]),
        ),
        ("judge", "judge", stages(&["judge"])),
        ("judge_escalation", "second", escalation),
        ("transform", "transform", transform),
        ("rules", "evaluate_rules", rules),
    ]
}

fn soon() -> Options {
    Options {
        load_timeout: SOON,
        splitter_timeout: SOON,
        classifier_timeout: SOON,
        extract_timeout: SOON,
        bbox_refine_inline_timeout: SOON,
        bbox_refine_timeout: SOON,
        authenticity_timeout: SOON,
        judge_timeout: SOON,
        judge_escalation_timeout: SOON,
        transform_timeout: SOON,
        rules_timeout: SOON,
        ..short()
    }
}

/// Two engines of which one misbehaves on one question; the second stage of an escalation is the second engine's.
fn engines(question: &'static str, behaviour: Behaviour) -> [FakeEngine; 2] {
    let first = FakeEngine {
        rejected: vec!["number", "total"],
        ..FakeEngine::default()
    };
    let second = FakeEngine {
        model: "fake:two".to_owned(),
        ..FakeEngine::default()
    };
    match question {
        "second" => [first, second.and("judge", behaviour)],
        _ => [first.and(question, behaviour), second],
    }
}

#[tokio::test]
async fn a_failure_in_any_stage_leaves_a_legal_result_that_says_so() {
    for (node, question, extra) in asking_stages() {
        for behaviour in [
            Behaviour::Fails,
            Behaviour::Refuses,
            Behaviour::Panics,
            Behaviour::CannotDoThat,
        ] {
            let house = house(engines(question, behaviour));
            let request = request(&["invoice", "receipt"], extra.clone());
            let files = [file("a.pdf", &format!("{INVOICE}\n---\nremark: x"))];
            let ended = house.run(&request, &files).await;
            let code = match behaviour {
                Behaviour::CannotDoThat => "engine_unsupported",
                _ => "engine_error",
            };
            if matches!(node, "classify" | "extract") {
                let error = ended.unwrap_err();
                assert_eq!(
                    error.code(),
                    ErrorCode::NothingExtracted,
                    "{node} {behaviour:?}"
                );
                let may_pass = matches!(behaviour, Behaviour::Fails | Behaviour::Panics);
                assert_eq!(
                    error.is_permanent(),
                    !may_pass,
                    "{node} {behaviour:?}: {error}"
                );
                assert_eq!(error.facts()["errors"][0]["node"], node);
                assert_eq!(error.facts()["errors"][0]["code"], code);
                continue;
            }
            let result = ended.unwrap();
            assert_eq!(errors(&result), [(node, code)], "{behaviour:?}");
            assert_eq!(result.status, ResultStatus::Partial);
            assert_eq!(status(&result, node), TraceStatus::Failed);
            assert_eq!(
                field(&result, 0, "number").value,
                text("A-1"),
                "{node} {behaviour:?}"
            );
            let again = house.run(&request, &files).await.unwrap();
            assert_eq!(timeless(again), timeless(result), "{node} {behaviour:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_stage_over_its_ceiling_leaves_a_legal_result_that_says_so() {
    for (node, question, extra) in asking_stages() {
        let house = house_with(engines(question, Behaviour::Hangs), soon());
        let request = request(&["invoice", "receipt"], extra);
        let files = [file("a.pdf", &format!("{INVOICE}\n---\nremark: x"))];
        let ended = house.run(&request, &files).await;
        if matches!(node, "classify" | "extract") {
            let error = ended.unwrap_err();
            assert_eq!(
                (error.code(), error.is_permanent()),
                (ErrorCode::NothingExtracted, false)
            );
            assert_eq!(error.facts()["errors"][0]["code"], "stage_timeout");
            continue;
        }
        let result = ended.unwrap();
        assert_eq!(errors(&result), [(node, "stage_timeout")]);
        assert_eq!(result.status, ResultStatus::Partial);
        assert_eq!(status(&result, node), TraceStatus::Failed);
        assert_eq!(status(&result, "assemble"), TraceStatus::Success);
        assert_eq!(field(&result, 0, "number").value, text("A-1"), "{node}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_done_before_the_ceiling_is_kept() {
    let house = house_with(
        [FakeEngine::that("extract", Behaviour::HangsOn("SLOW"))],
        soon(),
    );
    let request = request(&["invoice"], json!({}));
    let files = [
        file("a.pdf", INVOICE),
        file("b.pdf", "number: B-1\nSLOW"),
        file("c.pdf", "number: C-1"),
    ];
    let result = house.run(&request, &files).await.unwrap();
    assert_eq!(errors(&result), [("extract", "stage_timeout")]);
    let message = &result.pipeline.errors[0].message;
    assert!(
        message.contains("1 part of it") && message.contains("FLYDOCS_EXTRACT_TIMEOUT_S"),
        "{message}"
    );
    assert_eq!(field(&result, 0, "number").value, text("A-1"));
    assert_eq!(result.documents[1].field_groups, []);
    assert_eq!(field(&result, 2, "number").value, text("C-1"));
}

#[tokio::test]
async fn a_task_that_fails_is_lost_alone() {
    let house = house([FakeEngine::that("extract", Behaviour::FailsOn("BAD"))]);
    let request = request(&["invoice"], json!({}));
    let files = [file("a.pdf", "BAD\n---\nx"), file("b.pdf", INVOICE)];
    let result = house.run(&request, &files).await.unwrap();
    assert_eq!(errors(&result), [("extract", "engine_error")]);
    let message = &result.pipeline.errors[0].message;
    assert_eq!(
        message,
        "a.pdf, pages 1-2: fake:one did not answer: status 503"
    );
    assert_eq!(result.documents[0].field_groups, []);
    assert_eq!(field(&result, 1, "number").value, text("A-1"));
}

#[tokio::test]
async fn a_segment_that_is_not_classified_becomes_unmatched_and_says_why() {
    let house = house([FakeEngine::that("classify", Behaviour::FailsOn("BAD"))]);
    let request = request(&["invoice", "receipt"], json!({}));
    let result = house
        .run(&request, &[file("a.pdf", INVOICE), file("b.pdf", "BAD")])
        .await
        .unwrap();
    assert_eq!(errors(&result), [("classify", "engine_error")]);
    assert!(
        result.discovered_documents[0]
            .notes
            .as_ref()
            .unwrap()
            .contains("status 503")
    );
}

#[tokio::test]
async fn what_an_engine_cannot_do_is_said_once_with_what_to_do() {
    let house = house([FakeEngine::that("judge", Behaviour::CannotDoThat)]);
    let request = request(
        &["invoice"],
        json!({"options": {"stages": {"judge": true}}}),
    );
    let files: Vec<_> = (0..5).map(|i| file(&format!("{i}.pdf"), INVOICE)).collect();
    let result = house.run(&request, &files).await.unwrap();
    assert_eq!(errors(&result), [("judge", "engine_unsupported")]);
    let message = &result.pipeline.errors[0].message;
    assert!(
        message.contains("fake:one cannot judge") && message.contains("options.model"),
        "{message}"
    );
}

#[tokio::test]
async fn a_file_that_cannot_be_read_ends_the_run_with_its_code() {
    let house = house([FakeEngine::default()]);
    let request = request(&["invoice"], json!({}));
    let files = [file("a.pdf", INVOICE), file("b.pdf", "REFUSED")];
    let error = house.run(&request, &files).await.unwrap_err();
    assert_eq!(
        (error.code(), error.is_permanent()),
        (ErrorCode::EncryptedPdf, true)
    );
    assert_eq!(error.to_string(), "b.pdf is locked");
    assert_eq!(error.facts()["filename"], "b.pdf");
}

#[tokio::test]
async fn an_archive_without_a_file_ends_the_run() {
    let house = house([FakeEngine::default()]);
    let error = house
        .run(&request(&["invoice"], json!({})), &[file("a.zip", "=== ")])
        .await
        .unwrap_err();
    assert_eq!(
        (error.code(), error.is_permanent()),
        (ErrorCode::EmptyFile, true)
    );
}

#[tokio::test(start_paused = true)]
async fn reading_over_its_ceiling_ends_the_run_and_names_the_setting() {
    let house = house_with([FakeEngine::default()], soon());
    let request = request(&["invoice"], json!({}));
    let error = house
        .run(&request, &[file("a.pdf", INVOICE), file("b.pdf", "HANGS")])
        .await
        .unwrap_err();
    assert_eq!(
        (error.code(), error.is_permanent()),
        (ErrorCode::LimitExceeded, false)
    );
    assert_eq!(error.facts()["setting"], "FLYDOCS_LOAD_TIMEOUT_S");
    assert_eq!(error.facts()["filename"], "b.pdf");
}

#[tokio::test]
async fn a_reader_that_panics_ends_the_run_without_its_words() {
    let house = house([FakeEngine::default()]);
    let error = house
        .run(
            &request(&["invoice"], json!({})),
            &[file("a.pdf", "PANICS")],
        )
        .await
        .unwrap_err();
    assert!(
        matches!(error, Error::Internal { node: "load" }),
        "{error:?}"
    );
    assert!(!error.is_permanent());
}

#[tokio::test]
async fn a_model_nobody_knows_ends_the_run() {
    let house = house([FakeEngine::default()]);
    let request = request(&["invoice"], json!({"options": {"model": "fake:none"}}));
    let error = house
        .run(&request, &[file("a.pdf", INVOICE)])
        .await
        .unwrap_err();
    assert_eq!(
        (error.code(), error.is_permanent()),
        (ErrorCode::EngineUnsupported, true)
    );
}

#[tokio::test]
async fn documents_of_no_declared_type_are_no_success() {
    let house = house([FakeEngine::default()]);
    let request = request(&["invoice", "receipt"], json!({}));
    let error = house
        .run(&request, &[file("a.pdf", "kind: letter")])
        .await
        .unwrap_err();
    assert_eq!(
        (error.code(), error.is_permanent()),
        (ErrorCode::NothingExtracted, true)
    );
    assert!(error.to_string().contains("a.pdf, page 1"), "{error}");
}

#[tokio::test]
async fn missing_ocr_is_one_error_and_the_other_pages_are_read() {
    let house = house([FakeEngine::default()]);
    let request = request(
        &["invoice", "receipt"],
        json!({"options": {"stages": {"judge": true, "bbox_refine": true}}}),
    );
    let content = format!("{INVOICE}\n---\nSCAN\n---\nSCAN");
    let result = house
        .run(
            &request,
            &[file("a.pdf", &content), file("b.pdf@receipt", "SCAN")],
        )
        .await
        .unwrap();
    assert_eq!(errors(&result), [("classify", "ocr_unavailable")]);
    assert_eq!(field(&result, 0, "number").value, text("A-1"));
    assert_eq!(field(&result, 1, "number").value, None);
}

#[tokio::test]
async fn a_page_that_is_refused_is_lost_alone_and_a_document_of_such_pages_with_it() {
    let house = house([FakeEngine::default()]);
    let request = request(&["invoice"], json!({}));
    let mixed = file("a.pdf", &format!("TOO LARGE\n---\n{INVOICE}"));
    let result = house
        .run(&request, &[mixed, file("b.pdf", "TOO LARGE")])
        .await
        .unwrap();
    assert_eq!(
        errors(&result),
        [("extract", "limit_exceeded"), ("extract", "limit_exceeded")]
    );
    assert_eq!(field(&result, 0, "number").pages, [2]);
    assert_eq!(result.documents[1].field_groups, []);
    let error = house
        .run(&request, &[file("b.pdf", "TOO LARGE")])
        .await
        .unwrap_err();
    assert_eq!(
        (error.code(), error.is_permanent()),
        (ErrorCode::NothingExtracted, true)
    );
    assert!(
        error.to_string().contains("page 1 of b.pdf is too large"),
        "{error}"
    );
}

#[tokio::test]
async fn without_a_file_there_is_nothing_to_extract() {
    let house = house([FakeEngine::default()]);
    let error = house
        .run(&request(&["invoice"], json!({})), &[])
        .await
        .unwrap_err();
    assert_eq!(
        (error.code(), error.is_permanent()),
        (ErrorCode::NothingExtracted, true)
    );
}

#[tokio::test]
async fn boxes_that_could_not_be_grounded_in_time_stay_as_they_were() {
    let options = Options {
        bbox_refine_inline_timeout: SOON,
        ..short()
    };
    let house = house_with([FakeEngine::default()], options);
    let request = request(
        &["invoice"],
        json!({"options": {"stages": {"bbox_refine": true}}}),
    );
    let files = [file("a.pdf", "number: A-1\nHANGS AFTER 1")];
    let result = house.run(&request, &files).await.unwrap();
    assert_eq!(errors(&result), [("bbox_refine", "stage_timeout")]);
    assert_eq!(status(&result, "field_validation"), TraceStatus::Success);
    assert_eq!(
        field(&result, 0, "number").bbox.unwrap().source,
        BoxSource::Llm
    );
}
