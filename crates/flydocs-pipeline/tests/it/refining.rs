//! The bbox worker's half: a stored result, its files once more, grounded boxes.

use flydocs_contract::{
    BoxSource, ErrorCode, ExtractionResult,
    result::{ResultStatus, TraceStatus},
};
use flydocs_pipeline::{Error, InputFile, Mode, Request, Silent};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::fakes::{
    FakeEngine, House, SOON, errors, field, file, house, house_with, request, short, status,
    timeless,
};

fn wanted() -> Request {
    request(
        &["invoice", "receipt"],
        json!({"options": {"stages": {"bbox_refine": true}}}),
    )
}

async fn extracted(house: &House, files: &[InputFile]) -> ExtractionResult {
    let result = house.run_as(&wanted(), files, Mode::Async).await.unwrap();
    house.reader.read.lock().unwrap().clear();
    result
}

#[tokio::test]
async fn a_stored_result_gets_the_boxes_of_the_inline_stage() {
    let house = house([FakeEngine::default()]);
    let files = [file(
        "a.pdf",
        "kind: invoice\nnumber: A-1\n---\nperson: 1A|Ana\ntotal: 12.5",
    )];
    let stored = extracted(&house, &files).await;
    // What is stored comes back from JSON.
    let stored = serde_json::from_value(serde_json::to_value(&stored).unwrap()).unwrap();
    let refined = house.refine(&stored, &wanted(), &files).await.unwrap();
    let inline = house.run_as(&wanted(), &files, Mode::Sync).await.unwrap();
    assert_eq!(refined.documents, inline.documents);
    assert_eq!(status(&refined, "bbox_refine"), TraceStatus::Success);
    assert_eq!(refined.pipeline.trace.len(), 15);
    assert_eq!(
        (refined.status, refined.id),
        (ResultStatus::Success, stored.id)
    );
}

#[tokio::test]
async fn refining_twice_gives_the_same_result() {
    let house = house([FakeEngine::default()]);
    let files = [file(
        "a.pdf@invoice",
        "number: A-1\n---\nSCAN\n---\nperson: 1A|Ana",
    )];
    let stored = extracted(&house, &files).await;
    let once = house.refine(&stored, &wanted(), &files).await.unwrap();
    let twice = house.refine(&once, &wanted(), &files).await.unwrap();
    assert_eq!(timeless(once), timeless(twice));
}

#[tokio::test]
async fn only_pages_that_are_needed_are_read() {
    let house = house([FakeEngine::default()]);
    let files = [
        file("a.pdf@invoice", "x\n---\nnumber: A-1\n---\nSCAN\n---\ny"),
        file("b.pdf", "kind: letter"),
    ];
    let stored = extracted(&house, &files).await;
    let refined = house.refine(&stored, &wanted(), &files).await.unwrap();
    assert_eq!(house.pages_read(), [("a.pdf".to_owned(), 2)]);
    assert_eq!(
        field(&refined, 0, "number").bbox.unwrap().source,
        BoxSource::PdfText
    );
}

#[tokio::test]
async fn files_with_one_name_are_told_apart() {
    let house = house([FakeEngine::default()]);
    let split = request(
        &["invoice", "receipt"],
        json!({"options": {"stages": {"bbox_refine": true, "splitter": true}}}),
    );
    let files = [
        file("x.pdf", "kind: letter\nnumber: Z-9"),
        file(
            "x.pdf",
            "a\nkind: invoice\nnumber: A-1\n---\nkind: receipt\nnumber: A-2",
        ),
        file("x.pdf", "kind: letter"),
        file("b.zip", "=== x.pdf\na\nb\nkind: invoice\nnumber: B-1"),
        file(
            "x.pdf",
            "a\nb\nc\nkind: invoice\nnumber: C-1\n---\nnumber: C-2",
        ),
        file("b.zip", "=== x.pdf\na\nb\nc\nd\nkind: receipt\nnumber: D-1"),
    ];
    let stored = house.run_as(&split, &files, Mode::Async).await.unwrap();
    let refined = house.refine(&stored, &split, &files).await.unwrap();
    let tops: Vec<_> = (0..refined.documents.len())
        .map(|i| {
            let bbox = field(&refined, i, "number").bbox.unwrap();
            (
                refined.documents[i].source_file.as_str(),
                bbox.source,
                bbox.ymin,
            )
        })
        .collect();
    let top = |line: u32| 0.05 + f64::from(line) * 0.03;
    assert_eq!(
        tops,
        [
            ("x.pdf", BoxSource::PdfText, top(2)),
            ("x.pdf", BoxSource::PdfText, top(1)),
            ("b.zip/x.pdf", BoxSource::PdfText, top(3)),
            ("x.pdf", BoxSource::PdfText, top(4)),
            ("b.zip/x.pdf", BoxSource::PdfText, top(5)),
        ]
    );
}

#[tokio::test]
async fn missing_ocr_is_one_clear_error() {
    let house = house([FakeEngine::default()]);
    let files = [file("a.pdf@invoice", "number: A-1\n---\nremark: gone")];
    let mut stored = extracted(&house, &files).await;
    let scans = [file("a.pdf@invoice", "number: A-1\n---\nSCAN")];
    let refined = house.refine(&stored, &wanted(), &scans).await.unwrap();
    assert_eq!(errors(&refined), [("bbox_refine", "ocr_unavailable")]);
    assert_eq!(
        (refined.status, status(&refined, "bbox_refine")),
        (ResultStatus::Partial, TraceStatus::Failed)
    );
    assert_eq!(
        field(&refined, 0, "number").bbox.unwrap().source,
        BoxSource::PdfText
    );
    assert_eq!(
        field(&refined, 0, "remark").bbox.unwrap().source,
        BoxSource::Llm
    );
    // Installed meanwhile: the error goes.
    let repaired = house.refine(&refined, &wanted(), &files).await.unwrap();
    assert_eq!(
        (errors(&repaired), repaired.status),
        (vec![], ResultStatus::Success)
    );
    // Nothing could be read at all.
    stored.documents[0].pages = vec![2];
    let error = house.refine(&stored, &wanted(), &scans).await.unwrap_err();
    assert_eq!(
        (error.code(), error.is_permanent()),
        (ErrorCode::OcrUnavailable, true)
    );
    assert!(error.to_string().contains("tesseract"), "{error}");
}

#[tokio::test]
async fn other_files_than_those_of_the_result_are_refused() {
    let house = house([FakeEngine::default()]);
    let files = [file("a.pdf@invoice", "number: A-1")];
    let stored = extracted(&house, &files).await;
    for other in [
        vec![],
        vec![file("b.pdf@invoice", "number: A-1")],
        vec![file("a.pdf@invoice", "number: A-1\n---\nx")],
    ] {
        let error = house.refine(&stored, &wanted(), &other).await.unwrap_err();
        assert!(
            matches!(error, Error::FilesDiffer { .. }) && error.is_permanent(),
            "{error}"
        );
    }
    let error = house
        .refine(&stored, &wanted(), &[file("a.pdf", "REFUSED")])
        .await
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::EncryptedPdf);
}

#[tokio::test]
async fn a_result_without_documents_is_its_own_refinement() {
    let house = house([FakeEngine::default()]);
    let files = [file("a.pdf@invoice", "number:")];
    let stored = extracted(&house, &files).await;
    let refined = house.refine(&stored, &wanted(), &files).await.unwrap();
    assert_eq!(house.pages_read(), []);
    assert_eq!(refined.documents, stored.documents);
}

#[tokio::test]
async fn over_its_ceiling_it_fails_and_names_the_setting() {
    let mut options = short();
    options.bbox_refine_timeout = SOON;
    let house = house_with([FakeEngine::default()], options);
    let files = [file("a.pdf@invoice", "number: A-1\nHANGS AFTER 1")];
    let stored = house.run_as(&wanted(), &files, Mode::Async).await.unwrap();
    let error = house.refine(&stored, &wanted(), &files).await.unwrap_err();
    assert_eq!(
        (error.code(), error.is_permanent()),
        (ErrorCode::StageTimeout, false)
    );
    assert!(
        error.to_string().contains("FLYDOCS_BBOX_REFINE_TIMEOUT_S"),
        "{error}"
    );
}

#[tokio::test]
async fn a_cancelled_refinement_ends_as_cancelled() {
    let house = house([FakeEngine::default()]);
    let files = [file("a.pdf@invoice", "number: A-1\nHANGS AFTER 1")];
    let stored = house.run_as(&wanted(), &files, Mode::Async).await.unwrap();
    let input = flydocs_pipeline::RefineInput {
        result: stored,
        request: wanted(),
        files: files.to_vec(),
    };
    let cancel = CancellationToken::new();
    let refining = house
        .pipeline
        .refine(input, std::sync::Arc::new(Silent), &cancel);
    let (ended, ()) = tokio::join!(refining, async {
        tokio::task::yield_now().await;
        cancel.cancel();
    });
    assert!(ended.unwrap_err().is_cancelled());
}
