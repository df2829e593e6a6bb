//! `LockFile` and its guard.

use std::{
    sync::{
        Arc, Barrier,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
    time::{Duration, Instant},
};

use lockfn::{Kind, LockDir, LockFile, Wait};

use crate::actor::{Actor, futures_lite};

pub(crate) fn place() -> (tempfile::TempDir, LockFile) {
    let dir = tempfile::tempdir().unwrap();
    let lock = LockFile::at(dir.path().join("it.lock"));
    (dir, lock)
}

pub(crate) fn text(lock: &LockFile) -> String {
    lock.path().to_str().unwrap().to_owned()
}

#[test]
fn another_process_is_excluded_until_the_holder_releases() {
    let (_dir, lock) = place();
    let mut holder = Actor::start("hold", &[&text(&lock)]);
    assert!(holder.hears().starts_with("holding"));
    assert!(lock.try_lock().unwrap().is_none());
    assert!(lock.is_held().unwrap());
    assert_eq!(lock.kernel_holder(), Some(holder.id()));
    assert_eq!(lock.holder().unwrap().pid, holder.id());
    holder.go_on();
    holder.expect("released");
    assert!(!lock.is_held().unwrap() && lock.holder().is_none());
    assert!(lock.try_lock().unwrap().is_some());
    holder.ends();
}

#[test]
fn a_killed_holder_releases_at_once_and_is_reported_as_abandoned() {
    let (_dir, lock) = place();
    let first = lock.try_lock().unwrap().unwrap().token();
    let mut holder = Actor::start("hold", &[&text(&lock)]);
    holder.expect(&format!("holding {} abandoned false", first + 1));
    let id = holder.id();
    holder.kill();
    let guard = lock.try_lock().unwrap().unwrap();
    assert_eq!(guard.abandoned().unwrap().pid, id);
    assert_eq!(guard.token(), first + 2);
    drop(guard);
    assert!(lock.try_lock().unwrap().unwrap().abandoned().is_none());
}

#[test]
fn waiters_of_all_kinds_get_it_from_a_killed_holder() {
    for how in ["sync", "timed", "async"] {
        let (_dir, lock) = place();
        let mut holder = Actor::start("hold", &[&text(&lock)]);
        holder.hears();
        let waiter = {
            let lock = lock.clone();
            thread::spawn(move || {
                let guard = match how {
                    "sync" => lock.lock(),
                    "timed" => lock.lock_within(Duration::from_mins(1)).map(Option::unwrap),
                    _ => futures_lite(lock.lock_async()),
                };
                let guard = guard.unwrap();
                assert!(guard.contended() && guard.abandoned().is_some());
                Instant::now()
            })
        };
        until_waiting(&lock);
        let killed = Instant::now();
        holder.kill();
        let entered = waiter.join().unwrap();
        assert!(
            entered - killed < Duration::from_millis(900),
            "{how}: {:?}",
            entered - killed
        );
    }
}

/// Until a thread of this process waits for the lock: in the kernel's queue or by a watch.
pub(crate) fn until_waiting(lock: &LockFile) {
    until_process_waits(lock, std::process::id());
}

/// The same of another process.
pub(crate) fn until_process_waits(lock: &LockFile, pid: u32) {
    while !waits(lock, pid) {
        thread::yield_now();
    }
}

/// Whether that process waits for the lock now.
pub(crate) fn waits(lock: &LockFile, pid: u32) -> bool {
    use std::os::unix::fs::MetadataExt;
    let inode = std::fs::metadata(lock.path()).unwrap().ino();
    let queued = format!(":{inode} ");
    let waiter = format!(" {pid} ");
    let watched = format!("ino:{inode:x} ");
    let table = std::fs::read_to_string("/proc/locks").unwrap();
    let is_queued = table
        .lines()
        .any(|line| line.contains("->") && line.contains(&queued) && line.contains(&waiter));
    is_queued
        || std::fs::read_dir(format!("/proc/{pid}/fdinfo"))
            .unwrap()
            .any(|entry| {
                std::fs::read_to_string(entry.unwrap().path())
                    .unwrap_or_default()
                    .lines()
                    .any(|line| line.starts_with("inotify") && line.contains(&watched))
            })
}

/// How often the threads of this process have gone to sleep so far.
fn naps(pid: u32) -> u64 {
    std::fs::read_dir(format!("/proc/{pid}/task"))
        .unwrap()
        .filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("status")).ok())
        .filter_map(|status| {
            let line = status.lines().find(|line| line.starts_with("voluntary_"))?;
            line.split_whitespace().nth(1)?.parse::<u64>().ok()
        })
        .sum()
}

#[test]
fn a_wait_sleeps_from_its_beginning_to_its_end() {
    let (_dir, lock) = place();
    let held = lock.lock().unwrap();
    let mut waiters: Vec<_> = ["sync", "timed", "async"]
        .map(|how| Actor::start("take", &[how, &text(&lock)]))
        .into();
    for waiter in &waiters {
        until_process_waits(&lock, waiter.id());
    }
    // The coming of one is an event for the others, who then look a few times, 1 s apart at most.
    let sleeps = |waiter: &Actor| {
        let before = naps(waiter.id());
        crate::modes::pace(Duration::from_millis(1500));
        naps(waiter.id()) == before
    };
    for waiter in &waiters {
        assert!((0..6).any(|_| sleeps(waiter)), "keeps waking up");
    }
    drop(held);
    for waiter in &mut waiters {
        waiter.expect("done");
    }
    for waiter in waiters {
        waiter.ends();
    }
}

#[test]
fn a_limit_is_kept_and_the_lock_is_not_taken_later() {
    let (_dir, lock) = place();
    let guard = lock.lock().unwrap();
    let start = Instant::now();
    assert!(
        lock.lock_within(Duration::from_millis(80))
            .unwrap()
            .is_none()
    );
    assert!(start.elapsed() >= Duration::from_millis(80));
    assert!(
        futures_lite(lock.lock_within_async(Duration::from_millis(80)))
            .unwrap()
            .is_none()
    );
    drop(guard);
    assert!(!lock.is_held().unwrap());
}

#[test]
fn a_file_that_does_not_exist_is_not_held_and_not_created() {
    let (dir, lock) = place();
    assert!(!lock.is_held().unwrap());
    assert!(lock.last_holder().is_none());
    assert!(!lock.path().exists());
    assert!(
        !LockFile::at(dir.path().join("no/such/dir/x.lock"))
            .is_held()
            .unwrap()
    );
}

#[test]
fn asking_never_makes_an_attempt_fail() {
    let (_dir, lock) = place();
    drop(lock.lock().unwrap());
    let stop = Arc::new(AtomicUsize::new(0));
    let asking: Vec<_> = (0..3)
        .map(|_| {
            let (lock, stop) = (lock.clone(), Arc::clone(&stop));
            thread::spawn(move || {
                while stop.load(SeqCst) == 0 {
                    lock.is_held().unwrap();
                }
            })
        })
        .collect();
    let mut failed = 0;
    for _ in 0..2000 {
        failed += usize::from(lock.try_lock().unwrap().is_none());
    }
    stop.store(1, SeqCst);
    for thread in asking {
        thread.join().unwrap();
    }
    // One who asks may be put to sleep by the scheduler in its microsecond.
    assert!(failed <= 4, "{failed} attempts failed");
}

#[test]
fn threads_exclude_each_other() {
    let (_dir, lock) = place();
    let inside = AtomicUsize::new(0);
    let start = Barrier::new(8);
    thread::scope(|scope| {
        for number in 0..8 {
            let (lock, inside, start) = (&lock, &inside, &start);
            scope.spawn(move || {
                start.wait();
                for _ in 0..200 {
                    let guard = match number % 3 {
                        0 => lock.lock().unwrap(),
                        1 => lock.lock_within(Duration::from_mins(1)).unwrap().unwrap(),
                        _ => futures_lite(lock.lock_async()).unwrap(),
                    };
                    assert_eq!(inside.fetch_add(1, SeqCst), 0);
                    inside.fetch_sub(1, SeqCst);
                    drop(guard);
                }
            });
        }
    });
}

#[test]
fn no_update_is_lost_by_eight_processes_that_wait_in_different_ways() {
    let (dir, lock) = place();
    let counter = dir.path().join("counter");
    std::fs::write(&counter, "0").unwrap();
    let actors: Vec<_> = [
        "sync",
        "timed",
        "async",
        "shared-then",
        "sync",
        "timed",
        "async",
        "timed",
    ]
    .map(|how| {
        Actor::start(
            "count",
            &[how, &text(&lock), counter.to_str().unwrap(), "2000"],
        )
    })
    .into();
    let mut longest_ms = Vec::new();
    for mut actor in actors {
        longest_ms.push(actor.hears());
        actor.ends();
    }
    assert_eq!(std::fs::read_to_string(&counter).unwrap(), "16000");
    println!("longest waits in ms: {longest_ms:?}");
}

#[test]
fn shared_holders_admit_each_other_and_keep_exclusive_ones_out() {
    let (_dir, lock) = place();
    let one = lock.acquire(Kind::Shared, Wait::No).unwrap().unwrap();
    let two = lock.acquire(Kind::Shared, Wait::No).unwrap().unwrap();
    assert!(lock.try_lock().unwrap().is_none());
    drop(one);
    assert!(lock.try_lock().unwrap().is_none());
    drop(two);
    assert!(lock.try_lock().unwrap().is_some());
}

#[test]
fn names_of_one_directory_are_separate_locks_and_keys_too() {
    let dir = tempfile::tempdir().unwrap();
    let dir = LockDir::private(dir.path().join("locks")).unwrap();
    let held = dir.lock("a").lock().unwrap();
    assert!(dir.lock("a").try_lock().unwrap().is_none());
    for other in [dir.lock("b"), dir.keyed("a", ""), dir.keyed("a", "1")] {
        assert!(other.try_lock().unwrap().is_some());
    }
    assert_eq!(held.name(), "a");
    let names: Vec<_> = dir
        .locks()
        .unwrap()
        .iter()
        .map(|lock| lock.last_holder().unwrap().lock)
        .collect();
    assert_eq!(names.len(), 4);
    assert!(names.contains(&"a@1".to_owned()));
}
