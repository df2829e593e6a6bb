//! The seed's worst fault: with skip and delay, a steady stream of callers kept the function from
//! ever running again, and each call took longer than the one before.

use std::{
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
    thread,
    time::{Duration, Instant},
};

use crate::{calls, modes::pace};

static RUNS: AtomicUsize = AtomicUsize::new(0);
const BODY: Duration = Duration::from_millis(150);

#[lockfn::lock_function(mode = "skip", delay = "200ms", on_error = "panic")]
fn refresh() {
    RUNS.fetch_add(1, SeqCst);
    pace(BODY);
}

#[test]
fn a_steady_stream_of_callers_neither_starves_the_function_nor_queues_up() {
    calls::locks();
    let calls: Vec<_> = (0..30)
        .map(|_| {
            pace(Duration::from_millis(100));
            thread::spawn(|| {
                let start = Instant::now();
                refresh();
                start.elapsed()
            })
        })
        .collect();
    let longest = calls
        .into_iter()
        .map(|call| call.join().unwrap())
        .max()
        .unwrap();
    assert!(RUNS.load(SeqCst) >= 6, "ran {} times", RUNS.load(SeqCst));
    // 50 ms of scheduling on a quiet machine; this one may be busy.
    assert!(
        longest < BODY + Duration::from_millis(200 + 250),
        "{longest:?}"
    );
}
