//! Keeps children and gives them work. A child that is late, dies or talks nonsense is ended and replaced.

use std::{
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::{
    io::AsyncReadExt,
    process::{ChildStderr, ChildStdin, ChildStdout, Command},
};
use tokio_util::sync::CancellationToken;

use super::{
    CHILD_ARGUMENT,
    frame::{self, Answer, Request},
};
use crate::{
    error::{Error, Result},
    options::{Limit, Options},
    work::{File, Reply, Task, broke},
};

/// Of what a child says before it dies, this much is kept.
const LAST_WORDS: usize = 4096;
/// A dying child is waited for this long.
const BURIAL: Duration = Duration::from_secs(5);

/// The children of this process.
#[derive(Debug)]
pub(crate) struct Children {
    options: Arc<Options>,
    idle: Mutex<Vec<Child>>,
}

#[derive(Debug)]
struct Child {
    process: tokio::process::Child,
    requests: ChildStdin,
    answers: ChildStdout,
    last_words: Arc<Mutex<Vec<u8>>>,
    /// The content it has from the last request.
    holds: Option<String>,
    used: bool,
}

/// How an exchange failed.
enum Fault {
    Late,
    Died(std::io::Error),
}

impl Children {
    pub(crate) fn new(options: Arc<Options>) -> Self {
        Self {
            options,
            idle: Mutex::new(Vec::new()),
        }
    }

    /// Has a child do the task. The caller holds a place of the pool.
    pub(crate) async fn work(
        &self,
        task: Task,
        file: &File,
        cancel: &CancellationToken,
    ) -> Result<(Reply, Vec<Bytes>)> {
        let request = Request {
            task,
            filename: file.filename.clone(),
            kind: file.kind,
            key: file.key.clone(),
            options: (*self.options).clone(),
        };
        let mut child = self.take(file.key.as_deref())?;
        loop {
            let was_used = child.used;
            let outcome = tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(Error::Cancelled),
                outcome = self.exchange(&mut child, &request, file) => outcome,
            };
            match outcome {
                Ok((answer, blobs)) => {
                    if !answer.retire {
                        child.holds.clone_from(&file.key);
                        child.used = true;
                        self.idle.lock().push(child);
                    }
                    return answer.outcome.map(|reply| (reply, blobs));
                }
                // what the files before it left behind may be to blame
                Err(Fault::Died(why)) if was_used => {
                    tracing::debug!(%why, "a used child died, the file is tried with a new one");
                    child = self.spawn()?;
                }
                Err(fault) => return Err(self.verdict(fault, child, file).await),
            }
        }
    }

    /// An idle child, one that has the content before others.
    fn take(&self, key: Option<&str>) -> Result<Child> {
        let mut idle = self.idle.lock();
        let at = idle
            .iter()
            .position(|child| key.is_some() && child.holds.as_deref() == key)
            .or_else(|| idle.len().checked_sub(1));
        if let Some(at) = at {
            return Ok(idle.swap_remove(at));
        }
        drop(idle);
        self.spawn()
    }

    fn spawn(&self) -> Result<Child> {
        let program = self
            .options
            .isolation_program
            .clone()
            .map_or_else(own_program, Ok)?;
        let failed = |why: &dyn std::fmt::Display| {
            Error::internal(format!(
                "{} cannot be started as a child: {why}",
                program.display()
            ))
        };
        let mut process = Command::new(&program)
            .arg(CHILD_ARGUMENT)
            // no secret of this process is any business of a document
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|e| failed(&e))?;
        let (Some(requests), Some(answers), Some(stderr)) = (
            process.stdin.take(),
            process.stdout.take(),
            process.stderr.take(),
        ) else {
            return Err(failed(&"it has no pipes"));
        };
        let last_words = Arc::new(Mutex::new(Vec::new()));
        drop(tokio::spawn(listen(stderr, last_words.clone())));
        Ok(Child {
            process,
            requests,
            answers,
            last_words,
            holds: None,
            used: false,
        })
    }

    async fn exchange(
        &self,
        child: &mut Child,
        request: &Request,
        file: &File,
    ) -> std::result::Result<(Answer, Vec<Bytes>), Fault> {
        let has_it = file.key.is_some() && child.holds == file.key;
        let content = if has_it {
            Vec::new()
        } else {
            vec![file.content.clone()]
        };
        // what it unpacks to, and its own pictures and PDFs
        let most = self.options.max_expanded_bytes + 4 * self.options.max_page_pixels;
        let talk = async {
            frame::send(&mut child.requests, request, &content).await?;
            frame::receive(&mut child.answers, most).await
        };
        let allowed = Duration::from_secs(self.options.isolation_timeout_s);
        match tokio::time::timeout(allowed, talk).await {
            Err(_) => Err(Fault::Late),
            Ok(Err(why)) => Err(Fault::Died(why)),
            Ok(Ok(answer)) => Ok(answer),
        }
    }

    /// What the end of a child says about the file.
    async fn verdict(&self, fault: Fault, mut child: Child, file: &File) -> Error {
        let seconds = self.options.isolation_timeout_s;
        let memory = self.options.isolation_memory_bytes;
        let late = || Error::limit(&file.filename, Limit::Time, seconds, seconds);
        let why = match fault {
            Fault::Late => return late(),
            Fault::Died(why) => why,
        };
        let Ok(Ok(status)) = tokio::time::timeout(BURIAL, child.process.wait()).await else {
            // alive and talking nonsense: a fault of the program, not of the file
            return Error::internal(format!("a page child talks nonsense: {why}"));
        };
        let words = child.last_words.lock().clone();
        let words = String::from_utf8_lossy(&words);
        tracing::warn!(%status, file.name = %file.filename, "a page child died");
        let signal = status.signal();
        if signal == Some(libc::SIGXCPU) {
            return late();
        }
        if words.contains("memory allocation of") || signal == Some(libc::SIGKILL) {
            return Error::limit(&file.filename, Limit::Memory, memory, memory);
        }
        if signal.is_some() {
            return broke(file);
        }
        not_a_child(status)
    }
}

fn not_a_child(status: ExitStatus) -> Error {
    Error::internal(format!(
        "the program does not act as a page child ({status}): it must call child_main for {CHILD_ARGUMENT}"
    ))
}

/// This very program, even when the file was replaced meanwhile.
fn own_program() -> Result<PathBuf> {
    let link = Path::new("/proc/self/exe");
    if link.exists() {
        return Ok(link.to_owned());
    }
    std::env::current_exe().map_err(|e| Error::internal(format!("where this program is: {e}")))
}

async fn listen(mut stderr: ChildStderr, words: Arc<Mutex<Vec<u8>>>) {
    let mut piece = [0; 1024];
    while let Ok(got @ 1..) = stderr.read(&mut piece).await {
        let mut words = words.lock();
        words.extend_from_slice(&piece[..got]);
        let over = words.len().saturating_sub(LAST_WORDS);
        words.drain(..over);
    }
}
