//! Many documents at once: in order, each its line, one that fails stops none.

use serde_json::Value;

use crate::{
    desk::{Desk, still},
    paper,
};

#[test]
fn one_that_fails_does_not_stop_the_others() {
    let desk = Desk::new();
    desk.put("locked.pdf", paper::encrypted());
    desk.put("empty.pdf", "");
    let run = desk.run(&[
        "extract",
        "locked.pdf",
        "invoice.pdf",
        "nowhere.pdf",
        "empty.pdf",
        "--types",
        "types.json",
        "-o",
        "jsonl",
    ]);
    assert_eq!(run.code, 5, "{}", run.shown());
    let lines: Vec<Value> = run
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let codes: Vec<_> = lines
        .iter()
        .map(|line| line["error"]["code"].as_str())
        .collect();
    assert_eq!(
        codes,
        [
            Some("encrypted_pdf"),
            None,
            Some("file_unreadable"),
            Some("empty_file")
        ]
    );
    assert_eq!(lines[1]["documents"][0]["type"], "invoice");
    for said in [
        "error[encrypted_pdf]",
        "error[file_unreadable]",
        "error[empty_file]",
        "3 of 4 documents failed",
    ] {
        assert!(run.stderr.contains(said), "{}", run.stderr);
    }
}

#[test]
fn json_of_many_documents_is_a_list() {
    let desk = Desk::new();
    desk.put("second.pdf", paper::invoice());
    let run = desk.run(&[
        "extract",
        "invoice.pdf",
        "second.pdf",
        "gone.pdf",
        "--types",
        "types.json",
        "-o",
        "json",
    ]);
    assert_eq!(run.code, 5);
    let list = run.json();
    assert_eq!(list.as_array().unwrap().len(), 3);
    assert_eq!(list[1]["files"][0]["filename"], "second.pdf");
    assert_eq!(list[2]["error"]["code"], "file_unreadable");
}

#[test]
fn results_go_into_a_folder_with_a_line_a_document() {
    let desk = Desk::new();
    std::fs::create_dir(desk.path().join("b")).unwrap();
    desk.put("b/invoice.pdf", paper::invoice());
    let run = desk.run(&[
        "extract",
        "invoice.pdf",
        "b/invoice.pdf",
        "gone.pdf",
        "--types",
        "types.json",
        "--out",
        "results",
    ]);
    assert_eq!(run.code, 5);
    for name in ["invoice.pdf.json", "invoice.pdf.2.json"] {
        let text = std::fs::read_to_string(desk.path().join("results").join(name)).unwrap();
        let result: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(result["documents"][0]["type"], "invoice");
    }
    assert!(!desk.path().join("results/gone.pdf.json").exists());
    still().bind(|| insta::assert_snapshot!(run.shown()));
}

#[test]
fn the_order_of_results_is_the_order_of_the_command_line() {
    let desk = Desk::new();
    let names: Vec<String> = (0..12).map(|i| format!("{i:02}.pdf")).collect();
    for (i, name) in names.iter().enumerate() {
        let lines = ["Invoice number: RE-1"; 5];
        let pages = vec![&lines[..]; 12 - i];
        desk.put(name, paper::pdf(&pages));
    }
    let mut args = vec!["extract"];
    args.extend(names.iter().map(String::as_str));
    args.extend(["--types", "types.json", "-o", "jsonl", "--jobs", "4"]);
    let run = desk.run(&args);
    assert_eq!(run.code, 0, "{}", run.shown());
    let given: Vec<String> = run
        .stdout
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["files"][0]["filename"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(given, names);
}
