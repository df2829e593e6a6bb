//! How long the unsure pages of one file may be read again, all of them together.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// All further readings of a file together may take so many times as long as the first ones did.
const RETRIES: u32 = 3;
/// What they may take in any case: on a file that is read in no time, so is everything else. It is counted for
/// the file and not for each page, or a file of a thousand bad pages would cost hours.
const AT_LEAST: Duration = Duration::from_secs(10);

/// What reading a file by OCR took so far. Pages that are read at the same time do not see each other's
/// further readings until these end, so that none goes without for another's sake.
#[derive(Debug, Default)]
pub(super) struct Patience {
    spent: Mutex<Spent>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Spent {
    first: Duration,
    further: Duration,
}

impl Patience {
    /// A first reading took so long: what is left for further ones.
    pub(super) fn after(&self, first: Duration) -> Duration {
        let mut spent = self.spent.lock();
        spent.first += first;
        (spent.first * RETRIES)
            .max(AT_LEAST)
            .saturating_sub(spent.further)
    }

    /// Counts as further reading what passes until the guard is dropped.
    pub(super) fn spend(&self) -> Spending<'_> {
        Spending {
            patience: self,
            since: Instant::now(),
        }
    }
}

/// A further reading that goes on.
pub(super) struct Spending<'p> {
    patience: &'p Patience,
    since: Instant,
}

impl Drop for Spending<'_> {
    fn drop(&mut self) {
        self.patience.spent.lock().further += self.since.elapsed();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    impl Patience {
        fn spent(&self, further: Duration) {
            self.spent.lock().further += further;
        }
    }

    #[test]
    fn further_readings_of_a_file_are_bounded_by_its_first_ones() {
        let patience = Patience::default();
        let mut all = Duration::ZERO;
        for _ in 0..1000 {
            // each page takes all it is given
            let given = patience.after(SECOND);
            patience.spent(given);
            all += given;
        }
        assert_eq!(all, SECOND * 1000 * RETRIES);
    }

    #[test]
    fn a_file_read_in_no_time_has_the_least_once_and_not_for_each_page() {
        let patience = Patience::default();
        assert_eq!(patience.after(SECOND / 10), AT_LEAST);
        patience.spent(AT_LEAST);
        assert_eq!(patience.after(SECOND / 10), Duration::ZERO);
    }
}
