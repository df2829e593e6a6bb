//! Watching one lock file: to hear of it, or to be woken when its lock may be free.
//!
//! The listener looks at what it heard, and wakes the waiter only when a try is worth it. It does
//! not take the lock for the waiter: that would keep everybody out until the waiter has been given
//! a processor, which takes long where processors are busy.

use std::{sync::Arc, time::Instant};

use super::{busy::Busy, hub::Hub, meeting::Meeting};

/// A watched lock file; dropping it ends the watch.
#[derive(Debug)]
pub(crate) struct Watch {
    hub: &'static Hub,
    file: i32,
    meeting: Arc<Meeting<Busy>>,
}

/// Why a wait is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Woke {
    Event,
    Due,
}

impl Watch {
    pub(super) fn new(hub: &'static Hub, file: i32, meeting: Arc<Meeting<Busy>>) -> Self {
        Self { hub, file, meeting }
    }

    /// Until something happens to the file, or until then.
    pub(crate) async fn wait(&self, until: Option<Instant>) -> Woke {
        let event = self.hub.within(until, |cx| self.meeting.poll(cx));
        event.await.map_or(Woke::Due, |()| Woke::Event)
    }

    /// Until the lock, which was just found busy, may be free, or until then.
    pub(super) async fn may_be_free(
        &self,
        busy: Busy,
        until: Option<Instant>,
    ) -> (Option<Busy>, Woke) {
        self.meeting.lend(busy, Busy::may_be_free);
        let woke = self.wait(until).await;
        (self.meeting.recall(), woke)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // In a forked child all this is its parent's, and so is the kernel's end of it.
        if !self.hub.is_ours() {
            return;
        }
        self.hub.unwatch(self.file, &self.meeting);
        // The listener may have the meeting in its hands for a moment yet: the file is closed now.
        drop(self.meeting.recall());
    }
}
