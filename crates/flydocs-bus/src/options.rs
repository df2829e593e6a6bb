//! The settings of the bus; the composition root fills them.

use std::time::Duration;

/// How a bus behaves. The same for every adapter.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// How long a claim holds without a beat.
    pub lease: Duration,
    /// How many handler failures make a dead letter.
    pub max_failures: u32,
    /// How many claims that never settled make a dead letter: the event probably kills its process.
    pub max_unsettled: u32,
    /// The first wait after a failure; it doubles with each further one.
    pub backoff_base: Duration,
    /// The longest wait after a failure.
    pub backoff_cap: Duration,
    /// How often to look without having been told.
    pub poll: Duration,
    /// How often to look when nothing can tell (poll-only).
    pub poll_only: Duration,
    /// How many events one drain pass moves, at least 1.
    pub drain_batch: u32,
    /// How many deliveries the `memory` adapter holds for a group; the rest waits in the outbox.
    pub memory_capacity: u32,
    /// How long handled events are kept.
    pub keep_events: Duration,
    /// How long dead letters are kept.
    pub keep_dead_letters: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            lease: Duration::from_mins(1),
            max_failures: 10,
            max_unsettled: 5,
            backoff_base: Duration::from_secs(1),
            backoff_cap: Duration::from_mins(5),
            poll: Duration::from_secs(5),
            poll_only: Duration::from_millis(500),
            drain_batch: 250,
            memory_capacity: 10_000,
            keep_events: Duration::from_hours(24),
            keep_dead_letters: Duration::from_hours(30 * 24),
        }
    }
}

impl Options {
    /// The same for the bus that a relay reads its outbox through: a dead relay's batch is free again within the
    /// time that another one needs to take over, and no event is ever given up on because a broker is down.
    pub fn for_relay(self) -> Self {
        Self {
            lease: Duration::from_millis(1500),
            max_failures: i32::MAX as u32,
            max_unsettled: i32::MAX as u32,
            drain_batch: 500,
            poll: self.poll.min(Duration::from_secs(1)),
            ..self
        }
    }

    /// The wait after the failure number `failures` (1 is the first) and the jitter on top of it.
    pub(crate) fn pause_after(
        &self,
        failures: u32,
        asked: Option<Duration>,
    ) -> (Duration, Duration) {
        if let Some(delay) = asked {
            return (delay, Duration::ZERO);
        }
        let doubled = self
            .backoff_base
            .saturating_mul(1 << failures.saturating_sub(1).min(20));
        let delay = doubled.min(self.backoff_cap);
        (delay, delay / 5)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_backoff_doubles_up_to_its_cap_and_a_given_delay_wins() {
        let options = Options {
            backoff_base: Duration::from_secs(1),
            backoff_cap: Duration::from_secs(5),
            ..Options::default()
        };
        let seconds = |failures| options.pause_after(failures, None).0.as_secs();
        assert_eq!([1, 2, 3, 4, 1000].map(seconds), [1, 2, 4, 5, 5]);
        assert_eq!(options.pause_after(2, None).1, Duration::from_millis(400));
        let asked = Some(Duration::from_mins(1));
        assert_eq!(
            options.pause_after(9, asked),
            (Duration::from_mins(1), Duration::ZERO)
        );
    }
}
