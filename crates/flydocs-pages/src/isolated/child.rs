//! What a child process runs: requests from standard input, answers to standard output, until it closes.

use std::{
    io::{self, BufReader, BufWriter},
    process::ExitCode,
    time::Duration,
};

use bytes::Bytes;
use tokio_util::sync::CancellationToken;

use super::{
    ceilings,
    frame::{self, Answer, Request},
};
use crate::work::{self, File};

/// Room for documents that nest deeply.
const STACK_BYTES: usize = 64 * 1024 * 1024;

/// Runs this process as a child that reads files for its parent. Call it, before anything else, when the first
/// argument is [`CHILD_ARGUMENT`](super::CHILD_ARGUMENT); it returns when the parent is done.
pub fn child_main() -> ExitCode {
    let worker = std::thread::Builder::new()
        .name("pages-child".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(serve);
    match worker.map(std::thread::JoinHandle::join) {
        Ok(Ok(Ok(()))) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn serve() -> io::Result<()> {
    let mut requests = BufReader::new(io::stdin());
    let mut answers = BufWriter::new(io::stdout());
    // never: the parent ends a child it does not want to wait for
    let cancel = CancellationToken::new();
    let mut kept: Option<(String, Bytes)> = None;
    let mut closed_in = false;
    while let Some((request, blobs)) = frame::read::<Request>(&mut requests)? {
        let memory = request.options.isolation_memory_bytes;
        if !closed_in {
            ceilings::close_in(memory)?;
            closed_in = true;
        }
        ceilings::allow_time(Duration::from_secs(request.options.isolation_timeout_s))?;
        let content = match (blobs.into_iter().next(), kept.take()) {
            (Some(content), _) => content,
            (None, Some((key, content))) if request.key.as_ref() == Some(&key) => content,
            (None, _) => return Err(io::Error::other("a request without its content")),
        };
        let file = File {
            filename: request.filename,
            kind: request.kind,
            key: request.key,
            content,
        };
        let (outcome, blobs) = match work::run(&request.task, &file, &request.options, &cancel) {
            Ok((reply, blobs)) => (Ok(reply), blobs),
            Err(error) => (Err(error), Vec::new()),
        };
        kept = file.key.map(|key| (key, file.content));
        let retire = resident().is_none_or(|bytes| bytes > memory / 2);
        frame::write(&mut answers, &Answer { outcome, retire }, &blobs)?;
    }
    Ok(())
}

/// Memory this process really uses, where the system says.
fn resident() -> Option<u64> {
    if cfg!(not(target_os = "linux")) {
        return Some(0);
    }
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}
