//! Moments in which the machine itself is slow: a virtual machine whose host takes its processors away, or a laptop
//! that is too warm. What fell into them says nothing about what is measured, and how often they come says what the
//! other figures are worth.
//!
//! One thread does the same small piece of work over and over and looks at its own processor time. That does not grow
//! when others want the processor, only when the processor gets less done.

use std::{
    hint::black_box,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{JoinHandle, sleep},
    time::{Duration, Instant},
};

use anyhow::Result;
use rustix::time::{ClockId, clock_gettime};

/// About a tenth of a millisecond of work.
const STEPS: u64 = 100_000;
const BETWEEN: Duration = Duration::from_millis(4);
/// Work that takes this many times its median was done in a slow moment.
const SLOW: f64 = 2.5;

/// The thread that watches.
pub(super) struct Watch {
    done: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Sample>>,
}

struct Sample {
    began: Instant,
    ended: Instant,
    cost: f64,
}

/// The slow moments of a time.
#[derive(Debug, Default)]
pub(super) struct Stalls {
    moments: Vec<(Instant, Instant)>,
    watched: Duration,
}

impl Watch {
    pub(super) fn start() -> Self {
        let done = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&done);
        let thread = std::thread::spawn(move || watch(&until));
        Self { done, thread }
    }

    pub(super) fn stop(self) -> Result<Stalls> {
        self.done.store(true, Ordering::Relaxed);
        let samples = self
            .thread
            .join()
            .map_err(|_panic| anyhow::anyhow!("the watch of the machine panicked"))?;
        Ok(Stalls::of(&samples))
    }
}

impl Stalls {
    fn of(samples: &[Sample]) -> Self {
        let mut costs: Vec<f64> = samples.iter().map(|sample| sample.cost).collect();
        costs.sort_by(f64::total_cmp);
        let usual = costs.get(costs.len() / 2).copied().unwrap_or_default();
        let mut moments: Vec<(Instant, Instant)> = Vec::new();
        let mut before = None;
        for sample in samples {
            if sample.cost > usual * SLOW {
                // It became slow somewhere between the two pieces of work.
                let began = before.unwrap_or(sample.began);
                match moments.last_mut() {
                    Some(last) if last.1 >= began => last.1 = sample.ended,
                    _ => moments.push((began, sample.ended)),
                }
            }
            before = Some(sample.ended);
        }
        let watched = match (samples.first(), samples.last()) {
            (Some(first), Some(last)) => last.ended - first.began,
            _ => Duration::ZERO,
        };
        Self { moments, watched }
    }

    /// Whether the machine was slow in this time, or so shortly before that its queues were still full.
    pub(super) fn touch(&self, began: Instant, ended: Instant) -> bool {
        self.moments.iter().any(|&(from, to)| {
            let drained = to + (to - from);
            began <= drained && from <= ended
        })
    }

    /// What was seen, as a sentence.
    pub(super) fn sentence(&self) -> String {
        let slow: Duration = self.moments.iter().map(|&(from, to)| to - from).sum();
        format!(
            "{} slow moments in {:.0} s, {:.1} % of the time, the longest {:.0} ms",
            self.moments.len(),
            self.watched.as_secs_f64(),
            100.0 * slow.as_secs_f64() / self.watched.as_secs_f64().max(f64::MIN_POSITIVE),
            1000.0
                * self
                    .moments
                    .iter()
                    .map(|&(from, to)| to - from)
                    .max()
                    .unwrap_or_default()
                    .as_secs_f64(),
        )
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "it looks at the machine now and then"
)]
fn watch(done: &AtomicBool) -> Vec<Sample> {
    let mut samples = Vec::new();
    while !done.load(Ordering::Relaxed) {
        let began = Instant::now();
        let spent = own_time();
        let mut state = 1_u64;
        for step in 0..STEPS {
            state = black_box(state.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ step);
        }
        let cost = own_time() - spent;
        samples.push(Sample {
            began,
            ended: Instant::now(),
            cost,
        });
        sleep(BETWEEN);
    }
    samples
}

/// Seconds of processor time of this thread.
fn own_time() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}
