//! `skip` with a delay: the pause holds from the very end of the run, also before a waiting caller
//! has woken up, and whoever comes then. The waiters here are stopped (SIGSTOP), so that nothing
//! but what they left in the lock file can keep a newcomer out.

use std::{
    thread,
    time::{Duration, Instant},
};

use lockfn::{
    __private::{Config, Entry, Times, enter_lock},
    LockError, LockFile, Mode, Outcome,
};

use crate::{
    actor::Actor,
    calls,
    core::until_process_waits,
    modes::{holder, lock, must_not_run},
};

/// Longer than any test.
const LONG: Duration = Duration::from_hours(1);

/// Another process that skips with this delay, stopped while it waits for the holder.
fn stopped_waiter(id: &str, delay: Duration) -> Actor {
    let dir = calls::locks().to_str().unwrap();
    let delay = delay.as_millis().to_string();
    let waiter = Actor::start("call", &[dir, "skip_pause", id, &delay]);
    until_process_waits(&lock("skip_pause", id), waiter.id());
    waiter.stop();
    waiter
}

/// A run of `skip_pause` by another process that has ended, while `delays` waited for it; and when
/// it was told to end.
fn ended_before(id: &str, delays: &[Duration]) -> (Instant, Vec<Actor>) {
    let mut holder = holder("skip_pause", id);
    let waiters = delays
        .iter()
        .map(|delay| stopped_waiter(id, *delay))
        .collect();
    let ended = Instant::now();
    holder.go_on();
    holder.expect("ran");
    holder.ends();
    (ended, waiters)
}

/// A call of another mode for the same lock, as the command makes it.
fn enter(
    lock: LockFile,
    mode: Mode,
    delay: Duration,
    timeout: Option<Duration>,
) -> Result<Entry, LockError> {
    let config = Config {
        name: None,
        mode,
        reentrant: false,
        system: false,
        refuse_abandoned: false,
    };
    let times = Times {
        delay,
        timeout,
        cooldown: Duration::ZERO,
    };
    enter_lock(&config, lock, times)
}

fn kill(waiters: Vec<Actor>) {
    for waiter in waiters {
        waiter.kill();
    }
}

#[test]
fn a_newcomer_does_not_run_before_the_waiter_has_woken_up() {
    let (_, waiters) = ended_before("asleep", &[LONG]);
    let lock = || lock("skip_pause", "asleep");
    let entry = enter(lock(), Mode::Skip, Duration::ZERO, None).unwrap();
    assert!(matches!(entry, Entry::Skip(_)), "skip: {entry:?}");
    let tried = enter(lock(), Mode::Try, Duration::ZERO, None);
    assert!(
        matches!(tried, Err(LockError::Contended { .. })),
        "try: {tried:?}"
    );
    let limit = Some(Duration::from_millis(50));
    let waited = enter(lock(), Mode::Wait, Duration::ZERO, limit);
    assert!(
        matches!(waited, Err(LockError::Timeout { .. })),
        "wait: {waited:?}"
    );
    kill(waiters);
}

#[test]
fn a_newcomer_that_waits_runs_after_the_pause() {
    for (id, timeout) in [("run-after", None), ("run-after-timed", Some(LONG))] {
        let pause = Duration::from_secs(1);
        let (ended, waiters) = ended_before(id, &[pause]);
        let entry = enter(lock("skip_pause", id), Mode::Wait, Duration::ZERO, timeout).unwrap();
        let entered = Instant::now();
        assert!(matches!(entry, Entry::Run(_)));
        assert!(entered + Duration::from_millis(50) >= ended + pause, "{id}");
        drop(entry);
        kill(waiters);
    }
}

#[test]
fn a_killed_waiter_blocks_the_function_for_one_pause_at_most() {
    let pause = Duration::from_millis(500);
    let (ended, waiters) = ended_before("killed", &[pause]);
    kill(waiters);
    // Comes at once: as the pause says.
    assert!(
        calls::skip_pause("killed", pause, &mut must_not_run)
            .unwrap()
            .is_skipped()
    );
    assert!(Instant::now() + Duration::from_millis(50) >= ended + pause);
    for _ in 0..2 {
        let mut ran = false;
        assert!(matches!(
            calls::skip_pause("killed", pause, &mut || ran = true).unwrap(),
            Outcome::Ran(())
        ));
        assert!(ran);
    }
}

#[test]
fn the_longest_pause_asked_for_holds() {
    let (_, waiters) = ended_before("longest", &[LONG, Duration::from_millis(1)]);
    thread::sleep(Duration::from_millis(20));
    let brief = Duration::from_millis(1);
    assert!(
        calls::skip_pause("longest", brief, &mut must_not_run)
            .unwrap()
            .is_skipped()
    );
    kill(waiters);
}

#[test]
fn a_pause_ends_at_its_time_whoever_comes_during_it() {
    let pause = Duration::from_secs(1);
    let (ended, waiters) = ended_before("fixed-end", &[pause]);
    let mut skipped = 0;
    loop {
        let entry = enter(
            lock("skip_pause", "fixed-end"),
            Mode::Skip,
            Duration::ZERO,
            None,
        );
        match entry.unwrap() {
            Entry::Skip(_) => skipped += 1,
            Entry::Run(_) => break,
        }
        thread::yield_now();
    }
    assert!(skipped > 0 && ended.elapsed() + Duration::from_millis(50) >= pause);
    kill(waiters);
}

#[test]
fn the_pause_after_a_killed_holder_starts_with_the_first_caller_and_the_next_run_learns_of_it() {
    let pause = Duration::from_millis(700);
    let holder = holder("skip_pause", "both-die");
    let waiter = stopped_waiter("both-die", pause);
    holder.kill();
    let start = Instant::now();
    let lock = || lock("skip_pause", "both-die");
    let first = enter(lock(), Mode::Skip, Duration::ZERO, None).unwrap();
    assert!(matches!(first, Entry::Skip(_)), "{first:?}");
    let Entry::Run(hold) = enter(lock(), Mode::Wait, Duration::ZERO, None).unwrap() else {
        panic!("skipped in mode wait")
    };
    assert!(start.elapsed() >= pause);
    assert!(hold.into_guard().unwrap().abandoned().is_some());
    waiter.resume();
    waiter.kill();
}

#[lockfn::lock_function(name = "it::calls::skip_pause", key = id, delay = 3600, on_error = "panic")]
async fn skip_for_an_hour(id: &str) -> Outcome<()> {
    panic!("the body of {id} ran")
}

#[tokio::test]
async fn one_who_gave_up_or_was_cancelled_leaves_no_pause_behind() {
    calls::locks();
    let mut holder = holder("skip_pause", "gave-up");
    let soon = Duration::from_millis(50);
    let late = enter(lock("skip_pause", "gave-up"), Mode::Skip, LONG, Some(soon));
    assert!(matches!(late, Err(LockError::Timeout { .. })), "{late:?}");
    let cancelled = tokio::time::timeout(soon, skip_for_an_hour("gave-up")).await;
    assert!(cancelled.is_err());
    holder.go_on();
    holder.expect("ran");
    let mut ran = false;
    calls::skip_pause("gave-up", LONG, &mut || ran = true)
        .unwrap()
        .ran()
        .unwrap();
    assert!(ran);
    holder.ends();
}

#[test]
fn one_who_gives_up_takes_no_other_ones_pause_away() {
    let mut holder = holder("skip_pause", "ask-again");
    let dir = calls::locks().to_str().unwrap();
    let hour = LONG.as_millis().to_string();
    let waiter = Actor::start("call", &[dir, "skip_pause", "ask-again", &hour]);
    let lock = || lock("skip_pause", "ask-again");
    until_process_waits(&lock(), waiter.id());
    let soon = Some(Duration::from_millis(50));
    assert!(enter(lock(), Mode::Skip, LONG, soon).is_err());
    let asked = format!("pause={:014} of=", LONG.as_millis());
    while !String::from_utf8_lossy(&std::fs::read(lock().path()).unwrap()).contains(&asked) {
        thread::yield_now();
    }
    waiter.stop();
    holder.go_on();
    holder.expect("ran");
    let tried = enter(lock(), Mode::Try, Duration::ZERO, None);
    assert!(
        matches!(tried, Err(LockError::Contended { .. })),
        "{tried:?}"
    );
    holder.ends();
    waiter.kill();
}

#[test]
fn a_run_that_nobody_waited_for_is_followed_by_no_pause() {
    let (_, waiters) = ended_before("nobody-waited", &[]);
    assert!(waiters.is_empty());
    let mut ran = false;
    calls::skip_pause("nobody-waited", LONG, &mut || ran = true)
        .unwrap()
        .ran()
        .unwrap();
    assert!(ran);
}
