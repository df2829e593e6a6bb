//! Fork, exec, signals.

use std::{
    process::{Command, Stdio},
    sync::atomic::{AtomicU32, Ordering::SeqCst},
    time::Duration,
};

use lockfn::LockFile;

use crate::{
    actor::{Actor, report, wait_for_go},
    core::{place, text},
};

/// The parts played by other processes.
pub(crate) fn act(role: &str, words: &[&str]) {
    match (role, words) {
        ("forks", [path]) => forks(&LockFile::at(path)),
        ("with-child", [path]) => {
            let _guard = LockFile::at(path).lock().unwrap();
            // Its input ends with us: it goes when we are killed, but not before.
            let mut child = Command::new("sh")
                .args(["-c", "trap '' TERM; cat >/dev/null; sleep 60"])
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            report(child.id());
            wait_for_go();
            child.kill().unwrap();
            child.wait().unwrap();
        }
        ("interrupted", [path]) => interrupted(&LockFile::at(path)),
        _ => panic!("no role {role}"),
    }
}

#[expect(
    unsafe_code,
    reason = "the child of fork only drops a guard, waits and ends"
)]
fn in_child(body: impl FnOnce()) -> i32 {
    // SAFETY: the child makes system calls on memory of its own and ends with _exit.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
            libc::_exit(i32::from(done.is_err()));
        }
        assert!(child > 0);
        child
    }
}

#[expect(unsafe_code, reason = "waits for a child of this process")]
fn reap(child: i32) -> i32 {
    let mut status = -1;
    // SAFETY: the status is ours to write.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    status
}

#[expect(unsafe_code, reason = "kills a process that a test started")]
fn kill(child: i32) {
    // SAFETY: plain system call.
    unsafe { libc::kill(child, libc::SIGKILL) };
}

#[expect(unsafe_code, reason = "a child that waits to be killed")]
fn wait_to_be_killed() {
    // SAFETY: plain system call.
    unsafe { libc::pause() };
}

fn forks(lock: &LockFile) {
    let mut guard = Some(lock.lock().unwrap());
    let child = in_child(|| drop(guard.take()));
    assert_eq!(reap(child), 0);
    report(format!(
        "child dropped it, held {}",
        lock.try_lock().unwrap().is_none()
    ));
    wait_for_go();
    let child = in_child(wait_to_be_killed);
    drop(guard.take());
    report(format!(
        "parent dropped it, free {}",
        lock.try_lock().unwrap().is_some()
    ));
    wait_for_go();
    kill(child);
    reap(child);
    // A child is a process of its own: it can take locks, wait for them, and its holds are its.
    let held = lock.lock().unwrap();
    let child = in_child(|| {
        let limit = Duration::from_millis(20);
        assert!(lock.try_lock().unwrap().is_none());
        assert!(lock.lock_within(limit).unwrap().is_none());
    });
    assert_eq!(reap(child), 0);
    drop(held);
    let child = in_child(|| {
        let guard = lock.try_lock().unwrap().unwrap();
        assert_eq!(lock.holder().unwrap().pid, std::process::id());
        drop(guard);
        assert!(!lock.is_held().unwrap());
    });
    assert_eq!(reap(child), 0);
    report(format!(
        "child's own hold, abandoned {}",
        lock.lock().unwrap().abandoned().is_some()
    ));
}

#[test]
fn a_forked_child_frees_nothing_and_keeps_nothing() {
    let (_dir, lock) = place();
    let mut actor = Actor::start("forks", &[&text(&lock)]);
    actor.expect("child dropped it, held true");
    // Somebody who waits by events, not in the kernel's queue, must hear of the release although
    // a child still has the descriptor.
    let waiter = std::thread::spawn({
        let lock = lock.clone();
        move || {
            drop(lock.lock_within(Duration::from_mins(1)).unwrap().unwrap());
        }
    });
    crate::core::until_waiting(&lock);
    actor.go_on();
    assert!(actor.hears().starts_with("parent dropped it"));
    waiter.join().unwrap();
    actor.go_on();
    actor.expect("child's own hold, abandoned false");
    actor.ends();
}

#[test]
fn a_program_started_in_the_hold_does_not_inherit_it() {
    let (_dir, lock) = place();
    let mut actor = Actor::start("with-child", &[&text(&lock)]);
    let child: i32 = actor.hears().parse().unwrap();
    assert!(lock.is_held().unwrap());
    actor.kill();
    // Not at once: the kernel lets a parent go on just before its child's exec closes what it
    // must not inherit.
    let limit = Duration::from_secs(10);
    assert!(lock.lock_within(limit).unwrap().is_some());
    kill(child);
}

static SIGNALS: AtomicU32 = AtomicU32::new(0);

extern "C" fn count_signal(_: i32) {
    SIGNALS.fetch_add(1, SeqCst);
}

#[expect(unsafe_code, reason = "a signal handler without SA_RESTART")]
fn interrupted(lock: &LockFile) {
    // SAFETY: the handler only adds to an atomic.
    let me = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = count_signal as *const () as usize;
        libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut());
        libc::pthread_self()
    };
    std::thread::scope(|scope| {
        scope.spawn(move || {
            crate::core::until_waiting(lock);
            while SIGNALS.load(SeqCst) < 20 {
                // SAFETY: the thread waits for this scope.
                unsafe { libc::pthread_kill(me, libc::SIGUSR1) };
                std::thread::yield_now();
            }
            report("interrupted");
        });
        drop(lock.lock().unwrap());
        report("entered");
    });
}

#[test]
fn a_signal_does_not_end_a_wait() {
    let (_dir, lock) = place();
    let guard = lock.lock().unwrap();
    let mut actor = Actor::start("interrupted", &[&text(&lock)]);
    actor.expect("interrupted");
    assert!(lock.is_held().unwrap());
    drop(guard);
    actor.expect("entered");
    actor.ends();
}
