//! The command.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Output, Stdio},
};

use lockfn::{LockDir, State};

fn lockfn(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockfn"));
    command.env("LOCKFN_DIR", dir.join("locks"));
    command
}

fn run(dir: &Path, arguments: &[&str]) -> Output {
    lockfn(dir).args(arguments).output().unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Runs `arguments -- sh -c 'echo started $$; cat'`: until its input ends, or it is killed.
struct Holder {
    wrapper: Child,
    command: u32,
}

impl Holder {
    fn start(dir: &Path, arguments: &[&str]) -> Self {
        Self::running(dir, arguments, "echo $$; cat >/dev/null")
    }

    fn running(dir: &Path, arguments: &[&str], script: &str) -> Self {
        let mut wrapper = lockfn(dir)
            .args(arguments)
            .args(["--", "sh", "-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(wrapper.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        Self {
            wrapper,
            command: line.trim().parse().unwrap(),
        }
    }

    fn end(mut self) -> i32 {
        drop(self.wrapper.stdin.take());
        self.wrapper.wait().unwrap().code().unwrap()
    }
}

#[expect(unsafe_code, reason = "kills a process that the test started")]
fn kill(pid: u32, signal: i32) {
    // SAFETY: plain system call.
    assert_eq!(unsafe { libc::kill(pid as i32, signal) }, 0);
}

#[test]
fn the_exit_code_is_the_commands_or_says_why_it_did_not_run() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    for (arguments, expected) in [
        (&["-n", "a", "--", "true"][..], 0),
        (&["-n", "a", "--", "sh", "-c", "exit 7"], 7),
        (&["-n", "a", "--", "sh", "-c", "kill -TERM $$"], 128 + 15),
        (&["run", "-n", "a", "-k", "key", "--", "true"], 0),
        (&["-n", "a", "--exec", "--", "sh", "-c", "exit 9"], 9),
        (&["-n", "a", "--no-inherit", "--", "true"], 0),
        (&["-n", "a", "--", "no-such-command-anywhere"], 127),
        (&["-n", "a", "--", "/"], 126),
        (
            &["-n", "a", "--exec", "--", "no-such-command-anywhere"],
            127,
        ),
        (
            &["-n", "a", "--cooldown", "3600", "--skip", "--", "true"],
            75,
        ),
        (&["-f", "/no/such/dir/lock", "--", "true"], 71),
        (&["-f", "/dev/null", "--", "true"], 71),
        (&["--help"], 0),
        (&["--version"], 0),
        (&[], 64),
        (&["-n", "a"], 64),
        (&["-n", "a", "true"], 64),
        (&["-n", "", "--", "true"], 64),
        (&["-n", "a", "-f", "b", "--", "true"], 64),
        (&["-f", "b", "-k", "x", "--", "true"], 64),
        (&["-n", "a", "--skip", "--wait", "--", "true"], 64),
        (&["-n", "a", "--try", "--delay", "1", "--", "true"], 64),
        (&["-n", "a", "--skip", "--timeout", "1", "--", "true"], 64),
        (&["-n", "a", "--delay", "-1", "--", "true"], 64),
        (&["-n", "a", "--delay", "nan", "--", "true"], 64),
        (&["-n", "a", "-E", "256", "--", "true"], 64),
        (&["-n", "a", "--frob", "--", "true"], 64),
        (&["frob"], 64),
        (&["ls", "-n", "a"], 64),
        (&["status"], 64),
    ] {
        let output = run(dir, arguments);
        assert_eq!(code(&output), expected, "{arguments:?}: {}", err(&output));
        let explains = matches!(expected, 64 | 71 | 126 | 127);
        assert_eq!(
            !err(&output).is_empty(),
            explains,
            "{arguments:?}: {}",
            err(&output)
        );
    }
}

#[test]
fn a_busy_lock_is_skipped_tried_or_waited_for_and_the_holder_named() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let holder = Holder::start(dir, &["-n", "demo"]);
    let named = format!("held by pid {}", holder.wrapper.id());
    let skipped = run(dir, &["-n", "demo", "--skip", "--", "true"]);
    assert_eq!((code(&skipped), err(&skipped).as_str()), (75, ""));
    let verbose = run(dir, &["-n", "demo", "--skip", "-v", "--", "true"]);
    assert_eq!(code(&verbose), 75);
    assert!(
        err(&verbose).contains(&named) && err(&verbose).contains("sh -c echo"),
        "{}",
        err(&verbose)
    );
    let tried = run(dir, &["-n", "demo", "--try", "--", "true"]);
    assert!(
        code(&tried) == 75 && err(&tried).contains(&named),
        "{}",
        err(&tried)
    );
    let late = run(
        dir,
        &["-n", "demo", "--timeout", "0.05", "-v", "--", "true"],
    );
    assert!(
        code(&late) == 75 && err(&late).contains("gave up on lock `demo`"),
        "{}",
        err(&late)
    );
    assert_eq!(
        code(&run(
            dir,
            &["-n", "demo", "--skip", "-E", "3", "--", "true"]
        )),
        3
    );
    // Another key and another name are free.
    assert_eq!(
        code(&run(dir, &["-n", "demo", "-k", "1", "--try", "--", "true"])),
        0
    );
    assert_eq!(code(&run(dir, &["-n", "other", "--try", "--", "true"])), 0);
    let status = run(dir, &["status", "-n", "demo"]);
    assert!(code(&status) == 75 && String::from_utf8_lossy(&status.stdout).contains(&named));

    let waiter = lockfn(dir)
        .args(["-n", "demo", "--wait", "-v", "--", "echo", "ran"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    let mut waiter = waiter;
    BufReader::new(waiter.stderr.as_mut().unwrap())
        .read_line(&mut said)
        .unwrap();
    assert!(
        said.contains("waiting for lock `demo`") && said.contains(&named),
        "{said}"
    );
    assert_eq!(holder.end(), 0);
    let output = waiter.wait_with_output().unwrap();
    assert_eq!(output.stdout, b"ran\n");
    let status = run(dir, &["status", "-n", "demo"]);
    assert_eq!(code(&status), 0);
    assert!(String::from_utf8_lossy(&status.stdout).starts_with("demo: free, last held by pid"));
}

#[test]
fn a_skipped_command_with_a_delay_pauses_after_the_holders_end() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let holder = Holder::start(dir, &["-n", "demo"]);
    let skipping = lockfn(dir)
        .args(["-n", "demo", "--skip", "--delay", "0.3", "--", "false"])
        .spawn()
        .unwrap();
    let lock = LockDir::private(dir.join("locks")).unwrap().lock("demo");
    until_watched_by(skipping.id());
    assert_eq!(holder.end(), 0);
    let ended = lock.last_holder().unwrap().ended_ms;
    let status = skipping.wait_with_output().unwrap().status;
    let now = std::time::SystemTime::UNIX_EPOCH
        .elapsed()
        .unwrap()
        .as_millis() as u64;
    assert_eq!(status.code(), Some(75));
    assert!(now >= ended + 299, "left {} ms after the end", now - ended);
}

fn until_watched_by(pid: u32) {
    let watches = |entry: std::io::Result<fs::DirEntry>| {
        entry
            .ok()
            .and_then(|entry| fs::read_to_string(entry.path()).ok())
            .is_some_and(|info| info.lines().any(|line| line.starts_with("inotify wd")))
    };
    while !fs::read_dir(format!("/proc/{pid}/fdinfo"))
        .unwrap()
        .any(watches)
    {
        std::thread::yield_now();
    }
}

#[test]
fn killing_the_wrapper_does_not_free_the_lock_under_a_running_command() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut holder = Holder::start(dir, &["-n", "demo"]);
    let input = holder.wrapper.stdin.take();
    holder.wrapper.kill().unwrap();
    holder.wrapper.wait().unwrap();
    assert_eq!(code(&run(dir, &["-n", "demo", "--skip", "--", "true"])), 75);
    // Until the command has ended: then at once, and the next one is told.
    let waiter = lockfn(dir)
        .args(["-n", "demo", "--", "sh", "-c", "echo $LOCKFN_ABANDONED"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(input);
    let output = waiter.wait_with_output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout).trim(),
        holder.wrapper.id().to_string()
    );
    assert!(
        err(&output).contains("died in its work"),
        "{}",
        err(&output)
    );
    assert_eq!(err(&run(dir, &["-n", "demo", "--", "true"])), "");
}

#[test]
fn a_daemon_left_behind_does_not_keep_the_lock() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let script = "sleep 300 >/dev/null 2>&1 </dev/null & echo $!";
    let output = run(dir, &["-n", "demo", "--", "sh", "-c", script]);
    let daemon: u32 = String::from_utf8_lossy(&output.stdout)
        .trim()
        .parse()
        .unwrap();
    assert_eq!(code(&run(dir, &["-n", "demo", "--try", "--", "true"])), 0);
    kill(daemon, libc::SIGKILL);
}

#[test]
fn without_inheriting_a_killed_wrapper_frees_the_lock() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut holder = Holder::start(dir, &["-n", "demo", "--no-inherit"]);
    let _input = holder.wrapper.stdin.take();
    holder.wrapper.kill().unwrap();
    holder.wrapper.wait().unwrap();
    assert_eq!(code(&run(dir, &["-n", "demo", "--try", "--", "true"])), 0);
}

#[test]
fn an_exec_leaves_one_process_that_holds_the_lock_and_its_end_is_no_death() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let holder = Holder::start(dir, &["-n", "demo", "--exec"]);
    assert_eq!(holder.command, holder.wrapper.id());
    assert_eq!(code(&run(dir, &["-n", "demo", "--skip", "--", "true"])), 75);
    assert_eq!(holder.end(), 0);
    let output = run(dir, &["-n", "demo", "--try", "--", "true"]);
    assert_eq!((code(&output), err(&output).as_str()), (0, ""));
}

#[test]
fn a_stopped_holder_keeps_the_lock() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let holder = Holder::start(dir, &["-n", "demo"]);
    for pid in [holder.wrapper.id(), holder.command] {
        kill(pid, libc::SIGSTOP);
    }
    assert_eq!(
        code(&run(dir, &["-n", "demo", "--timeout", "0.2", "--", "true"])),
        75
    );
    for pid in [holder.wrapper.id(), holder.command] {
        kill(pid, libc::SIGCONT);
    }
    assert_eq!(holder.end(), 0);
    assert_eq!(code(&run(dir, &["-n", "demo", "--try", "--", "true"])), 0);
}

#[test]
fn the_command_shares_the_lock_of_the_library_and_passes_the_token_on() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let lock = LockDir::private(dir.join("locks"))
        .unwrap()
        .keyed("demo", "k");
    let guard = lock.lock().unwrap();
    assert_eq!(
        code(&run(
            dir,
            &["-n", "demo", "-k", "k", "--skip", "--", "true"]
        )),
        75
    );
    let token = guard.token();
    drop(guard);
    let output = run(
        dir,
        &[
            "-n",
            "demo",
            "-k",
            "k",
            "--",
            "sh",
            "-c",
            "echo $LOCKFN_TOKEN",
        ],
    );
    assert_eq!(
        String::from_utf8_lossy(&output.stdout).trim(),
        (token + 1).to_string()
    );
    assert_eq!(lock.last_holder().unwrap().state, State::Done);
}

#[test]
fn eight_processes_count_in_the_shell_without_losing_one() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let counter = dir.join("counter");
    fs::write(&counter, "0").unwrap();
    let add = format!("n=$(cat {0}); echo $((n+1)) > {0}", counter.display());
    let script = format!(
        "for i in 1 2 3 4 5 6 7 8 9 10; do {} -n count -- sh -c '{add}' || exit 1; done",
        env!("CARGO_BIN_EXE_lockfn")
    );
    let processes: Vec<_> = (0..8)
        .map(|_| {
            Command::new("sh")
                .args(["-c", &script])
                .env("LOCKFN_DIR", dir.join("locks"))
                .spawn()
                .unwrap()
        })
        .collect();
    for mut process in processes {
        assert!(process.wait().unwrap().success());
    }
    assert_eq!(fs::read_to_string(&counter).unwrap().trim(), "80");
}

#[test]
fn ls_names_all_locks_and_gc_removes_only_unused_ones() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let holder = Holder::start(dir, &["-n", "held one"]);
    run(dir, &["-n", "free", "-k", "42", "--", "true"]);
    let mut died = Holder::running(dir, &["-n", "died"], "echo $$; exec cat >/dev/null");
    died.wrapper.kill().unwrap();
    died.wrapper.wait().unwrap();
    kill(died.command, libc::SIGKILL);
    let lock = LockDir::private(dir.join("locks")).unwrap().lock("died");
    while lock.is_held().unwrap() {
        std::thread::yield_now();
    }
    // Cleaners and people may leave other files.
    fs::write(dir.join("locks/README"), "").unwrap();
    let listed = String::from_utf8(run(dir, &["ls"]).stdout).unwrap();
    let line = |name: &str| {
        listed
            .lines()
            .find(|line| line.contains(name))
            .unwrap()
            .to_owned()
    };
    assert_eq!(listed.lines().count(), 4, "{listed}");
    assert!(line("held one").starts_with("held"));
    assert!(line("free@42").starts_with("free"));
    assert!(line("  died  ").starts_with("died"), "{listed}");
    assert_eq!(run(dir, &["gc"]).stdout, b"removed 0, kept 3\n");
    assert_eq!(
        run(dir, &["gc", "--older-than", "0"]).stdout,
        b"removed 2, kept 1\n"
    );
    assert_eq!(
        code(&run(dir, &["-n", "held one", "--skip", "--", "true"])),
        75
    );
    assert_eq!(holder.end(), 0);
}

#[test]
fn doctor_finds_a_healthy_directory_healthy_and_an_open_one_bad() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    run(dir, &["-n", "a", "--", "true"]);
    let healthy = run(dir, &["doctor"]);
    let text = String::from_utf8(healthy.stdout.clone()).unwrap();
    assert_eq!(code(&healthy), 0, "{text}");
    assert!(
        text.contains("locks: they exclude") && text.contains("files: 1 locks, 0 held"),
        "{text}"
    );
    fs::set_permissions(dir.join("locks"), fs::Permissions::from_mode(0o777)).unwrap();
    let open = run(dir, &["doctor"]);
    let text = String::from_utf8(open.stdout.clone()).unwrap();
    assert_eq!(code(&open), 71);
    assert!(
        text.contains("BAD") && text.contains("others can write to it"),
        "{text}"
    );
}

#[test]
fn help_is_complete() {
    let dir = tempfile::tempdir().unwrap();
    let help = String::from_utf8(run(dir.path(), &["--help"]).stdout).unwrap();
    for section in [
        "NAME",
        "SYNOPSIS",
        "EXIT STATUS",
        "ENVIRONMENT",
        "FILES",
        "EXAMPLES",
        "LIMITS",
    ] {
        assert!(
            help.contains(&format!("\n{section}\n")) || help.starts_with(section),
            "{section}"
        );
    }
    assert!(help.lines().all(|line| line.len() <= 80));
}

#[test]
fn a_reader_who_has_gone_is_no_error() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = lockfn(dir.path())
        .arg("--help")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}
