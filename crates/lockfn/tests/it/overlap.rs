//! Attempts to get two bodies to overlap, or a lock to be lost or kept for ever: by file systems,
//! mounts, forks and cancelled waits. (Deletion and renaming: `deletion`. Prepared paths: `hostile`.
//! Fork, exec, signals: `fork`. Other users: `users`. SIGSTOP: `pauses`, `command`.)

use std::{
    fs,
    future::Future,
    os::unix::fs::PermissionsExt,
    path::Path,
    pin::pin,
    process::Command,
    task::{Context, Poll, Waker},
    time::Duration,
};

use lockfn::{LockDir, LockError, LockFile, lock_function};

use crate::{
    actor::{Actor, futures_lite, report, wait_for_go},
    core::{place, text},
};

/// The parts played by other processes.
pub(crate) fn act(role: &str, words: &[&str]) {
    match (role, words) {
        ("mounts", [what, dir]) => {
            // What is mounted from here on is seen by this process only.
            if !new_mount_namespace() {
                report("cannot");
                return;
            }
            match *what {
                "full" => full(Path::new(dir)),
                "read-only" => read_only(Path::new(dir)),
                "bound" => bound(Path::new(dir)),
                "covered" => covered(Path::new(dir)),
                "overlaid" => overlaid(Path::new(dir)),
                what => panic!("no part {what}"),
            }
        }
        ("forks-waiting", [path]) => forks_waiting(&LockFile::at(path)),
        _ => panic!("no role {role}"),
    }
}

#[expect(unsafe_code, reason = "unshare has no safe wrapper here")]
fn new_mount_namespace() -> bool {
    // SAFETY: touches no memory; this process is the actor's alone.
    (unsafe { libc::unshare(libc::CLONE_NEWNS) }) == 0 && mount(&["--make-rprivate", "/"])
}

fn mount(words: &[&str]) -> bool {
    Command::new("mount")
        .args(words)
        .status()
        .is_ok_and(|status| status.success())
}

fn try_it(lock: &LockFile) -> &'static str {
    match lock.try_lock() {
        Ok(Some(_)) => "taken",
        Ok(None) => "busy",
        Err(LockError::Io { .. }) => "error",
        Err(_) => "another error",
    }
}

/// Plays a part in a mount namespace of its own; needs root.
fn in_own_mounts(what: &str, dir: &Path, then: impl FnOnce(&mut Actor)) {
    let mut actor = Actor::start("mounts", &[what, dir.to_str().unwrap()]);
    let first = actor.hears();
    if first == "cannot" {
        eprintln!("mounts can only be made by root: not run");
    } else {
        assert_eq!(first, "mounted");
        then(&mut actor);
    }
    actor.ends();
}

fn full(dir: &Path) {
    assert!(mount(&[
        "-t",
        "tmpfs",
        "-o",
        "size=16k,nr_inodes=4",
        "none",
        dir.to_str().unwrap()
    ]));
    report("mounted");
    let lock = LockFile::at(dir.join("it.lock"));
    fs::write(lock.path(), "").unwrap();
    let filler = fs::File::create(dir.join("filler")).unwrap();
    while std::io::Write::write_all(&mut &filler, &[1; 512]).is_ok() {}
    // No room for a record, and none for another file: the one lock works, the other is an error.
    let guard = lock.try_lock().unwrap().unwrap();
    report(format!("{} {}", try_it(&lock), lock.is_held().unwrap()));
    drop(guard);
    report(try_it(&lock));
    while fs::write(dir.join(format!("more-{}", another_number())), "").is_ok() {}
    report(try_it(&LockFile::at(dir.join("new.lock"))));
}

/// A number not used before.
fn another_number() -> usize {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    NEXT.fetch_add(1, SeqCst)
}

#[test]
fn on_a_full_file_system_locks_exclude_or_are_errors() {
    let dir = tempfile::tempdir().unwrap();
    in_own_mounts("full", dir.path(), |actor| {
        actor.expect("busy true");
        actor.expect("taken");
        actor.expect("error");
    });
}

fn read_only(dir: &Path) {
    let dir_text = dir.to_str().unwrap();
    assert!(mount(&["--bind", dir_text, dir_text]));
    assert!(mount(&["-o", "remount,bind,ro", dir_text]));
    report("mounted");
    report(try_it(&LockFile::at(dir.join("it.lock"))));
    report(try_it(&LockFile::at(dir.join("new.lock"))));
    report(LockFile::at(dir.join("new.lock")).lock().is_err());
}

#[test]
fn on_a_read_only_file_system_a_lock_is_an_error_and_nothing_else() {
    let (dir, lock) = place();
    let guard = lock.lock().unwrap();
    in_own_mounts("read-only", dir.path(), |actor| {
        actor.expect("error");
        actor.expect("error");
        actor.expect("true");
    });
    assert!(guard.is_current());
}

fn bound(dir: &Path) {
    let again = dir.join("again");
    fs::create_dir(&again).unwrap();
    assert!(mount(&[
        "--bind",
        dir.to_str().unwrap(),
        again.to_str().unwrap()
    ]));
    report("mounted");
    let lock = LockFile::at(again.join("it.lock"));
    report(try_it(&lock));
    wait_for_go();
    let _guard = lock.lock().unwrap();
    report("entered");
    wait_for_go();
}

#[test]
fn two_paths_to_one_file_by_a_bind_mount_are_one_lock() {
    let (dir, lock) = place();
    let guard = lock.lock().unwrap();
    in_own_mounts("bound", dir.path(), |actor| {
        actor.expect("busy");
        drop(guard);
        actor.go_on();
        actor.expect("entered");
        assert!(lock.try_lock().unwrap().is_none());
        actor.go_on();
    });
}

fn covered(dir: &Path) {
    let lock = LockFile::at(dir.join("it.lock"));
    let guard = lock.try_lock().unwrap().unwrap();
    assert!(mount(&["-t", "tmpfs", "none", dir.to_str().unwrap()]));
    report("mounted");
    // As if it had been deleted: nobody can keep a newcomer out, but the holder can tell.
    report(guard.is_current());
    let newcomer = LockFile::at(lock.path()).try_lock().unwrap().unwrap();
    report(newcomer.is_current());
}

#[test]
fn a_holder_can_tell_that_something_was_mounted_over_its_file() {
    let dir = tempfile::tempdir().unwrap();
    in_own_mounts("covered", dir.path(), |actor| {
        actor.expect("false");
        actor.expect("true");
    });
}

fn overlaid(dir: &Path) {
    let at = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    for name in ["lower", "space", "merged"] {
        fs::create_dir(dir.join(name)).unwrap();
    }
    // upper and work must be on a file system that can be written to in this way: not on overlayfs.
    assert!(mount(&["-t", "tmpfs", "none", &at("space")]));
    for name in ["space/upper", "space/work"] {
        fs::create_dir(dir.join(name)).unwrap();
    }
    fs::write(dir.join("lower/it.lock"), "").unwrap();
    let layers = format!(
        "lowerdir={},upperdir={},workdir={}",
        at("lower"),
        at("space/upper"),
        at("space/work")
    );
    if !mount(&["-t", "overlay", "-o", &layers, "none", &at("merged")]) {
        report("cannot");
        return;
    }
    report("mounted");
    // The first one to open it for writing has it copied up from the image.
    let lock = LockFile::at(dir.join("merged/it.lock"));
    let guard = lock.try_lock().unwrap().unwrap();
    report(try_it(&LockFile::at(lock.path())));
    report(guard.is_current());
}

#[test]
fn a_lock_file_that_comes_from_a_containers_image_is_one_lock() {
    let dir = tempfile::tempdir().unwrap();
    in_own_mounts("overlaid", dir.path(), |actor| {
        actor.expect("busy");
        actor.expect("true");
    });
}

#[test]
fn a_directory_replaced_between_two_holds_is_noticed_at_once() {
    for record in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let (inner, moved) = (dir.path().join("inner"), dir.path().join("moved"));
        fs::create_dir(&inner).unwrap();
        let lock = LockFile::at(inner.join("it.lock")).holder_record(record);
        for round in 0..20 {
            drop(lock.lock().unwrap());
            fs::rename(&inner, &moved).unwrap();
            fs::create_dir(&inner).unwrap();
            let guard = lock.try_lock().unwrap().unwrap();
            assert!(guard.is_current(), "record {record}, round {round}");
            assert!(LockFile::at(lock.path()).try_lock().unwrap().is_none());
            drop(guard);
            fs::remove_dir_all(&moved).unwrap();
        }
    }
}

#[test]
fn a_lock_held_in_a_directory_that_was_moved_away_makes_nobody_give_up() {
    let dir = tempfile::tempdir().unwrap();
    let (inner, moved) = (dir.path().join("inner"), dir.path().join("moved"));
    fs::create_dir(&inner).unwrap();
    let lock = LockFile::at(inner.join("it.lock"));
    let old = lock.lock().unwrap();
    fs::rename(&inner, &moved).unwrap();
    fs::create_dir(&inner).unwrap();
    let new = lock.try_lock().unwrap().unwrap();
    assert!(new.is_current() && !old.is_current());
}

#[test]
fn a_directory_that_may_not_be_written_to_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let locks = LockDir::private(dir.path().join("locks")).unwrap();
    let held = locks.lock("held");
    let guard = held.lock().unwrap();
    fs::set_permissions(locks.path(), fs::Permissions::from_mode(0o500)).unwrap();
    assert!(held.try_lock().unwrap().is_none());
    // Root may write all the same.
    let new = locks.lock("new").try_lock();
    assert!(
        matches!(new, Ok(Some(_)) | Err(LockError::Io { .. })),
        "{new:?}"
    );
    fs::set_permissions(locks.path(), fs::Permissions::from_mode(0o700)).unwrap();
    assert!(guard.is_current());
}

#[expect(unsafe_code, reason = "the child of fork only drops a future and ends")]
fn forks_waiting(lock: &LockFile) {
    let mut waiting = Box::pin(lock.lock_async());
    let mut cx = Context::from_waker(Waker::noop());
    assert!(waiting.as_mut().poll(&mut cx).is_pending());
    // SAFETY: the child makes system calls on memory of its own and ends with _exit.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            drop(waiting);
            libc::_exit(0);
        }
        let mut status = -1;
        libc::waitpid(child, &raw mut status, 0);
        assert_eq!(status, 0);
    }
    // The looks that follow an event are over after 2 s: from then on only news will do.
    crate::modes::pace(Duration::from_millis(2500));
    report("forked");
    drop(futures_lite(waiting).unwrap());
    report("entered");
}

#[test]
fn a_forked_child_takes_no_news_away_from_a_waiter() {
    let (_dir, lock) = place();
    let guard = lock.lock().unwrap();
    let mut actor = Actor::start("forks-waiting", &[&text(&lock)]);
    actor.expect("forked");
    assert!(crate::core::waits(&lock, actor.id()), "its watch is gone");
    drop(guard);
    actor.expect("entered");
    actor.ends();
}

#[lock_function(mode = "wait", path = path, delay = "1ms", cooldown = "1ms")]
async fn paced(path: &Path) -> Result<(), LockError> {
    two_steps().await;
    Ok(())
}

#[lock_function(mode = "skip", path = path, delay = "1ms")]
async fn skipping(path: &Path) -> Result<Option<()>, LockError> {
    two_steps().await;
    Ok(Some(()))
}

async fn two_steps() {
    let mut polled = false;
    std::future::poll_fn(|cx| {
        if std::mem::replace(&mut polled, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Polls at most so many times, lets go of the holder's guard in the middle, then drops the future;
/// says whether it had ended.
fn dropped_after(polls: usize, mut guard: Option<lockfn::LockGuard>, call: impl Future) -> bool {
    let mut call = pin!(call);
    let mut cx = Context::from_waker(Waker::noop());
    for poll in 0..polls {
        if poll == polls / 2 {
            guard = None;
        }
        if call.as_mut().poll(&mut cx).is_ready() {
            return true;
        }
        crate::modes::pace(Duration::from_micros(300));
    }
    drop(guard);
    false
}

#[test]
fn a_call_cancelled_at_any_point_leaves_the_lock_free() {
    let (_dir, lock) = place();
    let (mut ended, mut cancelled) = (0, 0);
    for contended in [false, true] {
        for polls in 1..40 {
            for which in 0..3 {
                let guard = contended.then(|| lock.lock().unwrap());
                let over = match which {
                    0 => dropped_after(polls, guard, paced(lock.path())),
                    1 => dropped_after(polls, guard, skipping(lock.path())),
                    _ => dropped_after(polls, guard, lock.lock_async()),
                };
                *(if over { &mut ended } else { &mut cancelled }) += 1;
                // A listener may just be trying on the behalf of one who has gone; not longer.
                let again = lock.lock_within(Duration::from_mins(1)).unwrap();
                assert!(again.is_some(), "{which} after {polls} polls");
            }
        }
    }
    assert!(
        ended > 0 && cancelled > 0,
        "{ended} ended, {cancelled} cancelled"
    );
    assert!(!lock.is_held().unwrap());
}

#[test]
fn a_wait_cancelled_at_the_moment_of_the_release_keeps_nothing() {
    let (_dir, lock) = place();
    for round in 0..300 {
        let guard = lock.lock().unwrap();
        let mut waiting = Box::pin(lock.lock_async());
        let mut cx = Context::from_waker(Waker::noop());
        assert!(waiting.as_mut().poll(&mut cx).is_pending());
        drop(guard);
        for _ in 0..round * 10 {
            std::hint::spin_loop();
        }
        drop(waiting);
        let free = lock.lock_within(Duration::from_mins(1)).unwrap();
        assert!(free.is_some(), "round {round}");
    }
}
