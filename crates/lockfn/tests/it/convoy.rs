//! The seed's worst fault: with skip and delay, a steady stream of callers kept the function from
//! ever running again, and each call took longer than the one before.

use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    thread,
    time::{Duration, Instant},
};

use crate::{calls, modes::pace};

static RUNS: AtomicUsize = AtomicUsize::new(0);
const BODY: Duration = Duration::from_millis(150);
const DELAY: Duration = Duration::from_millis(200);
/// What the issue allows for scheduling, on a machine that is quick to wake whoever is due.
const SCHEDULING: Duration = Duration::from_millis(50);
/// Wake-ups in a row in the longest call: the holder's out of its body, the listener's by the
/// holder's end and by the pause's, the caller's.
const WAKE_UPS: u32 = 4;

#[lockfn::lock_function(mode = "skip", delay = "200ms", on_error = "panic")]
fn refresh() {
    RUNS.fetch_add(1, SeqCst);
    pace(BODY);
}

/// A nap of a millisecond: from when to when, and how much too long.
struct Nap {
    start: Instant,
    end: Instant,
    late: Duration,
}

/// How late a thread is that wants nothing but to be woken in time.
fn naps(until: &AtomicBool) -> Vec<Nap> {
    let time = Duration::from_millis(1);
    let mut naps = Vec::new();
    while !until.load(SeqCst) {
        let start = Instant::now();
        pace(time);
        let end = Instant::now();
        let late = (end - start).saturating_sub(time);
        naps.push(Nap { start, end, late });
    }
    naps
}

#[test]
fn a_steady_stream_of_callers_neither_starves_the_function_nor_queues_up() {
    calls::locks();
    let over = AtomicBool::new(false);
    let (calls, naps) = thread::scope(|scope| {
        let witness = scope.spawn(|| naps(&over));
        let calls: Vec<_> = (0..30)
            .map(|_| {
                pace(Duration::from_millis(100));
                scope.spawn(|| {
                    let start = Instant::now();
                    refresh();
                    (start, Instant::now())
                })
            })
            .collect();
        let calls: Vec<_> = calls.into_iter().map(|call| call.join().unwrap()).collect();
        over.store(true, SeqCst);
        (calls, witness.join().unwrap())
    });
    assert!(RUNS.load(SeqCst) >= 6, "ran {} times", RUNS.load(SeqCst));
    for (start, end) in calls {
        // The machine's part of the call's time.
        let late = naps
            .iter()
            .filter(|nap| nap.end >= start && nap.start <= end)
            .map(|nap| nap.late)
            .max()
            .unwrap_or_default();
        let took = end - start;
        assert!(
            took <= BODY + DELAY + SCHEDULING + late * WAKE_UPS,
            "{took:?}, with wake-ups late by {late:?}"
        );
    }
}
