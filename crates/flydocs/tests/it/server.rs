//! `up` and the client commands against it: one process, real documents, a signal at the end.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use crate::{
    desk::{Desk, still},
    paper,
};

/// A server of its own, stopped at the end whatever happens.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn up(desk: &Desk) -> Self {
        let mut child = Command::new(assert_cmd::cargo::cargo_bin("flydocs"))
            .args(["up", "--port", "0", "--quiet"])
            .current_dir(desk.path())
            .env_clear()
            .env("FLYDOCS_DATA_DIR", desk.path().join("data"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let url = lines.next().unwrap().unwrap();
        Self { child, url }
    }

    fn signal(&self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn a_document_goes_through_a_server_from_submit_to_result() {
    let desk = Desk::new();
    let mut server = Server::up(&desk);
    let at = |args: &[&str]| {
        let mut all = args.to_vec();
        all.extend(["--server", server.url.as_str()]);
        desk.run(&all)
    };
    let mut with_boxes = crate::desk::types();
    with_boxes["options"] = serde_json::json!({"stages": {"bbox_refine": true}});
    desk.put("boxes.json", with_boxes.to_string());

    let run = at(&[
        "submit",
        "invoice.pdf",
        "--types",
        "boxes.json",
        "--wait",
        "-o",
        "json",
    ]);
    assert_eq!(run.code, 0, "{}", run.shown());
    let field = &run.json()["documents"][0]["field_groups"][0]["fields"][0];
    assert_eq!(field["value"], "RE-2026-0042");
    assert_eq!(field["bbox"]["source"], "pdf_text");
    for said in ["queued", "succeeded", "boxes succeeded"] {
        assert!(run.stderr.contains(said), "{}", run.stderr);
    }
    let id = run.stderr.lines().next().unwrap().to_owned();

    let got = at(&["get", &id, "-o", "json"]).json();
    assert_eq!(got["status"], "succeeded");
    assert_eq!(
        got["post_processing"]["bbox_refinement"]["status"],
        "succeeded"
    );
    let table = at(&["get", &id]);
    still().bind(|| insta::assert_snapshot!("get", table.shown()));
    assert_eq!(at(&["wait", &id]).code, 0);
    assert_eq!(at(&["result", &id, "-o", "jsonl"]).json()["id"], id);
    let list = at(&["list", "--status", "succeeded"]);
    still().bind(|| insta::assert_snapshot!("list", list.shown()));

    let refused = at(&["cancel", &id]);
    assert_eq!(refused.code, 6);
    still().bind(|| insta::assert_snapshot!("cancel", refused.shown()));
    assert_eq!(at(&["get", "ext_nothing"]).code, 6);
    assert_eq!(at(&["list", "--status", "done"]).code, 6);

    desk.put("locked.pdf", paper::encrypted());
    let failed = at(&["submit", "locked.pdf", "-t", "types.json", "--wait"]);
    assert_eq!(failed.code, 5, "{}", failed.shown());
    assert!(
        failed.stderr.contains("error[encrypted_pdf]"),
        "{}",
        failed.stderr
    );

    server.signal();
    assert_eq!(
        server.child.wait().unwrap().code(),
        Some(0),
        "a signal ends it in order"
    );
}

#[test]
fn nobody_at_the_other_end_is_told_with_what_to_do() {
    let desk = Desk::new();
    let run = desk.run(&["list", "--server", "http://127.0.0.1:1"]);
    assert_eq!(run.code, 4);
    insta::assert_snapshot!(run.shown());
    let run = desk.run(&["list", "--server", "ftp://x"]);
    assert_eq!(run.code, 3);
}

#[test]
fn a_port_that_is_taken_is_told_with_what_to_do() {
    let desk = Desk::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let run = desk.run_with(
        &[("FLYDOCS_DATA_DIR", "data")],
        &["serve", "--port", &port, "--quiet"],
    );
    assert_eq!(run.code, 3, "{}", run.shown());
    assert!(run.stderr.contains("FLYDOCS_PORT"), "{}", run.stderr);
}
