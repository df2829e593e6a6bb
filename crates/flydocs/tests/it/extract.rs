//! `extract` of one document, in every form.

use crate::{
    desk::{Desk, still},
    paper,
};

#[test]
fn a_document_is_shown_as_a_table_of_eighty_columns() {
    let desk = Desk::new();
    let run = desk.run(&["extract", "invoice.pdf", "--types", "types.json"]);
    assert_eq!(run.code, 0, "{}", run.shown());
    assert!(run.stdout.contains("RE-2026-0042"), "{}", run.shown());
    assert!(!run.stdout.contains('\x1b'), "no colour outside a terminal");
    let widest = run
        .stdout
        .lines()
        .map(|line| line.chars().count())
        .max()
        .unwrap();
    assert!(widest <= 80, "{widest}\n{}", run.stdout);
    still().bind(|| insta::assert_snapshot!(run.shown()));
}

#[test]
fn how_a_document_was_read_is_shown_on_request() {
    let desk = Desk::new();
    let run = desk.run(&[
        "extract",
        "invoice.pdf",
        "--types",
        "types.json",
        "--explain",
    ]);
    for stage in [
        "load",
        "classify",
        "extract",
        "field_validation",
        "assemble",
    ] {
        assert!(run.stdout.contains(stage), "{stage}\n{}", run.stdout);
    }
    // and for each field the label, the candidates with their scores, and why one won
    for part in [
        "head.invoice_number  RE-2026-0042",
        "of the label",
        "place 0.",
        "✓",
    ] {
        assert!(run.stdout.contains(part), "{part}\n{}", run.stdout);
    }
    let json = desk.run(&[
        "extract",
        "invoice.pdf",
        "--types",
        "types.json",
        "--explain",
        "-o",
        "json",
    ]);
    let explained = &json.json()["explanation"][0];
    assert_eq!(explained["document_type"], "invoice");
    let field = &explained["fields"][0];
    assert_eq!(field["path"], "head.invoice_number");
    assert_eq!(field["candidates"][0]["chosen"], true);
    assert!(field["candidates"][0]["score"].as_f64().unwrap() > 0.5);
}

#[test]
fn json_is_the_result_and_jsonl_the_same_in_a_line() {
    let desk = Desk::new();
    let json = desk.run(&[
        "extract",
        "invoice.pdf",
        "--types",
        "types.json",
        "-o",
        "json",
    ]);
    assert_eq!(json.stderr, "");
    let result = json.json();
    let field = &result["documents"][0]["field_groups"][0]["fields"][0];
    assert_eq!(field["value"], "RE-2026-0042");
    assert!(field["bbox"]["xmin"].is_number());
    let line = desk.run(&[
        "extract",
        "invoice.pdf",
        "--types",
        "types.json",
        "-o",
        "jsonl",
    ]);
    assert_eq!(line.stdout.lines().count(), 1);
    assert_eq!(line.json()["documents"], result["documents"]);
}

#[test]
fn rows_of_a_list_are_an_indented_table() {
    let desk = Desk::new();
    desk.put("order.pdf", paper::order());
    desk.put(
        "order.json",
        r#"[{"id":"order","field_groups":[{"name":"items","fields":[{"name":"line_items","type":"array","items":
            {"type":"object","fields":[{"name":"description"},{"name":"quantity","type":"integer"},{"name":"amount","type":"number"}]}}]}]}]"#,
    );
    let run = desk.run(&["extract", "order.pdf", "--types", "order.json"]);
    assert_eq!(run.code, 0, "{}", run.shown());
    still().bind(|| insta::assert_snapshot!(run.shown()));
}
