//! An upload that is larger than the memory its service may use.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, Command, Stdio},
};

use rustix::process::{Pid, Resource, Rlimit, prlimit};

use crate::desk::{Desk, types};

const MIB: u64 = 1024 * 1024;
/// What the service may take beyond what it holds at rest: a sixteenth of the upload.
const ROOM: u64 = 64 * MIB;
const UPLOAD: u64 = 1024 * MIB;

struct Serve(Child);

impl Drop for Serve {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Writable memory of a process: what `RLIMIT_DATA` counts.
fn data_of(child: &Child) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmData:"));
    let kib: u64 = line
        .unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap();
    kib * 1024
}

#[test]
fn a_gibibyte_of_zeros_needs_no_memory() {
    let desk = Desk::new();
    let mut child = Command::new(assert_cmd::cargo::cargo_bin("flydocs"))
        .args(["serve", "--port", "0", "--quiet"])
        .current_dir(desk.path())
        .env_clear()
        .env("FLYDOCS_DATA_DIR", desk.path().join("data"))
        .env("FLYDOCS_MAX_BYTES", (UPLOAD + MIB).to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let url = lines.next().unwrap().unwrap();
    let serve = Serve(child);
    let most = data_of(&serve.0) + ROOM;
    let limit = Rlimit {
        current: Some(most),
        maximum: Some(most),
    };
    prlimit(Some(Pid::from_child(&serve.0)), Resource::Data, limit).unwrap();

    let head = format!(
        "--e\r\nContent-Disposition: form-data; name=\"request\"\r\n\r\n{}\r\n--e\r\nContent-Disposition: form-data; name=\"files\"; filename=\"zeros.txt\"\r\n\r\n",
        types()
    );
    let tail = "\r\n--e--\r\n";
    let length = head.len() as u64 + UPLOAD + tail.len() as u64;
    let mut stream = TcpStream::connect(url.trim_start_matches("http://")).unwrap();
    write!(
        stream,
        "POST /api/v1/extractions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: multipart/form-data; boundary=e\r\nContent-Length: {length}\r\n\r\n{head}"
    )
    .unwrap();
    let zeros = vec![0_u8; MIB as usize];
    for _ in 0..UPLOAD / MIB {
        stream.write_all(&zeros).unwrap();
    }
    stream.write_all(tail.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 202"), "{answer}");
    assert!(answer.contains(r#""status":"queued""#), "{answer}");
}
