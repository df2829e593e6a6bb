//! Bad input: one clear sentence with the code and what to do.

use crate::{
    desk::{Desk, still},
    paper,
};

#[test]
fn every_bad_document_has_its_sentence() {
    let desk = Desk::new();
    desk.put("empty.pdf", "");
    desk.put("locked.pdf", paper::encrypted());
    desk.put("broken.pdf", "%PDF-1.7\nnot really");
    desk.put("nopages.pdf", paper::pdf(&[]));
    desk.put("long.pdf", paper::pdf(&[&["a"][..]; 12]));
    desk.put("blob.bin", [0_u8, 159, 146, 150, 7, 0, 1, 2]);
    desk.put("noise.pdf", "no PDF but a note");
    std::fs::create_dir(desk.path().join("folder")).unwrap();
    let mut told = String::new();
    for (file, code) in [
        ("nowhere.pdf", "file_unreadable"),
        ("folder", "file_unreadable"),
        ("empty.pdf", "empty_file"),
        ("locked.pdf", "encrypted_pdf"),
        ("broken.pdf", "corrupt_pdf"),
        ("nopages.pdf", "empty_file"),
        ("long.pdf", "limit_exceeded"),
        ("blob.bin", "unsupported_file"),
        ("noise.pdf", "unsupported_file"),
    ] {
        let run = desk.run_with(
            &[("FLYDOCS_MAX_PAGES", "10")],
            &["extract", file, "-t", "types.json"],
        );
        assert_eq!(
            (run.code, run.stdout.as_str()),
            (5, ""),
            "{file}: {}",
            run.shown()
        );
        assert!(
            run.stderr.contains(&format!("error[{code}]")),
            "{file}: {}",
            run.stderr
        );
        told.push_str(&run.stderr);
    }
    still().bind(|| insta::assert_snapshot!(told));
}

#[test]
fn ten_thousand_pages_are_refused_before_they_are_read() {
    let desk = Desk::new();
    desk.put("endless.pdf", paper::pdf(&vec![&["x"][..]; 10_000]));
    let run = desk.run(&[
        "extract",
        "endless.pdf",
        "invoice.pdf",
        "-t",
        "types.json",
        "-o",
        "jsonl",
    ]);
    assert_eq!(run.code, 5);
    assert!(run.stderr.contains("FLYDOCS_MAX_PAGES"), "{}", run.stderr);
    assert_eq!(run.stdout.lines().count(), 2);
}

#[test]
fn every_bad_types_file_has_its_sentence() {
    let desk = Desk::new();
    let field = r#"{"name":"g","fields":[{"name":"f"}]}"#;
    let one = format!(r#"{{"id":"t","field_groups":[{field}]}}"#);
    let twice = format!("[{one},{one}]");
    let unknown = format!(r#"[{{"id":"t","colour":1,"field_groups":[{field}]}}]"#);
    let cycle = format!(
        r#"{{"document_types":[{one}],"rules":[
            {{"id":"a","predicate":"p","parents":[{{"kind":"rule","rule":"b"}}]}},
            {{"id":"b","predicate":"p","parents":[{{"kind":"rule","rule":"a"}}]}}]}}"#
    );
    let pattern =
        r#"[{"id":"t","field_groups":[{"name":"g","fields":[{"name":"f","pattern":"(?=x)"}]}]}]"#;
    let mut told = String::new();
    for (name, text, code) in [
        ("absent.json", None, "file_unreadable"),
        ("nojson.json", Some("{".to_owned()), "invalid_types_file"),
        ("number.json", Some("7".to_owned()), "invalid_types_file"),
        ("unknown.json", Some(unknown), "invalid_types_file"),
        (
            "key.json",
            Some(r#"{"types":[]}"#.to_owned()),
            "invalid_types_file",
        ),
        ("nothing.json", Some("[]".to_owned()), "invalid_types_file"),
        ("twice.json", Some(twice), "duplicate_document_type"),
        ("cycle.json", Some(cycle), "rule_cycle"),
        ("pattern.json", Some(pattern.to_owned()), "invalid_pattern"),
    ] {
        if let Some(text) = text {
            desk.put(name, text);
        }
        let run = desk.run(&["extract", "invoice.pdf", "--types", name]);
        assert_eq!(
            (run.code, run.stdout.as_str()),
            (2, ""),
            "{name}: {}",
            run.shown()
        );
        assert!(
            run.stderr.contains(&format!("error[{code}]")),
            "{name}: {}",
            run.stderr
        );
        told.push_str(&run.stderr);
    }
    still().bind(|| insta::assert_snapshot!(told));
}

#[test]
fn a_text_is_read_once_its_name_says_that_it_is_one() {
    let desk = Desk::new();
    desk.put("noise.txt", "Invoice number: RE-1");
    let run = desk.run(&["extract", "noise.txt", "-t", "types.json"]);
    assert_eq!(run.code, 0, "{}", run.shown());
}

#[test]
fn a_types_file_may_begin_with_the_mark_of_utf8_and_utf16_is_named() {
    let desk = Desk::new();
    let types = std::fs::read_to_string(desk.path().join("types.json")).unwrap();
    desk.put("marked.json", format!("\u{feff}{types}"));
    let run = desk.run(&["extract", "invoice.pdf", "-t", "marked.json"]);
    assert_eq!(run.code, 0, "{}", run.shown());
    let wide = |mark: &str| -> Vec<u8> {
        let text = format!("{mark}{types}");
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    };
    for mark in ["\u{feff}", ""] {
        desk.put("wide.json", wide(mark));
        let run = desk.run(&["extract", "invoice.pdf", "-t", "wide.json"]);
        assert_eq!(run.code, 2, "{}", run.shown());
        assert!(
            run.stderr.contains("wide.json is UTF-16; save it as UTF-8"),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn a_page_that_is_not_there_is_refused_with_how_many_there_are() {
    let desk = Desk::new();
    desk.put("two.pdf", paper::pdf(&[&["a"][..]; 2]));
    for (file, page, said) in [
        (
            "two.pdf",
            "99",
            "two.pdf has 2 pages, so there is no page 99: choose --page 1 to 2",
        ),
        (
            "two.pdf",
            "0",
            "two.pdf has 2 pages, so there is no page 0: choose --page 1 to 2",
        ),
        (
            "invoice.pdf",
            "2",
            "invoice.pdf has 1 page, so there is no page 2: choose --page 1",
        ),
    ] {
        for format in ["table", "json"] {
            let run = desk.run(&["inspect", file, "--page", page, "-o", format]);
            assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{}", run.shown());
            assert!(run.stderr.contains(said), "{}", run.stderr);
        }
    }
}

#[test]
fn what_cannot_be_a_header_is_refused_by_the_name_of_its_flag() {
    let desk = Desk::new();
    for flag in ["--tenant", "--idempotency-key"] {
        let run = desk.run(&["submit", "invoice.pdf", "-t", "types.json", flag, "a\nb"]);
        assert_eq!(run.code, 2, "{}", run.shown());
        assert!(run.stderr.contains(flag), "{}", run.stderr);
    }
    let run = desk.run_with(&[("FLYDOCS_API_KEY", "a\nb")], &["list"]);
    assert_eq!(run.code, 3, "{}", run.shown());
    assert!(run.stderr.contains("FLYDOCS_API_KEY"), "{}", run.stderr);
}

#[test]
fn an_unknown_model_is_refused_with_those_there_are() {
    let desk = Desk::new();
    let run = desk.run(&[
        "extract",
        "invoice.pdf",
        "-t",
        "types.json",
        "--model",
        "local:magic",
    ]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("local:layout"), "{}", run.stderr);
}

#[test]
fn a_file_is_inspected_page_by_page() {
    let desk = Desk::new();
    let run = desk.run(&["inspect", "invoice.pdf", "--page", "1"]);
    assert_eq!(run.code, 0, "{}", run.shown());
    still().bind(|| insta::assert_snapshot!(run.shown()));
    let json = desk.run(&["inspect", "invoice.pdf", "-o", "json"]).json();
    assert_eq!(json["pages"][0]["words"][0]["text"], "INVOICE");
    assert_eq!(
        json["timings"]["read_ms"].as_array().map(Vec::len),
        json["page_count"].as_u64().map(|count| count as usize)
    );
    let run = desk.run(&["inspect", "invoice.pdf", "--boxes", "page.png"]);
    assert_eq!(run.code, 0, "{}", run.shown());
    let picture = std::fs::read(desk.path().join("page.png")).expect("it was drawn");
    assert!(picture.starts_with(b"\x89PNG"), "a picture of the page");
}
