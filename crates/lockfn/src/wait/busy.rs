//! A lock that was found busy, and what is known of whoever has it.

use std::time::Instant;

use super::{looks::Looks, news::News, watch::Woke};
use crate::{acquire::Opened, record::Head};

/// Races lost before a waiter joins the kernel's queue.
const PATIENCE: u32 = 64;

#[derive(Debug)]
pub(super) struct Busy {
    pub(super) opened: Opened,
    /// The hold that was last met: its end will be heard.
    met: Option<u64>,
    looks: Looks,
    lost_races: u32,
}

impl Busy {
    pub(super) fn new(opened: Opened) -> Self {
        Self {
            met: holder(&opened),
            opened,
            looks: Looks::default(),
            lost_races: 0,
        }
    }

    /// Until when to wait for news; `deadline` if the end of the hold is sure to be heard.
    pub(super) fn wait_until(&self, deadline: Option<Instant>) -> Option<Instant> {
        self.looks.until(&self.opened.fd, deadline)
    }

    /// Whether, after these news, the lock may be free.
    pub(super) fn may_be_free(&mut self, news: News) -> bool {
        if news == News::Changed
            && let Some(token) = holder(&self.opened)
        {
            // The beginning of a hold, or something that others leave in the file during one.
            self.met = Some(token);
            return false;
        }
        true
    }

    /// A try was in vain. `false` once others have been quicker too often.
    pub(super) fn lost(&mut self, woke: Woke) -> bool {
        if woke == Woke::Event {
            self.lost_races += 1;
        }
        match (holder(&self.opened), woke) {
            // Somebody was quicker, whose end will be heard in its turn.
            (Some(token), _) if self.met != Some(token) => {
                self.met = Some(token);
                self.looks = Looks::default();
            }
            (_, Woke::Event) => self.looks.event(),
            (_, Woke::Due) => self.looks.due(),
        }
        self.lost_races <= PATIENCE
    }
}

/// The hold of a holder that is known to report its end.
fn holder(opened: &Opened) -> Option<u64> {
    Head::read(&opened.fd)
        .filter(Head::seems_alive)
        .map(|head| head.token)
}
