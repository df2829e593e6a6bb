//! Other processes: this test program, started again to play a role.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    time::{Duration, Instant},
};

use lockfn::{Kind, LockFile, LockGuard, Wait};

/// A process that plays a role and reports line by line.
pub(crate) struct Actor {
    child: Child,
    input: Option<ChildStdin>,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Actor {
    /// Starts `role` with its words.
    pub(crate) fn start(role: &str, words: &[&str]) -> Self {
        Self::start_as(Command::new(std::env::current_exe().unwrap()), role, words)
    }

    pub(crate) fn start_as(mut program: Command, role: &str, words: &[&str]) -> Self {
        let mut child = program
            .args([
                "actor::plays_its_role",
                "--exact",
                "--nocapture",
                "--test-threads=1",
            ])
            .env("LOCKFN_TEST_ROLE", role)
            .env("LOCKFN_TEST_WORDS", words.join("\u{1f}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self {
            child,
            input,
            lines,
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The next report.
    pub(crate) fn hears(&mut self) -> String {
        loop {
            let line = self
                .lines
                .next()
                .expect("the actor ended without a report")
                .unwrap();
            if let Some((_, report)) = line.split_once("report: ") {
                return report.to_owned();
            }
        }
    }

    pub(crate) fn expect(&mut self, report: &str) {
        assert_eq!(self.hears(), report);
    }

    /// Lets it go on.
    pub(crate) fn go_on(&mut self) {
        writeln!(self.input.as_mut().unwrap()).unwrap();
    }

    /// Stops it (SIGSTOP) and returns when all its threads have stopped: one after the other they
    /// do, and one that waits in the kernel could get its lock until then.
    pub(crate) fn stop(&self) {
        self.signal(libc::SIGSTOP);
        let has_stopped = |thread: std::io::Result<std::fs::DirEntry>| {
            std::fs::read_to_string(thread.unwrap().path().join("stat"))
                .unwrap()
                .contains(") T ")
        };
        while !std::fs::read_dir(format!("/proc/{}/task", self.id()))
            .unwrap()
            .all(has_stopped)
        {
            std::thread::yield_now();
        }
    }

    /// Lets a stopped one go on.
    pub(crate) fn resume(&self) {
        self.signal(libc::SIGCONT);
    }

    #[expect(unsafe_code, reason = "kill has no safe wrapper here")]
    fn signal(&self, signal: i32) {
        // SAFETY: touches no memory; the child has not been waited for, so the number is its own.
        assert_eq!(unsafe { libc::kill(self.id() as i32, signal) }, 0);
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn ends(mut self) {
        drop(self.input.take());
        assert!(self.child.wait().unwrap().success());
    }
}

pub(crate) fn report(text: impl std::fmt::Display) {
    // A new line first: the harness writes on it too.
    println!("\nreport: {text}");
}

/// Waits until the test says so (or has gone).
pub(crate) fn wait_for_go() {
    std::io::stdin()
        .lock()
        .read_line(&mut String::new())
        .unwrap();
}

#[test]
fn plays_its_role() {
    let Ok(role) = std::env::var("LOCKFN_TEST_ROLE") else {
        return;
    };
    let words = std::env::var("LOCKFN_TEST_WORDS").unwrap();
    let words: Vec<&str> = words.split('\u{1f}').collect();
    match (role.as_str(), words.as_slice()) {
        ("hold", [path]) => {
            let guard = LockFile::at(path).lock().unwrap();
            report(format!(
                "holding {} abandoned {}",
                guard.token(),
                guard.abandoned().is_some()
            ));
            wait_for_go();
            drop(guard);
            report("released");
            wait_for_go();
        }
        ("try", [path]) => report(LockFile::at(path).try_lock().unwrap().is_some()),
        ("wait", [path]) => {
            report("waiting");
            let start = Instant::now();
            let guard = LockFile::at(path).lock().unwrap();
            report(format!("holding contended {}", guard.contended()));
            wait_for_go();
            drop(guard);
            report(start.elapsed().as_millis());
        }
        ("take", [how, path]) => {
            drop(take(how, &LockFile::at(path)));
            report("done");
        }
        ("count", [how, path, counter, times]) => {
            let longest = (0..times.parse().unwrap())
                .map(|_| count(how, Path::new(path), Path::new(counter)))
                .max();
            report(longest.unwrap().as_millis());
        }
        // Runs a function's body until the test says so.
        ("call", [dir, which, id, time]) => {
            crate::calls::share_locks(Path::new(dir));
            let time = Duration::from_millis(time.parse().unwrap());
            let outcome = crate::calls::call(which, id, time, &mut || {
                report("in the body");
                wait_for_go();
            });
            report(match outcome {
                Ok(outcome) if outcome.is_skipped() => "skipped".to_owned(),
                Ok(_) => "ran".to_owned(),
                Err(error) => error.to_string(),
            });
        }
        ("interrupted" | "with-child" | "forks", _) => crate::fork::act(&role, &words),
        ("no-flock" | "no-create" | "no-record" | "no-record-pause" | "no-inotify", _) => {
            crate::kernel::act(&role, &words);
        }
        ("greedy", _) => crate::fair::act(&words),
        ("mounts" | "forks-waiting", _) => crate::overlap::act(&role, &words),
        ("another-user", _) => crate::users::act(&words),
        (role, _) => panic!("no role {role}"),
    }
}

/// Adds one to the counter, and says how long it waited for that.
fn count(how: &str, path: &Path, counter: &Path) -> Duration {
    let asked = Instant::now();
    let guard = take(how, &LockFile::at(path));
    let waited = asked.elapsed();
    let value: u64 = std::fs::read_to_string(counter).unwrap().parse().unwrap();
    std::fs::write(counter, (value + 1).to_string()).unwrap();
    drop(guard);
    waited
}

/// Far longer than a wait that ends by itself. A minute was once not enough: a caller that came back
/// at once could keep the others out for as long as it liked (see `fair`). Now eight processes take
/// turns of 10 ms; with two processors and eleven threads that want one the longest wait was 2.8 s.
const FAR_TOO_LONG: Duration = Duration::from_mins(1);

pub(crate) fn take(how: &str, lock: &LockFile) -> LockGuard {
    match how {
        "sync" => lock.lock().unwrap(),
        "timed" => lock.lock_within(FAR_TOO_LONG).unwrap().unwrap(),
        "async" => futures_lite(lock.lock_async()).unwrap(),
        "shared-then" => {
            drop(lock.acquire(Kind::Shared, Wait::Forever).unwrap().unwrap());
            lock.lock().unwrap()
        }
        how => panic!("no way {how}"),
    }
}

/// An executor that is not tokio.
pub(crate) fn futures_lite<F: std::future::Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = std::sync::Arc::new(Unpark(std::thread::current())).into();
    let mut future = std::pin::pin!(future);
    loop {
        match future
            .as_mut()
            .poll(&mut std::task::Context::from_waker(&waker))
        {
            std::task::Poll::Ready(output) => return output,
            std::task::Poll::Pending => std::thread::park(),
        }
    }
}
