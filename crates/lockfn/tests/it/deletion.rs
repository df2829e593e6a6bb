//! Lock files that are deleted, renamed or replaced, and files nobody uses.

use std::{
    fs, thread,
    time::{Duration, Instant, SystemTime},
};

use lockfn::{LockDir, LockFile};

use crate::{
    actor::{Actor, futures_lite},
    core::{place, text, until_waiting},
};

#[test]
fn a_waiter_on_a_deleted_or_replaced_file_never_overlaps_a_newcomer() {
    for how in ["delete", "rename", "replace", "rename the directory"] {
        for waiting in ["sync", "timed", "async"] {
            let (dir, _) = place();
            let inner = dir.path().join("inner");
            fs::create_dir(&inner).unwrap();
            let lock = LockFile::at(inner.join("it.lock"));
            let holder = lock.lock().unwrap();
            let (waiter, newcomer) = (enter(&lock, waiting), lock.clone());
            until_waiting(&lock);
            match how {
                "delete" => fs::remove_file(lock.path()).unwrap(),
                "rename" => fs::rename(lock.path(), dir.path().join("aside")).unwrap(),
                "replace" => {
                    fs::write(dir.path().join("new"), "").unwrap();
                    fs::rename(dir.path().join("new"), lock.path()).unwrap();
                }
                _ => {
                    fs::rename(&inner, dir.path().join("moved")).unwrap();
                    fs::create_dir(&inner).unwrap();
                }
            }
            assert!(!holder.is_current(), "{how}");
            drop(holder);
            let newcomer = enter(&newcomer, "sync");
            let (one, two) = (waiter.join().unwrap(), newcomer.join().unwrap());
            assert!(
                one.1 <= two.0 || two.1 <= one.0,
                "{how}, {waiting}: overlap"
            );
        }
    }
}

/// Enters, stays a moment, and tells from when to when.
fn enter(lock: &LockFile, waiting: &'static str) -> thread::JoinHandle<(Instant, Instant)> {
    let lock = lock.clone();
    thread::spawn(move || {
        let guard = match waiting {
            "sync" => lock.lock().unwrap(),
            "timed" => lock.lock_within(Duration::from_mins(1)).unwrap().unwrap(),
            _ => futures_lite(lock.lock_async()).unwrap(),
        };
        let entered = Instant::now();
        crate::modes::pace(Duration::from_millis(20));
        assert!(guard.is_current());
        (entered, Instant::now())
    })
}

#[test]
fn a_holder_can_tell_that_its_file_is_gone() {
    let (_dir, lock) = place();
    let holder = lock.lock().unwrap();
    assert!(holder.is_current());
    fs::remove_file(lock.path()).unwrap();
    // Nothing can keep a newcomer from locking a new file; but it is not silent.
    let newcomer = lock.try_lock().unwrap().unwrap();
    assert!(!holder.is_current() && newcomer.is_current());
    // Tokens grow all the same.
    assert!(newcomer.token() > holder.token());
    // And the old holder's end does not disturb the new one.
    drop(holder);
    assert!(lock.try_lock().unwrap().is_none());
}

#[test]
fn a_lock_directory_that_is_deleted_is_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let locks = LockDir::private(dir.path().join("locks")).unwrap();
    let lock = locks.lock("x");
    drop(lock.lock().unwrap());
    fs::remove_dir_all(locks.path()).unwrap();
    let guard = lock.try_lock().unwrap().unwrap();
    // A process that comes later uses the same new directory.
    let other = LockDir::private(locks.path()).unwrap();
    assert!(other.lock("x").try_lock().unwrap().is_none());
    assert!(guard.is_current());
}

#[test]
fn using_a_lock_makes_its_file_new_for_cleaners() {
    let (_dir, lock) = place();
    drop(lock.lock().unwrap());
    let year_2001 = SystemTime::UNIX_EPOCH + Duration::from_hours(31 * 365 * 24);
    fs::File::options()
        .write(true)
        .open(lock.path())
        .unwrap()
        .set_modified(year_2001)
        .unwrap();
    drop(lock.lock().unwrap());
    let age = fs::metadata(lock.path())
        .unwrap()
        .modified()
        .unwrap()
        .elapsed()
        .unwrap_or_default();
    assert!(age < Duration::from_hours(1), "{age:?}");
}

#[test]
fn only_unused_files_are_removed() {
    let (_dir, lock) = place();
    assert!(!lock.remove_if_unused(Duration::ZERO).unwrap());
    let guard = lock.lock().unwrap();
    assert!(!lock.remove_if_unused(Duration::ZERO).unwrap());
    drop(guard);
    assert!(!lock.remove_if_unused(Duration::from_hours(1)).unwrap());
    let before = lock.last_holder().unwrap().token;
    assert!(lock.remove_if_unused(Duration::ZERO).unwrap());
    assert!(!lock.path().exists());
    let guard = lock.lock().unwrap();
    assert!(guard.token() > before && guard.abandoned().is_none());
}

#[test]
fn removing_unused_files_while_others_come_and_go_loses_no_update() {
    let (dir, lock) = place();
    let counter = dir.path().join("counter");
    fs::write(&counter, "0").unwrap();
    let path = counter.to_str().unwrap();
    let actors: Vec<_> = ["sync", "timed", "async"]
        .map(|how| Actor::start("count", &[how, &text(&lock), path, "500"]))
        .into();
    let done = std::sync::atomic::AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::SeqCst) {
                lock.remove_if_unused(Duration::ZERO).unwrap();
                thread::yield_now();
            }
        });
        for actor in actors {
            actor.ends();
        }
        done.store(true, std::sync::atomic::Ordering::SeqCst);
    });
    assert_eq!(fs::read_to_string(&counter).unwrap(), "1500");
}

#[test]
fn a_quiet_file_that_is_replaced_between_two_holds_is_noticed() {
    // Whether its last change was long ago or a moment ago.
    for base in [std::env::temp_dir(), "/dev/shm".into()] {
        let dir = tempfile::tempdir_in(base).unwrap();
        let lock = LockFile::at(dir.path().join("it.lock")).holder_record(false);
        drop(lock.lock().unwrap());
        for round in 0..40 {
            crate::modes::pace(Duration::from_millis(if round % 4 == 0 { 60 } else { 1 }));
            let aside = dir.path().join("aside");
            match round % 3 {
                0 => fs::rename(lock.path(), &aside).unwrap(),
                1 => fs::remove_file(lock.path()).unwrap(),
                _ => {
                    fs::write(&aside, "").unwrap();
                    fs::rename(&aside, lock.path()).unwrap();
                }
            }
            let guard = lock.try_lock().unwrap().unwrap();
            assert!(guard.is_current(), "round {round}");
            assert!(
                LockFile::at(lock.path()).try_lock().unwrap().is_none(),
                "round {round}"
            );
        }
    }
}

#[test]
fn a_file_replaced_again_and_again_under_many_callers_lets_one_in_at_a_time() {
    // Every holder's file stays in its place while it holds it; between holds anything goes.
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("it.lock");
    let inside = std::sync::atomic::AtomicUsize::new(0);
    let order = std::sync::atomic::Ordering::SeqCst;
    thread::scope(|scope| {
        for number in 0..6 {
            let (path, inside) = (&path, &inside);
            scope.spawn(move || {
                let lock = LockFile::at(path).holder_record(number % 2 == 0);
                for round in 0..300 {
                    let guard = match (number + round) % 3 {
                        0 => lock.lock().unwrap(),
                        1 => lock.lock_within(Duration::from_mins(1)).unwrap().unwrap(),
                        _ => futures_lite(lock.lock_async()).unwrap(),
                    };
                    assert_eq!(inside.fetch_add(1, order), 0);
                    inside.fetch_sub(1, order);
                    if round % 10 == 0 {
                        // As `remove_if_unused` does, in the hold.
                        fs::remove_file(path).unwrap();
                    }
                    drop(guard);
                }
            });
        }
    });
}
