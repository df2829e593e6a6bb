//! `webhooks`: from a server to a listener, looked at, sent again, and checked by hand.

use std::{
    io::{BufRead as _, BufReader, Lines},
    process::{Child, ChildStdout, Command, Stdio},
};

use crate::desk::{Desk, still};

const SECRET: (&str, &str) = ("FLYDOCS_WEBHOOK_HMAC_SECRET", "whsec_c2VjcmV0");

/// A process that is gone with the test, and what it says line by line.
struct Process {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Process {
    fn start(desk: &Desk, args: &[&str]) -> Self {
        let mut child = Command::new(assert_cmd::cargo::cargo_bin("flydocs"))
            .args(args)
            .current_dir(desk.path())
            .env_clear()
            .env("FLYDOCS_DATA_DIR", desk.path().join("data"))
            .env("FLYDOCS_WEBHOOK_ALLOW_PRIVATE", "true")
            .env(SECRET.0, SECRET.1)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    fn line(&mut self) -> String {
        self.lines.next().unwrap().unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn a_webhook_is_heard_listed_and_sent_again() {
    let desk = Desk::new();
    let mut server = Process::start(&desk, &["up", "--port", "0", "--quiet"]);
    let server_url = server.line();
    let listen = [
        "webhooks",
        "listen",
        "--listen",
        "127.0.0.1:0",
        "--count",
        "2",
    ];
    let mut listener = Process::start(&desk, &listen);
    let hook = listener.line();
    let run = desk.run(&[
        "submit",
        "invoice.pdf",
        "--types",
        "types.json",
        "--callback-url",
        &hook,
        "--server",
        &server_url,
        "--wait",
        "-o",
        "json",
    ]);
    assert_eq!(run.code, 0, "{}", run.shown());
    let id = run.stderr.lines().next().unwrap().to_owned();
    let heard = listener.line();
    assert!(
        heard.starts_with(&format!(
            "extraction.completed {id} succeeded · signed · answered 204"
        )),
        "{heard}"
    );
    let event = heard.rsplit(' ').next().unwrap().to_owned();
    let again = desk.run(&["webhooks", "redeliver", &event, "--server", &server_url]);
    assert_eq!(again.code, 0, "{}", again.shown());
    assert_eq!(listener.line(), heard);
    assert!(listener.child.wait().unwrap().success());
    let log = desk.run(&[
        "webhooks",
        "list",
        &id,
        "--server",
        &server_url,
        "-o",
        "json",
    ]);
    assert_eq!(log.json()["items"][0]["id"], event);
    let table = desk.run(&["webhooks", "list", &id, "--server", &server_url]);
    assert!(
        table.stdout.contains("extraction.completed"),
        "{}",
        table.shown()
    );
    let nothing = desk.run(&["webhooks", "redeliver", "nothing", "--server", &server_url]);
    assert_eq!(nothing.code, 6, "{}", nothing.shown());
}

#[test]
fn a_signature_is_checked_by_hand() {
    let desk = Desk::new();
    desk.put("body.json", r#"{"a":1}"#);
    // HMAC-SHA256 of the body with the secret as it is written
    let own = "X-Flydocs-Signature: sha256=4cd41a0a0b4c64f1d1f0a8d5b1d0d2c4";
    let verify = |headers: &[&str]| {
        let mut args = vec!["webhooks", "verify", "body.json"];
        for header in headers {
            args.extend(["-H", header]);
        }
        desk.run_with(&[SECRET], &args)
    };
    let wrong = verify(&[own]);
    assert_eq!(wrong.code, 6);
    still().bind(|| insta::assert_snapshot!("verify-wrong", wrong.shown()));
    let right = verify(&[
        "x-flydocs-signature: sha256=28fdc14c87a73d987934817247894b8ad07ef650fe85604f8aa9c9dec32c936d",
    ]);
    assert_eq!(right.code, 0, "{}", right.shown());
    let old = verify(&[
        "webhook-id: id",
        "webhook-timestamp: 1000",
        "webhook-signature: v1,l7yHfe6PwMuSq0c8Dwa1L0ABtP8u24RStbU3aDIwoVQ=",
    ]);
    assert!(old.stdout.contains("away from now"), "{}", old.shown());
    assert_eq!(verify(&["webhook-signature: v1,x"]).code, 6);
    let no_secret = desk.run(&["webhooks", "verify", "body.json", "-H", own]);
    assert_eq!(no_secret.code, 3, "{}", no_secret.shown());
}
