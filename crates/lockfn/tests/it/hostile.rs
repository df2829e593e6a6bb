//! Paths that others could have prepared are refused, at once, and nothing behind them is touched.

use std::{
    ffi::CString,
    fs,
    os::unix::{
        fs::{PermissionsExt, symlink},
        net::UnixListener,
    },
    path::Path,
    time::{Duration, Instant},
};

use lockfn::{LockDir, LockError, LockFile};

use crate::actor::Actor;

/// The best of a few tries: how long it takes, not how busy the machine is.
fn refused(what: &str, attempt: impl Fn() -> Result<(), LockError>) -> LockError {
    let mut best = (Duration::MAX, None);
    for _ in 0..5 {
        let start = Instant::now();
        let error = attempt().expect_err(what);
        best = best.min_by_time(start.elapsed(), error);
    }
    assert!(best.0 < Duration::from_millis(50), "{what}: {:?}", best.0);
    best.1.unwrap()
}

trait Best {
    fn min_by_time(self, time: Duration, error: LockError) -> Self;
}

impl Best for (Duration, Option<LockError>) {
    fn min_by_time(self, time: Duration, error: LockError) -> Self {
        (self.0.min(time), Some(error))
    }
}

fn all_ways(path: &Path, what: &str) -> LockError {
    let lock = LockFile::at(path);
    refused(what, || lock.try_lock().map(drop));
    refused(what, || lock.lock_within(Duration::from_mins(1)).map(drop));
    refused(what, || lock.lock().map(drop))
}

#[expect(unsafe_code, reason = "mkfifo")]
fn make_fifo(path: &Path) {
    let path = CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: the path lives through the call.
    assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
}

#[test]
fn symlinks_fifos_sockets_directories_devices_and_hard_links_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let target = at("target");
    fs::write(&target, "precious").unwrap();
    symlink(&target, at("link")).unwrap();
    symlink(at("missing"), at("dangling")).unwrap();
    make_fifo(&at("fifo"));
    let _socket = UnixListener::bind(at("socket")).unwrap();
    fs::create_dir(at("directory")).unwrap();
    fs::write(at("one"), "").unwrap();
    fs::hard_link(at("one"), at("two")).unwrap();
    for (name, why) in [
        ("link", "symlink"),
        ("dangling", "symlink"),
        ("fifo", "not a regular file"),
        ("socket", "FIFO, a socket"),
        ("directory", "directory"),
        ("one", "hard link"),
    ] {
        let error = all_ways(&at(name), name);
        assert!(
            matches!(error, LockError::Insecure { .. }),
            "{name}: {error}"
        );
        assert!(error.to_string().contains(why), "{name}: {error}");
        assert!(LockFile::at(at(name)).is_held().is_err() || name == "one");
    }
    all_ways(Path::new("/dev/null"), "a device");
    assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
    assert!(!at("missing").exists());
    assert_eq!(
        fs::read_to_string(at("one")).unwrap(),
        "",
        "the refused file was written to"
    );
}

#[test]
fn a_fifo_that_somebody_holds_does_not_hang_us() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("fifo");
    make_fifo(&path);
    let held = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(&path)
        .unwrap();
    held.lock().unwrap();
    all_ways(&path, "a held FIFO");
}

#[test]
fn directories_that_others_can_write_to_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let open = dir.path().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    symlink(dir.path(), dir.path().join("link")).unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    for name in ["open", "link", "file"] {
        let error = refused(name, || LockDir::private(dir.path().join(name)).map(drop));
        assert!(
            matches!(error, LockError::Insecure { .. }),
            "{name}: {error}"
        );
    }
    // Beside a resource: anybody could swap the file...
    assert!(matches!(
        all_ways(&open.join("x.lock"), "open"),
        LockError::Insecure { .. }
    ));
    // ...but not in a sticky directory.
    fs::set_permissions(&open, fs::Permissions::from_mode(0o1777)).unwrap();
    assert!(
        LockFile::at(open.join("x.lock"))
            .try_lock()
            .unwrap()
            .is_some()
    );
    for mode in [0o770, 0o2775, 0o1777] {
        fs::set_permissions(&open, fs::Permissions::from_mode(mode)).unwrap();
        assert!(LockDir::private(&open).is_err(), "mode {mode:o}");
    }
}

#[test]
fn a_private_directory_is_made_with_mode_0700_and_its_files_with_0600() {
    let dir = tempfile::tempdir().unwrap();
    let locks = LockDir::private(dir.path().join("locks")).unwrap();
    let lock = locks.lock("x");
    drop(lock.lock().unwrap());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(locks.path()), 0o700);
    assert_eq!(mode(lock.path()), 0o600);
}

#[test]
fn paths_that_cannot_be_are_errors() {
    for path in ["/", "/no/such/dir/x.lock", "/tmp/nul\0byte", ".."] {
        assert!(LockFile::at(path).try_lock().is_err(), "{path:?}");
    }
}

#[test]
fn a_record_that_lies_neither_grants_nor_denies() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| LockFile::at(dir.path().join(name));
    // Genuine records: of another process that lives, of one that is dead, of ourselves, of
    // nobody.
    let mut living = Actor::start("hold", &[dir.path().join("living").to_str().unwrap()]);
    living.hears();
    let mut dead = Actor::start("hold", &[dir.path().join("dead").to_str().unwrap()]);
    dead.hears();
    dead.kill();
    let own = at("own").lock().unwrap();
    drop(at("done").lock().unwrap());
    let record = |name: &str| fs::read(dir.path().join(name)).unwrap();
    let done = record("done");
    let lies = [
        record("living"),
        record("dead"),
        record("own"),
        done[..150].to_vec(),
        vec![],
        vec![0; 2000],
        done,
    ];
    let lock = at("x");
    for lie in lies {
        drop(lock.lock().unwrap());
        fs::write(lock.path(), &lie).unwrap();
        assert!(!lock.is_held().unwrap());
        let guard = lock
            .try_lock()
            .unwrap()
            .expect("free, whatever the file says");
        fs::write(lock.path(), &lie).unwrap();
        assert!(
            lock.try_lock().unwrap().is_none(),
            "held, whatever the file says"
        );
        assert!(lock.is_held().unwrap());
        assert!(
            lock.lock_within(Duration::from_millis(20))
                .unwrap()
                .is_none()
        );
        drop(guard);
        fs::write(lock.path(), &lie).unwrap();
        drop(lock.lock_within(Duration::from_mins(1)).unwrap().unwrap());
    }
    drop(own);
    living.ends();
}

#[test]
fn a_holder_that_leaves_no_record_is_not_called_by_the_name_of_an_earlier_one() {
    let dir = tempfile::tempdir().unwrap();
    let lock = LockFile::at(dir.path().join("x.lock"));
    drop(lock.lock().unwrap());
    let foreign = fs::File::open(lock.path()).unwrap();
    foreign.lock().unwrap();
    assert!(lock.is_held().unwrap() && lock.try_lock().unwrap().is_none());
    assert!(lock.holder().is_none());
    assert_eq!(lock.last_holder().unwrap().pid, std::process::id());
    // Waiting for it works as well, whether it closes or only unlocks.
    let waiter = std::thread::spawn({
        let lock = lock.clone();
        move || lock.lock_within(Duration::from_mins(1)).unwrap().is_some()
    });
    crate::core::until_waiting(&lock);
    foreign.unlock().unwrap();
    assert!(waiter.join().unwrap());
}

#[test]
fn what_an_outsider_does_to_the_same_file_does_not_end_the_hold() {
    // Closing another descriptor of the file drops a POSIX lock; not this one.
    let dir = tempfile::tempdir().unwrap();
    let lock = LockFile::at(dir.path().join("x.lock"));
    let guard = lock.lock().unwrap();
    drop(fs::File::open(lock.path()).unwrap());
    assert!(lock.try_lock().unwrap().is_none());
    fs::File::create(lock.path()).unwrap().set_len(0).unwrap();
    assert!(lock.try_lock().unwrap().is_none());
    drop(guard);
    assert!(lock.try_lock().unwrap().is_some());
}
