//! Times, and how they are shown.

use std::time::Duration;

/// Times in their order.
pub(super) struct Figures(Vec<Duration>);

impl Figures {
    pub(super) fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    pub(super) fn at(&self, share: f64) -> Duration {
        let last = self.0.len().saturating_sub(1);
        let place = (last as f64 * share).round() as usize;
        self.0.get(place).copied().unwrap_or_default()
    }

    /// p50, p99 and the longest in milliseconds, as cells of a table.
    pub(super) fn cells(&self) -> String {
        let ms = |share| self.at(share).as_secs_f64() * 1000.0;
        format!("{:.1} | {:.1} | {:.1}", ms(0.5), ms(0.99), ms(1.0))
    }
}
