//! Two users on one host do not break each other. Needs root, who can be both.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use lockfn::{LockDir, LockError, LockFile};

use crate::actor::{Actor, report, wait_for_go};

const NOBODY: u32 = 65534;

/// The part played by another user, with a umask of its own.
#[expect(unsafe_code, reason = "setuid and umask of the whole process")]
pub(crate) fn act(words: &[&str]) {
    let [what, path] = words else {
        panic!("no such part")
    };
    // SAFETY: plain system calls of a process that is ours alone.
    unsafe {
        libc::umask(0o077);
        assert_eq!(libc::setgroups(0, std::ptr::null()), 0);
        assert_eq!(libc::setgid(NOBODY), 0);
        assert_eq!(libc::setuid(NOBODY), 0);
    }
    match *what {
        "default" => report(LockDir::user_default_path(None).display()),
        "shared" => {
            let lock = LockDir::shared(path).unwrap().lock("x");
            let guard = lock.try_lock().unwrap();
            report(format!("holding {}", guard.is_some()));
            wait_for_go();
            drop(guard);
            report("released");
            wait_for_go();
        }
        "private" => report(explain(&LockDir::private(path).map(drop))),
        "at" => report(explain(&LockFile::at(path).try_lock().map(drop))),
        "make" => {
            drop(LockDir::private(path).unwrap().lock("x").lock().unwrap());
            report("made");
        }
        what => panic!("no part {what}"),
    }
}

fn explain(result: &Result<(), LockError>) -> &'static str {
    match result {
        Ok(()) => "taken",
        Err(LockError::Insecure { .. }) => "insecure",
        Err(LockError::Io { .. }) => "no access",
        Err(_) => "something else",
    }
}

fn is_root() -> bool {
    let root = rustix_euid() == 0;
    if !root {
        eprintln!("two users can only be played by root: not run");
    }
    root
}

#[expect(unsafe_code, reason = "geteuid")]
fn rustix_euid() -> u32 {
    // SAFETY: always succeeds.
    unsafe { libc::geteuid() }
}

/// A directory that everybody can reach.
fn reachable() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    dir
}

fn another(what: &str, path: &Path) -> Actor {
    Actor::start("another-user", &[what, path.to_str().unwrap()])
}

#[test]
fn each_user_has_a_directory_of_its_own() {
    if !is_root() {
        return;
    }
    let mut actor = another("default", Path::new("-"));
    let theirs = actor.hears();
    assert_eq!(theirs, format!("/tmp/lockfn-{NOBODY}"));
    assert_ne!(theirs, LockDir::user_default_path(None).to_str().unwrap());
    actor.ends();
}

#[test]
fn another_users_directory_and_files_are_refused() {
    if !is_root() {
        return;
    }
    let dir = reachable();
    let ours = LockDir::private(dir.path().join("ours")).unwrap();
    drop(ours.lock("x").lock().unwrap());
    let mut actor = another("private", ours.path());
    assert!(["insecure", "no access"].contains(&actor.hears().as_str()));
    actor.ends();
    let mut actor = another("at", ours.lock("x").path());
    actor.expect("no access");
    actor.ends();
    // A squatter on our name can make us fail, but not lock apart.
    let squat = dir.path().join("squat");
    fs::create_dir(&squat).unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    std::os::unix::fs::chown(&squat, Some(NOBODY), None).unwrap();
    fs::set_permissions(&squat, fs::Permissions::from_mode(0o700)).unwrap();
    let mut actor = another("make", &squat);
    actor.expect("made");
    actor.ends();
    assert!(matches!(
        LockDir::private(&squat),
        Err(LockError::Insecure { .. })
    ));
    let theirs = fs::read_dir(&squat)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let error = LockFile::at(theirs).try_lock().unwrap_err();
    assert!(
        error.to_string().contains("belongs to uid 65534"),
        "{error}"
    );
}

#[test]
fn users_share_the_locks_of_a_system_directory_whoever_comes_first_and_whatever_their_umask() {
    if !is_root() {
        return;
    }
    for other_first in [false, true] {
        let dir = reachable();
        let path = dir.path().join("system");
        let ours = LockDir::shared(&path).unwrap();
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o7777,
            0o1777
        );
        let lock = ours.lock("x");
        if !other_first {
            drop(lock.lock().unwrap());
        }
        let mut other = another("shared", &path);
        other.expect("holding true");
        assert!(lock.try_lock().unwrap().is_none());
        let waiter = std::thread::spawn({
            let lock = lock.clone();
            move || {
                lock.lock_within(std::time::Duration::from_mins(1))
                    .unwrap()
                    .unwrap()
            }
        });
        crate::core::until_waiting(&lock);
        other.go_on();
        other.expect("released");
        let guard = waiter.join().unwrap();
        let mut third = another("shared", &path);
        third.expect("holding false");
        drop(guard);
        let mode = fs::metadata(lock.path()).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode, 0o666);
        // Readable for everybody: it must not repeat the arguments.
        assert!(!lock.last_holder().unwrap().command.contains("--nocapture"));
        other.ends();
        third.ends();
        let left: Vec<_> = fs::read_dir(&path).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }
}

#[test]
fn a_system_directory_must_be_roots_and_sticky() {
    if !is_root() {
        return;
    }
    let dir = reachable();
    let path = dir.path().join("system");
    fs::create_dir(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
    assert!(matches!(
        LockDir::shared(&path),
        Err(LockError::Insecure { .. })
    ));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o1777)).unwrap();
    std::os::unix::fs::chown(&path, Some(NOBODY), None).unwrap();
    assert!(matches!(
        LockDir::shared(&path),
        Err(LockError::Insecure { .. })
    ));
    // A group's directory: its members share the files.
    std::os::unix::fs::chown(&path, Some(0), None).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o2770)).unwrap();
    let lock = LockDir::shared(&path).unwrap().lock("x");
    drop(lock.lock().unwrap());
    assert_eq!(
        fs::metadata(lock.path()).unwrap().permissions().mode() & 0o7777,
        0o660
    );
}
