//! Nobody starves. The kernel wakes those who wait for a lock, and then lets whoever is quickest
//! have it: that is a caller that comes again right after its own release. So a caller that finds
//! the lock free just after its own hold, though somebody waits, gives the others a chance first.
//!
//! It knows by a mark that waiters leave in the record, and learns from events that somebody has
//! come. A waiter that died is waited for a few times, for 20 ms each.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use rustix::fs::FlockOperation;

use crate::{
    acquire::{Attempt, Locked, Opened, try_operation},
    clock,
    error::Result,
    file::{Kind, Place},
    record::{Last, State, Waits},
    wait::{self, Woke},
};

/// How long a lock may stay in one process's hands, hold after hold, while others wait: handing it
/// over costs more than a short hold.
const TURN_MS: u64 = 10;
/// How long the lock is left alone for whoever was woken by its release.
const CHANCE_MS: u64 = 20;
/// How often nobody may come before nobody is thought to wait.
const IN_VAIN: u64 = 5;

impl Place {
    /// Leaves word that somebody waits, unless the record says so already.
    pub(crate) fn say_who_waits(&self, opened: &Opened) {
        if self.record
            && let Some(last) = Last::read(&opened.fd)
            && last.waits.is_none()
            && self.may_write()
        {
            Waits::now().write(&opened.fd);
        }
    }

    /// One attempt of a caller that is willing to wait; and until when it has to give way to others
    /// before it may have what it got.
    pub(crate) fn attempt_in_turn(
        &self,
        kind: Kind,
        deadline: Option<Instant>,
    ) -> Result<(Attempt, Option<Instant>)> {
        let attempt = self.attempt(kind)?;
        let owed = match &attempt {
            Attempt::Locked(locked) => self.chance_owed(locked, deadline),
            Attempt::Busy(_) => None,
        };
        Ok((attempt, owed))
    }

    /// The same, and gives way, blocking the thread.
    pub(crate) fn attempt_fairly(
        self: &Arc<Self>,
        kind: Kind,
        deadline: Option<Instant>,
    ) -> Result<Attempt> {
        match self.attempt_in_turn(kind, deadline)? {
            (attempt, Some(until)) => wait::block_on(self.give_way(attempt, until)),
            (attempt, None) => Ok(attempt),
        }
    }

    /// Waits for the lock, blocking the thread; `busy` is its file, if it was just found locked.
    pub(crate) fn lock_in_turn(
        self: &Arc<Self>,
        kind: Kind,
        busy: Option<Opened>,
    ) -> Result<Locked> {
        let attempt = match busy {
            Some(busy) => Attempt::Busy(busy),
            None => self.attempt_fairly(kind, None)?,
        };
        match attempt {
            Attempt::Locked(locked) => Ok(locked),
            Attempt::Busy(busy) => self.wait_blocking(kind, busy),
        }
    }

    /// [`Place::lock_in_turn`] without blocking the executor; `None` at the deadline.
    pub(crate) async fn lock_in_turn_async(
        self: &Arc<Self>,
        kind: Kind,
        deadline: Option<Instant>,
        busy: Option<Opened>,
    ) -> Result<Option<Locked>> {
        let (attempt, owed) = match busy {
            Some(busy) => (Attempt::Busy(busy), None),
            None => self.attempt_in_turn(kind, deadline)?,
        };
        let attempt = match owed {
            Some(until) => Box::pin(self.give_way(attempt, until)).await?,
            None => attempt,
        };
        match attempt {
            Attempt::Locked(locked) => Ok(Some(locked)),
            Attempt::Busy(busy) => Box::pin(wait::acquire(self, kind, deadline, busy)).await,
        }
    }

    /// Until when this caller, which has found the lock free, still has to leave it to others.
    fn chance_owed(&self, locked: &Locked, deadline: Option<Instant>) -> Option<Instant> {
        let last = locked.last?;
        let waits = last.waits?;
        if last.head.pid != locked.pid || last.head.state != State::Done {
            return None;
        }
        let now = clock::boot_ms();
        if now.saturating_sub(waits.since_up_ms) < TURN_MS {
            return None;
        }
        let over = last.head.up_ms + CHANCE_MS;
        if over <= now {
            self.nobody_came(locked, waits);
            return None;
        }
        let until = Instant::now() + Duration::from_millis(over - now);
        Some(deadline.map_or(until, |deadline| until.min(deadline)))
    }

    fn nobody_came(&self, locked: &Locked, waits: Waits) {
        let Some(fd) = locked.fd().filter(|_| self.may_write()) else {
            return;
        };
        let in_vain = waits.in_vain + 1;
        if in_vain < IN_VAIN {
            let now = Waits::now();
            Waits { in_vain, ..now }.write(fd);
        } else {
            Waits::clear(fd);
        }
    }

    /// Releases the lock, and tries again once somebody else has had it, or at the end of the
    /// chance. Nothing is held meanwhile.
    pub(crate) async fn give_way(
        self: &Arc<Self>,
        attempt: Attempt,
        until: Instant,
    ) -> Result<Attempt> {
        let (mut locked, hub) = match (attempt, wait::hub(self)) {
            (Attempt::Locked(locked), Ok(hub)) => (locked, hub),
            (attempt, _) => return Ok(attempt),
        };
        let kind = locked.kind;
        while let Some(opened) = locked.take() {
            let last = locked.last;
            let watch = hub.watch(&opened.fd, &self.full).ok();
            // Only now that no one's coming can be missed. The file stays open: closing it would be
            // an event like that of somebody else.
            self.flock(&opened.fd, FlockOperation::Unlock)?;
            let woke = if let Some(watch) = &watch {
                watch.wait(Some(until)).await
            } else {
                hub.sleep(until).await;
                Woke::Due
            };
            drop(watch);
            if !self.flock(&opened.fd, try_operation(kind))? {
                return Ok(Attempt::Busy(opened));
            }
            let Some(again) = self.verified(opened, kind)? else {
                return self.attempt(kind);
            };
            let token = |last: Option<Last>| last.map(|last| last.head.token);
            if token(again.last) != token(last) {
                return Ok(Attempt::Locked(again));
            }
            if woke == Woke::Due {
                if let Some(waits) = again.last.and_then(|last| last.waits) {
                    self.nobody_came(&again, waits);
                }
                return Ok(Attempt::Locked(again));
            }
            locked = again;
        }
        self.attempt(kind)
    }
}
