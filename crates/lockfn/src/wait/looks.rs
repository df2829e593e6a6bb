//! When to look at a watched lock although nothing was heard of it.

use std::{
    os::fd::AsFd,
    time::{Duration, Instant},
};

use super::watch::{Watch, Woke};
use crate::{acquire::Opened, record::Head};

const JUST_AFTER: Duration = Duration::from_millis(1);
const LONG_AFTER: Duration = Duration::from_secs(1);
const UNKNOWN_HOLDER: Duration = Duration::from_secs(1);

/// After an event, a few times: the kernel reports the close of a dying holder just before it drops
/// the lock, and a holder whose child shares the descriptor writes its end just before it unlocks.
/// Otherwise only while the holder is nobody who is known to report its end.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    after_event: Option<Duration>,
}

impl Looks {
    /// Something was heard, and the lock is still held.
    pub(super) fn event(&mut self) {
        self.after_event = Some(JUST_AFTER);
    }

    /// A look was in vain.
    pub(super) fn due(&mut self) {
        self.after_event = self
            .after_event
            .map(|after| after * 10)
            .filter(|after| *after <= LONG_AFTER);
    }

    /// When the next look is due, or it is too late for one.
    pub(super) fn until(&self, fd: impl AsFd, deadline: Option<Instant>) -> Option<Instant> {
        let look = self
            .next(fd)
            .and_then(|look| Instant::now().checked_add(look));
        match (look, deadline) {
            (Some(look), Some(deadline)) => Some(look.min(deadline)),
            (look, deadline) => look.or(deadline),
        }
    }

    /// How long from now, if at all.
    fn next(&self, fd: impl AsFd) -> Option<Duration> {
        self.after_event.or_else(|| {
            let known = Head::read(fd).is_some_and(|head| head.seems_alive());
            (!known).then_some(UNKNOWN_HOLDER)
        })
    }

    /// Waits for the next reason to try; the lock was busy a moment ago.
    pub(crate) async fn wait(&mut self, opened: &Opened, watch: &Watch, deadline: Option<Instant>) {
        match watch.wait(self.until(&opened.fd, deadline)).await {
            Woke::Event => self.event(),
            Woke::Due => self.due(),
        }
    }
}
