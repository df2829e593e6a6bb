//! Waiting for a lock without polling, with a deadline, on any executor.
//!
//! One thread per process (`hub`) hears from the kernel when a watched lock file is closed and
//! keeps the timers; exclusive waiters of one process stand in one line per lock (`queue`), so
//! that only the first of them reacts to each release.

mod fallback;
mod hub;
mod queue;
/// The locks of `queue`, which the tests replace by loom's.
mod sync {
    pub(crate) use std::sync::{Arc, Mutex};
}

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread::Thread,
    time::{Duration, Instant},
};

pub(crate) use hub::{Hub, Woke};

use crate::{
    acquire::{Locked, try_operation},
    error::{LockError, Result},
    file::{Kind, Place},
};

/// The kernel reports the close of a dying holder just before it drops the lock, and a holder
/// whose child shares the descriptor writes its end just before it unlocks: look once more.
pub(crate) const JUST_AFTER: Duration = Duration::from_millis(1);
/// A look in case an event was lost (the kernel's queue overflowed, or a holder that is not lockfn
/// unlocked without closing).
pub(crate) const SAFETY: Duration = Duration::from_secs(1);

/// Waits for the lock; `None` at the deadline. Dropping the future leaves nothing behind.
pub(crate) async fn acquire(
    place: &Arc<Place>,
    kind: Kind,
    deadline: Option<Instant>,
) -> Result<Option<Locked>> {
    let hub = hub(place)?;
    // Shared waiters all leave together; only exclusive ones gain by standing in line.
    let turn = (kind == Kind::Exclusive).then(|| queue::Queue::join(hub.line(&place.path)));
    if let Some(turn) = &turn
        && !first_in_line(hub, turn, deadline).await
    {
        return Ok(None);
    }
    for round in 0.. {
        let opened = place.open(round)?;
        place.examine(&opened)?;
        let Ok(watch) = hub.watch(&opened.fd, &place.full) else {
            return fallback::acquire(hub, place, kind, deadline).await;
        };
        let mut look = None;
        // Only now that no release can be missed is it worth trying.
        while !place.flock(&opened.fd, try_operation(kind))? {
            let now = Instant::now();
            if deadline.is_some_and(|deadline| deadline <= now) {
                return Ok(None);
            }
            let until = sooner(look.unwrap_or(now + SAFETY), deadline);
            look = match watch.wait(until).await {
                Woke::Event => Some(Instant::now() + JUST_AFTER),
                Woke::Due => None,
            };
        }
        drop(watch);
        if let Some(locked) = place.verified(opened, kind)? {
            return Ok(Some(locked.contended()));
        }
    }
    Ok(None)
}

pub(crate) fn hub(place: &Place) -> Result<&'static Hub> {
    Hub::current().map_err(|source| LockError::Io {
        action: "start waiting for",
        path: place.path.clone(),
        source,
    })
}

async fn first_in_line(hub: &'static Hub, turn: &queue::Turn, deadline: Option<Instant>) -> bool {
    let mut due = deadline.map(|deadline| Box::pin(hub.sleep(deadline)));
    poll_fn(|cx| {
        if turn.poll_first(cx).is_ready() {
            return Poll::Ready(true);
        }
        match &mut due {
            Some(due) => due.as_mut().poll(cx).map(|()| false),
            None => Poll::Pending,
        }
    })
    .await
}

pub(crate) fn sooner(until: Instant, deadline: Option<Instant>) -> Instant {
    deadline.map_or(until, |deadline| deadline.min(until))
}

/// Runs a future on this thread.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}
