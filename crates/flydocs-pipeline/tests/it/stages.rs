//! The ordinary way of documents: what each stage hands the next, and what stands in the result.

use flydocs_contract::{
    BoxQuality, BoxSource, FieldValue,
    result::{ResultStatus, TraceStatus},
};
use flydocs_engines::Segment;
use flydocs_pipeline::{Mode, Silent};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::fakes::{
    Diary, FakeEngine, errors, field, file, house, house_with, id, request, short, status, text,
    timeless,
};

const INVOICE: &str = "kind: invoice\nnumber: A-1\ntotal: 12.5\niban: nonsense";

const NODES: [&str; 15] = [
    "load",
    "discover",
    "classify",
    "plan_tasks",
    "extract",
    "bbox_validation",
    "bbox_refine",
    "field_validation",
    "visual_authenticity",
    "content_authenticity",
    "judge",
    "judge_escalation",
    "transform",
    "rules",
    "assemble",
];

#[tokio::test]
async fn a_document_becomes_a_result() {
    let house = house([FakeEngine::default()]);
    let request = request(&["invoice", "receipt"], json!({}));
    let result = house
        .run(&request, &[file("a.pdf", INVOICE)])
        .await
        .unwrap();
    assert_eq!((result.id, result.status), (id(), ResultStatus::Success));
    assert_eq!(errors(&result), []);

    let summary = &result.files[0];
    assert_eq!(
        (summary.filename.as_str(), summary.page_count),
        ("a.pdf", 1)
    );
    assert_eq!(summary.matched_type.as_deref(), Some("invoice"));
    assert!(summary.classification.as_ref().unwrap().matched);

    let document = &result.documents[0];
    assert_eq!(
        (document.type_id.as_str(), document.source_file.as_str()),
        ("invoice", "a.pdf")
    );
    assert_eq!(
        (document.pages.as_slice(), document.missing),
        ([1].as_slice(), false)
    );
    assert_eq!(
        (document.confidence, document.description.as_deref()),
        (0.7, Some("looks like invoice"))
    );

    assert_eq!(field(&result, 0, "number").value, text("A-1"));
    assert_eq!(
        field(&result, 0, "total").value,
        Some(FieldValue::Number(12.5))
    );
    assert_eq!(field(&result, 0, "person").value, None);
    let bbox = field(&result, 0, "number").bbox.unwrap();
    assert_eq!(
        (bbox.source, bbox.quality, bbox.quality_score),
        (BoxSource::Llm, BoxQuality::Good, 1.0)
    );
    let iban = &field(&result, 0, "iban").validation;
    assert!(iban.valid && iban.errors[0].message.ends_with(" [warning]"));

    assert_eq!(result.pipeline.model, "fake:one");
    assert_eq!(result.pipeline.usage, None);
}

#[tokio::test]
async fn the_trace_has_every_stage_in_order_with_its_time() {
    let house = house([FakeEngine::default()]);
    let request = request(&["invoice"], json!({}));
    let result = house
        .run(&request, &[file("a.pdf", INVOICE)])
        .await
        .unwrap();
    let trace = &result.pipeline.trace;
    assert_eq!(
        trace.iter().map(|e| e.node.as_str()).collect::<Vec<_>>(),
        NODES
    );
    for entry in trace {
        let wanted = match entry.node.as_str() {
            "load" | "classify" | "plan_tasks" | "extract" | "bbox_validation"
            | "field_validation" | "assemble" => (TraceStatus::Success, 1.5),
            _ => (TraceStatus::Skipped, 0.0),
        };
        assert_eq!((entry.status, entry.latency_ms), wanted, "{}", entry.node);
    }
    assert!(result.pipeline.latency_ms > 10.0);
}

#[tokio::test]
async fn progress_is_told_of_stages_and_pages() {
    let diary = std::sync::Arc::new(Diary::default());
    let house = house([FakeEngine::default()]);
    let input = flydocs_pipeline::Input {
        id: id(),
        request: request(&["invoice"], json!({})),
        files: vec![file("a.pdf", &format!("{INVOICE}\n---\nx\n---\ny"))],
        mode: Mode::Sync,
    };
    let never = CancellationToken::new();
    house
        .pipeline
        .run(input, diary.clone(), &never)
        .await
        .unwrap();
    assert_eq!(diary.started.lock().unwrap().first(), Some(&"load"));
    let finished: Vec<_> = diary
        .finished
        .lock()
        .unwrap()
        .iter()
        .map(|(n, _)| n.clone())
        .collect();
    assert_eq!(finished, NODES);
    assert_eq!(diary.pages.lock().unwrap().get("extract"), Some(&(3, 3)));
}

#[tokio::test]
async fn running_twice_gives_the_same_result() {
    let house = house([
        FakeEngine {
            metered: true,
            rejected: vec!["number", "total"],
            checks: vec![],
            ..FakeEngine::default()
        },
        FakeEngine {
            model: "fake:two".to_owned(),
            ..FakeEngine::default()
        },
    ]);
    let request = request(
        &["invoice", "receipt"],
        json!({
            "rules": [{"id": "r", "predicate": "total > 1", "parents": [
                {"kind": "field", "document_type": "invoice", "fields": ["total"]}]}],
            "options": {
                "stages": {"splitter": true, "bbox_refine": true, "judge": true, "judge_escalation": true,
                    "transform": true, "rule_engine": true, "content_authenticity": true, "visual_authenticity": true},
                "escalation": {"threshold": 0.1, "model": "fake:two"},
                "transformations": [{"type": "entity_resolution", "target_group": "parties", "scope": "task",
                    "match_by": ["dni", "name"]}],
            },
        }),
    );
    let people = "person: 1A|Ana Mar Sol\nperson: 1A|Ana\nperson: |Mar Sol";
    let files = [file(
        "a.pdf",
        &format!("{INVOICE}\n{people}\n---\nkind: receipt\nnumber: B-2\n{people}"),
    )];
    let once = timeless(house.run(&request, &files).await.unwrap());
    let twice = timeless(house.run(&request, &files).await.unwrap());
    assert_eq!(once, twice);
    assert_eq!(once.documents.len(), 2);
    for node in NODES.iter().filter(|n| **n != "visual_authenticity") {
        assert_eq!(status(&once, node), TraceStatus::Success, "{node}");
    }
}

#[tokio::test]
async fn a_segment_that_starts_late_keeps_the_pages_of_the_file() {
    let engine = FakeEngine::default();
    let house = house([engine.clone()]);
    let request = request(
        &["invoice", "receipt"],
        json!({"options": {"stages": {"splitter": true, "bbox_refine": true}}}),
    );
    let content =
        "kind: invoice\nnumber: A-1\n---\ntotal: 1\n---\nkind: receipt\nnumber: B-2\n---\ntotal: 2";
    let result = house
        .run(&request, &[file("a.pdf", content)])
        .await
        .unwrap();
    let documents: Vec<_> = result
        .documents
        .iter()
        .map(|d| (d.type_id.as_str(), d.pages.clone()))
        .collect();
    assert_eq!(
        documents,
        [("invoice", vec![1, 2]), ("receipt", vec![3, 4])]
    );
    assert_eq!(field(&result, 1, "number").pages, [3]);
    assert_eq!(field(&result, 1, "total").pages, [4]);
    let bbox = field(&result, 1, "number").bbox.unwrap();
    assert_eq!(
        (bbox.source, bbox.refinement_confidence),
        (BoxSource::PdfText, Some(1.0))
    );
    let asked = engine.asked.lock().unwrap().clone();
    let mut extracted: Vec<_> = asked
        .into_iter()
        .filter(|(q, _)| *q == "extract")
        .map(|(_, pages)| pages)
        .collect();
    extracted.sort();
    assert_eq!(extracted, [vec![1, 2], vec![3, 4]]);
}

#[tokio::test]
async fn a_value_of_one_document_is_never_grounded_in_its_neighbour() {
    let house = house([FakeEngine {
        segments: Some(vec![segment(1, 1), segment(2, 2)]),
        suffix: "QWERTYUIOPASDF",
        ..FakeEngine::default()
    }]);
    let request = request(
        &["invoice"],
        json!({"options": {"stages": {"splitter": true, "bbox_refine": true}}}),
    );
    // What is read of page 2 stands on page 1 only.
    let content = "LONGVALUEHEREQWERTYUIOPASDF\n---\nnumber: LONGVALUEHERE";
    let result = house
        .run(&request, &[file("a.pdf", content)])
        .await
        .unwrap();
    let number = field(&result, 1, "number");
    assert_eq!(number.value, text("LONGVALUEHEREQWERTYUIOPASDF"));
    assert_eq!(
        (number.pages.as_slice(), number.bbox.unwrap().source),
        ([2].as_slice(), BoxSource::Llm)
    );
}

fn segment(page_start: u32, page_end: u32) -> Segment {
    Segment {
        page_start,
        page_end,
        provisional_type: Some("receipt".to_owned()),
        description: Some("a slip".to_owned()),
        confidence: 0.6,
    }
}

#[tokio::test]
async fn equal_names_in_two_archives_stay_apart() {
    let house = house([FakeEngine::default()]);
    let request = request(
        &["invoice"],
        json!({"options": {"stages": {"bbox_refine": true}}}),
    );
    let files = [
        file("a.zip", "=== x.pdf\nnumber: A-1\n=== y.pdf\nnumber: A-2"),
        file("b.zip", "=== x.pdf\nfirst line\nnumber: B-1"),
        // Even the same archive name twice.
        file("b.zip", "=== x.pdf\none\ntwo\nnumber: C-1"),
    ];
    let result = house.run(&request, &files).await.unwrap();
    let found: Vec<_> = result
        .documents
        .iter()
        .enumerate()
        .map(|(i, d)| {
            let field = field(&result, i, "number");
            (
                d.source_file.as_str(),
                field.value.clone(),
                field.bbox.unwrap().ymin,
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            ("a.zip/x.pdf", text("A-1"), 0.05),
            ("a.zip/y.pdf", text("A-2"), 0.05),
            ("b.zip/x.pdf", text("B-1"), 0.08),
            ("b.zip/x.pdf", text("C-1"), 0.11),
        ]
    );
}

#[tokio::test]
async fn what_is_expected_of_an_archive_is_not_expected_of_its_members() {
    let house = house([FakeEngine::default()]);
    let request = request(&["invoice", "receipt"], json!({}));
    let files = [
        file(
            "a.zip@receipt",
            "=== x.pdf\nkind: invoice\nnumber: A-1\n=== y.pdf\nkind: receipt",
        ),
        file("one.zip@receipt", "=== x.pdf\nkind: invoice"),
        file("b.pdf@receipt", INVOICE),
    ];
    let result = house.run(&request, &files).await.unwrap();
    let types: Vec<_> = result
        .documents
        .iter()
        .map(|d| d.type_id.as_str())
        .collect();
    assert_eq!(types, ["invoice", "receipt", "receipt", "receipt"]);
    assert_eq!(result.documents[3].confidence, 1.0);
    assert_eq!(
        result.documents[3].description.as_deref(),
        Some("the type receipt")
    );
    assert_eq!(result.files[3].classification, None);
}

#[tokio::test]
async fn with_one_declared_type_nobody_is_asked_which() {
    for classifier in [true, false] {
        let engine = FakeEngine::default();
        let house = house([engine.clone()]);
        let request = request(
            &["invoice"],
            json!({"options": {"stages": {"classifier": classifier}}}),
        );
        let result = house
            .run(&request, &[file("a.pdf", "kind: other\nnumber: A-1")])
            .await
            .unwrap();
        assert_eq!(engine.count("classify"), 0);
        assert_eq!(
            (
                result.documents[0].type_id.as_str(),
                result.documents[0].confidence
            ),
            ("invoice", 1.0)
        );
    }
}

#[tokio::test]
async fn what_fits_no_declared_type_is_discovered() {
    let house = house([FakeEngine::default()]);
    let request = request(&["invoice", "receipt"], json!({}));
    let files = [
        file("a.pdf", INVOICE),
        file("b.pdf", "kind: letter SURE"),
        file("c.pdf", "kind: letter"),
    ];
    let result = house.run(&request, &files).await.unwrap();
    assert_eq!(result.status, ResultStatus::Success);
    let discovered: Vec<_> = result
        .discovered_documents
        .iter()
        .map(|d| {
            (
                d.type_id.as_str(),
                d.source_file.as_str(),
                d.field_groups.len(),
                d.notes.as_deref(),
            )
        })
        .collect();
    assert_eq!(
        discovered,
        [
            ("unmatched", "b.pdf", 0, Some("by its kind line")),
            ("unmatched", "c.pdf", 0, Some("by its kind line"))
        ]
    );
    assert_eq!(result.files[1].matched_type, None);
    assert!(!result.files[1].classification.as_ref().unwrap().matched);
}

#[tokio::test]
async fn without_a_classifier_the_splitter_says_the_type() {
    let engine = FakeEngine {
        segments: Some(vec![segment(2, 3)]),
        ..FakeEngine::default()
    };
    let house = house([engine.clone()]);
    let request = request(
        &["invoice", "receipt"],
        json!({"options": {"stages": {"classifier": false, "splitter": true}}}),
    );
    let result = house
        .run(&request, &[file("a.pdf", "x\n---\nnumber: B-1\n---\ny")])
        .await
        .unwrap();
    let document = &result.documents[0];
    assert_eq!(
        (document.type_id.as_str(), document.pages.as_slice()),
        ("receipt", [2, 3].as_slice())
    );
    assert_eq!(
        (document.confidence, document.description.as_deref()),
        (0.6, Some("a slip"))
    );
    assert_eq!(engine.count("classify"), 0);
}

#[tokio::test]
async fn a_file_of_one_page_or_a_known_type_is_not_split() {
    let engine = FakeEngine::default();
    let house = house([engine.clone()]);
    let request = request(
        &["invoice"],
        json!({"options": {"stages": {"splitter": true}}}),
    );
    let files = [
        file("a.pdf", INVOICE),
        file("b.pdf@invoice", "number: A-1\n---\nkind: invoice"),
    ];
    let result = house.run(&request, &files).await.unwrap();
    assert_eq!(status(&result, "discover"), TraceStatus::Skipped);
    assert_eq!(engine.count("split"), 0);
    assert_eq!(result.documents.len(), 2);
}

#[tokio::test]
async fn an_empty_split_keeps_the_whole_file() {
    let house = house([FakeEngine {
        segments: Some(Vec::new()),
        ..FakeEngine::default()
    }]);
    let request = request(
        &["invoice"],
        json!({"options": {"stages": {"splitter": true}}}),
    );
    let result = house
        .run(&request, &[file("a.pdf", "number: A-1\n---\nx")])
        .await
        .unwrap();
    assert_eq!(result.documents[0].pages, [1, 2]);
}

#[tokio::test]
async fn boxes_are_left_to_the_bbox_worker_when_nobody_waits() {
    let house = house([FakeEngine::default()]);
    let request = request(
        &["invoice"],
        json!({"options": {"stages": {"bbox_refine": true}}}),
    );
    let files = [file("a.pdf", INVOICE)];
    assert!(request.wants_bbox_refinement());
    let later = house.run_as(&request, &files, Mode::Async).await.unwrap();
    assert_eq!(status(&later, "bbox_refine"), TraceStatus::Skipped);
    assert_eq!(
        field(&later, 0, "number").bbox.unwrap().source,
        BoxSource::Llm
    );
    let now = house.run_as(&request, &files, Mode::Sync).await.unwrap();
    assert_eq!(status(&now, "bbox_refine"), TraceStatus::Success);
    let bbox = field(&now, 0, "number").bbox.unwrap();
    assert_eq!(
        (bbox.source, bbox.xmin, bbox.ymin),
        (BoxSource::PdfText, 0.13, 0.08)
    );
}

#[tokio::test]
async fn who_wants_no_boxes_gets_none() {
    let house = house([FakeEngine::default()]);
    let request = request(
        &["invoice"],
        json!({"options": {"return_bboxes": false, "stages": {"bbox_refine": true}}}),
    );
    let files = [file("a.pdf", "number: A-1\nperson: 1A|Ana")];
    assert!(!request.wants_bbox_refinement());
    let result = house.run(&request, &files).await.unwrap();
    assert_eq!(status(&result, "bbox_refine"), TraceStatus::Skipped);
    assert!(
        !serde_json::to_string(&result.documents)
            .unwrap()
            .contains("xmin")
    );
}

#[tokio::test]
async fn the_declared_media_type_goes_over_that_of_the_file() {
    let house = house([FakeEngine::default()]);
    let request = request(
        &["invoice"],
        json!({"options": {"declared_media_type": "text/plain"}}),
    );
    let mut file = file("a.pdf", INVOICE);
    file.source.declared_media_type = Some("image/png".to_owned());
    let result = house.run(&request, &[file]).await.unwrap();
    assert_eq!(result.files[0].media_type, "text/plain");
}

#[tokio::test]
async fn what_the_reader_remarks_stands_in_the_notes() {
    let house = house([FakeEngine::default()]);
    let request = request(&["invoice", "receipt"], json!({}));
    let files = [file("a.pdf", &format!("{INVOICE}\nWARNING"))];
    let result = house.run(&request, &files).await.unwrap();
    assert_eq!(
        result.documents[0].notes.as_deref(),
        Some("by its kind line; a font is missing")
    );
    assert_eq!(result.status, ResultStatus::Success);
}

#[tokio::test]
async fn usage_is_summed_by_question_and_model() {
    let house = house([FakeEngine {
        metered: true,
        ..FakeEngine::default()
    }]);
    let request = request(&["invoice", "receipt"], json!({}));
    let files = [file("a.pdf", INVOICE), file("b.pdf", INVOICE)];
    let usage = house
        .run(&request, &files)
        .await
        .unwrap()
        .pipeline
        .usage
        .unwrap();
    assert_eq!((usage.total_requests, usage.record_count), (4, 4));
    assert_eq!(
        (
            usage.total_input_tokens,
            usage.total_output_tokens,
            usage.total_tokens
        ),
        (400, 40, 440)
    );
    assert_eq!(
        (usage.cache_creation_tokens, usage.cache_read_tokens),
        (4, 8)
    );
    assert_eq!((usage.total_cost_usd, usage.total_latency_ms), (2.0, 8.0));
    assert_eq!(
        usage.by_agent.keys().collect::<Vec<_>>(),
        ["classify", "extract"]
    );
    assert_eq!(usage.by_agent["extract"].total_tokens, 220);
    assert_eq!(usage.by_model["fake:one"].input_tokens, 400);
}

#[tokio::test]
async fn no_more_runs_at_once_than_the_setting_says() {
    let engine = FakeEngine::default();
    let mut options = short();
    options.stage_concurrency = 2.try_into().unwrap();
    let house = house_with([engine.clone()], options);
    let files: Vec<_> = (0..9).map(|i| file(&format!("{i}.pdf"), INVOICE)).collect();
    let result = house
        .run(&request(&["invoice"], json!({})), &files)
        .await
        .unwrap();
    let names: Vec<_> = result
        .documents
        .iter()
        .map(|d| d.source_file.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "0.pdf", "1.pdf", "2.pdf", "3.pdf", "4.pdf", "5.pdf", "6.pdf", "7.pdf", "8.pdf"
        ]
    );
    assert_eq!(engine.at_once.lock().unwrap().1, 2);
}

#[tokio::test]
async fn a_cancelled_run_ends_as_cancelled() {
    let house = house([FakeEngine::that("extract", crate::fakes::Behaviour::Hangs)]);
    let input = flydocs_pipeline::Input {
        id: id(),
        request: request(&["invoice"], json!({})),
        files: vec![file("a.pdf", INVOICE)],
        mode: Mode::Sync,
    };
    let cancel = CancellationToken::new();
    let run = house
        .pipeline
        .run(input.clone(), std::sync::Arc::new(Silent), &cancel);
    let (ended, ()) = tokio::join!(run, async {
        tokio::task::yield_now().await;
        cancel.cancel();
    });
    assert!(ended.unwrap_err().is_cancelled());
    let ended = house
        .pipeline
        .run(input, std::sync::Arc::new(Silent), &cancel)
        .await;
    assert!(ended.unwrap_err().is_cancelled());
}
