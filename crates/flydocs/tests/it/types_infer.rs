//! `types infer`: what is proposed can be used.

use crate::desk::Desk;

#[test]
fn a_proposed_types_file_gives_the_values_of_the_document_it_was_made_from() {
    let desk = Desk::new();
    let run = desk.run(&["types", "infer", "invoice.pdf", "--out", "proposed.json"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{}", run.shown());
    let read = desk.run(&[
        "extract",
        "invoice.pdf",
        "--types",
        "proposed.json",
        "-o",
        "json",
    ]);
    assert_eq!(read.code, 0, "{}", read.shown());
    let result = read.json();
    let document = &result["documents"][0];
    assert_eq!(document["type"], "invoice", "{result}");
    let values: Vec<String> = document["field_groups"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|group| group["fields"].as_array().unwrap())
        .map(|field| field["value"].to_string())
        .collect();
    assert!(
        values.contains(&"\"RE-2026-0042\"".to_owned()),
        "{values:?}"
    );
    let given = values.iter().filter(|v| *v != "null").count();
    assert!(given * 4 >= values.len() * 3, "{values:?}");
}

#[test]
fn a_proposal_goes_to_stdout_and_names_types_and_formats() {
    let desk = Desk::new();
    let run = desk.run(&["types", "infer", "invoice.pdf"]);
    assert_eq!(run.code, 0, "{}", run.shown());
    let fields = run.json()["document_types"][0]["field_groups"][0]["fields"].clone();
    let number = fields
        .as_array()
        .unwrap()
        .iter()
        .any(|f| f["name"] == "invoice_number" && f["description"].is_string());
    assert!(number, "{fields}");
    assert!(!run.stdout.contains("null"), "{}", run.stdout);
}

#[test]
fn a_file_that_cannot_be_read_proposes_nothing() {
    let desk = Desk::new();
    let run = desk.run(&["types", "infer", "nowhere.pdf"]);
    assert_ne!(run.code, 0);
    assert_eq!(run.stdout, "");
}
