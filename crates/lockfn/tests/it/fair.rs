//! Nobody starves, however often somebody else comes back for the lock.

use std::{
    sync::atomic::{AtomicBool, Ordering::SeqCst},
    time::{Duration, Instant},
};

use lockfn::{LockFile, LockGuard};

use crate::{
    actor::{Actor, report, take, wait_for_go},
    core::{place, text},
};

/// Takes the lock again right after each release, until the test says that it is enough.
pub(crate) fn act(words: &[&str]) {
    let [how, path] = words else {
        panic!("no such part")
    };
    let enough = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            wait_for_go();
            enough.store(true, SeqCst);
        });
        let lock = LockFile::at(path);
        let mut holds = 0;
        while !enough.load(SeqCst) {
            let guard = take(how, &lock);
            crate::modes::pace(Duration::from_millis(2));
            drop(guard);
            if holds == 0 {
                report("has it");
            }
            holds += 1;
        }
    });
    report("enough");
}

/// How many holds of others lay between the beginning of a wait and its end.
fn holds_waited_for(lock: &LockFile, how: &str) -> (LockGuard, u64) {
    let before = lock.last_holder().unwrap().token;
    let guard = take(how, lock);
    let waited = guard.token() - before;
    (guard, waited)
}

#[test]
fn a_caller_that_comes_back_at_once_lets_those_who_wait_have_a_turn() {
    for greedy in ["sync", "timed", "async"] {
        let (_dir, lock) = place();
        let mut greedy = Actor::start("greedy", &[greedy, &text(&lock)]);
        greedy.expect("has it");
        for how in ["sync", "timed", "async"] {
            let mut waited = Vec::new();
            for _ in 0..10 {
                let (guard, holds) = holds_waited_for(&lock, how);
                drop(guard);
                waited.push(holds);
                // Not two in one turn.
                crate::modes::pace(Duration::from_millis(5));
            }
            // It holds for 2 ms, and its turn is over after 10.
            waited.sort_unstable();
            assert!(waited[waited.len() / 2] <= 12, "{how}: {waited:?}");
        }
        greedy.go_on();
        greedy.expect("enough");
        greedy.ends();
    }
}

#[test]
fn a_caller_that_comes_back_at_once_leaves_a_waiter_time_to_wake_up() {
    let (_dir, lock) = place();
    for how in ["sync", "timed", "async"] {
        let guard = lock.lock().unwrap();
        let waiter = Actor::start("take", &["sync", &text(&lock)]);
        crate::core::until_process_waits(&lock, waiter.id());
        // It has waited for longer than a turn, and is slower to wake up than anybody is.
        crate::modes::pace(Duration::from_millis(20));
        waiter.stop();
        let released = Instant::now();
        drop(guard);
        drop(take(how, &lock));
        // 20 ms, by a clock of whole milliseconds.
        let stayed_away = released.elapsed();
        assert!(
            stayed_away >= Duration::from_millis(19),
            "{how}: {stayed_away:?}"
        );
        waiter.resume();
        let mut waiter = waiter;
        waiter.expect("done");
        waiter.ends();
    }
}

#[test]
fn a_waiter_that_was_killed_is_not_waited_for_for_ever() {
    let (_dir, lock) = place();
    let guard = lock.lock().unwrap();
    let waiter = Actor::start("take", &["sync", &text(&lock)]);
    crate::core::until_process_waits(&lock, waiter.id());
    crate::modes::pace(Duration::from_millis(20));
    waiter.kill();
    drop(guard);
    let is_cleared = || {
        let record = std::fs::read(lock.path()).unwrap();
        String::from_utf8_lossy(&record).contains("waits=00000000000000")
    };
    assert!(!is_cleared());
    let mut holds = 0;
    while !is_cleared() && holds < 10_000 {
        drop(lock.lock().unwrap());
        holds += 1;
        // The turn that a caller has before it gives way once more.
        crate::modes::pace(Duration::from_millis(1));
    }
    assert!(holds < 10_000, "{holds}");
}

#[test]
fn nobody_steps_back_for_one_who_only_tries() {
    let (_dir, lock) = place();
    for _ in 0..100 {
        let guard = lock.lock().unwrap();
        assert!(lock.try_lock().unwrap().is_none());
        drop(guard);
    }
    let record = std::fs::read(lock.path()).unwrap();
    assert!(!String::from_utf8_lossy(&record).contains("waits="));
}
