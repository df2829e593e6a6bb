//! The table of modes and delays: every row, with another process holding the lock.

use std::{
    thread,
    time::{Duration, Instant},
};

use lockfn::{LockDir, LockError, LockFile, SkipReason};

use crate::{actor::Actor, calls};

/// Long beside what a busy machine may take to start a thread.
const PAUSE: Duration = Duration::from_secs(1);

/// Another process, in the body of `which`.
pub(crate) fn holder(which: &str, id: &str) -> Actor {
    let dir = calls::locks().to_str().unwrap();
    let mut actor = Actor::start("call", &[dir, which, id, "150"]);
    actor.expect("in the body");
    actor
}

pub(crate) fn must_not_run() {
    panic!("the body ran");
}

/// The lock of `which` for this test's key.
pub(crate) fn lock(which: &str, id: &str) -> LockFile {
    let dir = LockDir::user_default().unwrap();
    dir.keyed(&format!("it::calls::{which}"), id)
}

/// Ends the holder's body once this process waits for it; says when it was told to.
fn end_when_waited_for(mut holder: Actor, which: &str, id: &str) -> thread::JoinHandle<Instant> {
    let lock = lock(which, id);
    thread::spawn(move || {
        crate::core::until_waiting(&lock);
        let ended = Instant::now();
        holder.go_on();
        holder.expect("ran");
        holder.ends();
        ended
    })
}

pub(crate) fn pace(time: Duration) {
    thread::sleep(time);
}

#[test]
fn free_every_mode_runs_at_once_without_the_delay() {
    calls::locks();
    for which in ["skip", "skip_pause", "wait_pause", "wait_at_most", "try"] {
        let mut runs = 0;
        let start = Instant::now();
        let outcome =
            calls::call(which, "free", Duration::from_hours(1), &mut || runs += 1).unwrap();
        assert!(outcome.ran().is_some() && runs == 1, "{which}");
        assert!(
            start.elapsed() < Duration::from_mins(1),
            "{which} was delayed"
        );
    }
}

#[test]
fn busy_skip_returns_at_once_and_says_who() {
    let mut holder = holder("skip", "busy-skip");
    let mut best = Duration::MAX;
    for _ in 0..50 {
        let start = Instant::now();
        let outcome = calls::skip("busy-skip", &mut must_not_run).unwrap();
        best = best.min(start.elapsed());
        let skipped = outcome.skipped().unwrap();
        assert_eq!(skipped.reason, SkipReason::Busy);
        assert_eq!(skipped.holder.as_ref().unwrap().pid, holder.id());
        assert!(skipped.lock.ends_with("calls::skip@busy-skip"), "{skipped}");
    }
    assert!(best < Duration::from_millis(1), "{best:?}");
    holder.go_on();
    holder.expect("ran");
    holder.ends();
}

#[test]
fn busy_skip_with_delay_leaves_after_the_holders_end_and_the_delay() {
    let holder = holder("skip_pause", "busy-skip-delay");
    let start = Instant::now();
    let ended = end_when_waited_for(holder, "skip_pause", "busy-skip-delay");
    let leaving: Vec<_> = (0..3)
        .map(|_| {
            thread::spawn(|| {
                let outcome =
                    calls::skip_pause("busy-skip-delay", PAUSE, &mut must_not_run).unwrap();
                assert!(outcome.is_skipped());
                Instant::now()
            })
        })
        .collect();
    let left: Vec<_> = leaving
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .collect();
    let ended = ended.join().unwrap();
    for left in &left {
        // The end is stamped just before we can hear of it.
        assert!(
            *left + Duration::from_millis(50) >= ended + PAUSE,
            "left during the pause"
        );
        assert!(*left - start >= PAUSE);
    }
    let (first, last) = (left.iter().min().unwrap(), left.iter().max().unwrap());
    assert!(
        *last - *first < PAUSE,
        "the delays added up: {:?}",
        *last - *first
    );
    // The window is over: the next call runs.
    let mut ran = false;
    assert!(
        !calls::skip_pause("busy-skip-delay", PAUSE, &mut || ran = true)
            .unwrap()
            .is_skipped()
    );
    assert!(ran);
}

#[test]
fn nobody_runs_the_body_during_the_pause_of_a_skipped_call() {
    let holder = holder("skip_pause", "pause");
    let end = end_when_waited_for(holder, "skip_pause", "pause");
    let skipping = thread::spawn(|| {
        calls::skip_pause("pause", Duration::from_secs(6), &mut must_not_run).unwrap()
    });
    end.join().unwrap();
    let outcome = calls::skip_pause("pause", Duration::from_secs(6), &mut must_not_run).unwrap();
    assert!(outcome.is_skipped(), "a call during the pause ran");
    assert!(skipping.join().unwrap().is_skipped());
}

#[test]
fn a_skipped_call_pauses_from_now_if_the_holder_died() {
    let holder = holder("skip_pause", "died");
    let kill = thread::spawn(move || {
        crate::core::until_waiting(&lock("skip_pause", "died"));
        let killed = Instant::now();
        holder.kill();
        killed
    });
    let outcome = calls::skip_pause("died", PAUSE, &mut must_not_run).unwrap();
    let left = Instant::now();
    assert!(outcome.is_skipped());
    assert!(left + Duration::from_millis(50) >= kill.join().unwrap() + PAUSE);
    let mut ran = false;
    calls::skip_pause("died", PAUSE, &mut || ran = true)
        .unwrap()
        .ran()
        .unwrap();
    assert!(ran);
}

#[test]
fn busy_wait_runs_after_the_holder() {
    let holder = holder("wait_pause", "busy-wait");
    let ended = end_when_waited_for(holder, "wait_pause", "busy-wait");
    let mut entered = None;
    calls::wait_pause("busy-wait", Duration::ZERO, &mut || {
        entered = Some(Instant::now());
    })
    .unwrap()
    .ran()
    .unwrap();
    let ended = ended.join().unwrap();
    assert!(entered.unwrap() + Duration::from_millis(50) >= ended);
}

#[test]
fn busy_wait_with_delay_pauses_in_the_lock_and_runs() {
    let holder = holder("wait_pause", "busy-wait-delay");
    let ended = end_when_waited_for(holder, "wait_pause", "busy-wait-delay");
    let (mut entered, mut current) = (None, None);
    calls::wait_pause("busy-wait-delay", PAUSE, &mut || {
        entered = Some(Instant::now());
        current = lockfn::current();
    })
    .unwrap()
    .ran()
    .unwrap();
    assert!(entered.unwrap() + Duration::from_millis(50) >= ended.join().unwrap() + PAUSE);
    // Held since before the pause.
    let held = current.unwrap();
    assert!(held.token > 0 && held.abandoned.is_none());
}

#[test]
fn every_waiting_call_runs_one_at_a_time() {
    let mut holder = holder("wait_pause", "all-run");
    let inside = std::sync::atomic::AtomicUsize::new(0);
    let ran = std::sync::atomic::AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                calls::wait_pause("all-run", Duration::from_millis(5), &mut || {
                    assert_eq!(inside.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 0);
                    ran.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                    inside.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                })
                .unwrap()
                .ran()
                .unwrap();
            });
        }
        holder.go_on();
        holder.expect("ran");
    });
    assert_eq!(ran.into_inner(), 6);
    holder.ends();
}

#[test]
fn busy_wait_gives_up_at_its_timeout_and_names_the_holder() {
    let mut holder = holder("wait_at_most", "timeout");
    let limit = Duration::from_millis(100);
    let start = Instant::now();
    let error = calls::wait_at_most("timeout", limit, &mut must_not_run).unwrap_err();
    assert!(start.elapsed() >= limit);
    let LockError::Timeout {
        waited,
        holder: Some(named),
        ..
    } = &error
    else {
        panic!("{error}")
    };
    assert!(*waited >= limit && named.pid == holder.id());
    assert!(
        error
            .to_string()
            .contains("gave up on lock `it::calls::wait_at_most@timeout` after 0.")
    );
    holder.go_on();
    holder.expect("ran");
    holder.ends();
}

#[test]
fn busy_try_is_an_error_that_names_the_holder() {
    let mut holder = holder("try", "try");
    let error = calls::only_now("try", &mut must_not_run).unwrap_err();
    assert!(
        matches!(&error, LockError::Contended { holder: Some(named), .. } if named.pid == holder.id()),
        "{error}"
    );
    holder.go_on();
    holder.expect("ran");
    holder.ends();
}

#[test]
fn the_bodys_error_and_panic_release_the_lock_and_go_on_to_the_caller() {
    #[lockfn::lock_function(mode = "try")]
    fn fragile(how: u8) -> Result<u8, Box<dyn std::error::Error>> {
        match how {
            1 => panic!("boom"),
            2 => return Ok(2),
            3 => {
                "x".parse::<u8>()?;
            }
            _ => {}
        }
        Ok(0)
    }
    calls::locks();
    assert!(std::panic::catch_unwind(|| fragile(1)).is_err());
    assert_eq!(fragile(2).unwrap(), 2);
    assert!(
        fragile(3)
            .unwrap_err()
            .to_string()
            .contains("invalid digit")
    );
    assert_eq!(fragile(0).unwrap(), 0);
}

#[lockfn::lock_function(mode = "wait", cooldown = "150ms", on_error = "panic")]
fn cooled_wait() -> Instant {
    Instant::now()
}

#[lockfn::lock_function(cooldown = 3600, on_error = "panic")]
fn cooled_skip() -> lockfn::Outcome<()> {
    lockfn::Outcome::Ran(())
}

#[lockfn::lock_function(mode = "try", cooldown = 3600)]
fn cooled_try() -> Result<(), LockError> {
    Ok(())
}

#[test]
fn a_cooldown_keeps_runs_apart_contended_or_not() {
    calls::locks();
    let first = cooled_wait();
    assert!(cooled_wait() - first >= Duration::from_millis(149));
    cooled_skip().ran().unwrap();
    assert_eq!(
        cooled_skip().skipped().unwrap().reason,
        SkipReason::CoolingDown
    );
    assert_eq!(
        cooled_skip().skipped().unwrap().reason,
        SkipReason::CoolingDown
    );
    cooled_try().unwrap();
    assert!(matches!(cooled_try(), Err(LockError::CoolingDown { .. })));
}
