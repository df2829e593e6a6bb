//! Waiting for a lock without polling, with a deadline, on any executor.
//!
//! One thread per process (`hub`) hears from the kernel when a watched lock file is closed and
//! keeps the timers; exclusive waiters of one process stand in one line per lock (`queue`), so
//! that only the first of them reacts to each release.

pub(crate) mod fallback;
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

use hub::{Hub, Watch, Woke};

use crate::{
    acquire::{Locked, Opened, try_operation},
    error::{LockError, Result},
    file::{Kind, Place},
    record::Head,
};

/// When to look at a watched lock although nothing was heard of it.
///
/// After an event, a few times: the kernel reports the close of a dying holder just before it drops
/// the lock, and a holder whose child shares the descriptor writes its end just before it unlocks.
/// Otherwise only while the holder is nobody who is known to report its end.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    after_event: Option<Duration>,
}

/// Races lost before a waiter joins the kernel's queue.
const PATIENCE: u32 = 64;
const JUST_AFTER: Duration = Duration::from_millis(1);
const LONG_AFTER: Duration = Duration::from_secs(1);
const UNKNOWN_HOLDER: Duration = Duration::from_secs(1);

impl Looks {
    /// Waits for the next reason to try; the lock was busy a moment ago.
    pub(crate) async fn next(&mut self, opened: &Opened, watch: &Watch, deadline: Option<Instant>) {
        let look = self.after_event.or_else(|| {
            let known = Head::read(&opened.fd).is_some_and(|head| head.seems_alive());
            (!known).then_some(UNKNOWN_HOLDER)
        });
        let look = look.and_then(|look| Instant::now().checked_add(look));
        let until = match (look, deadline) {
            (Some(look), Some(deadline)) => Some(look.min(deadline)),
            (look, deadline) => look.or(deadline),
        };
        self.after_event = match watch.wait(until).await {
            Woke::Event => Some(JUST_AFTER),
            Woke::Due => self
                .after_event
                .map(|after| after * 10)
                .filter(|after| *after <= LONG_AFTER),
        };
    }
}

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
    let mut lost_races = 0;
    for round in 0.. {
        let mut opened = place.open(round)?;
        opened.waited();
        place.examine(&opened)?;
        let Ok(watch) = hub.watch(&opened.fd, &place.full) else {
            return fallback::acquire(hub, place, kind, deadline).await;
        };
        let mut looks = Looks::default();
        // Only now that no release can be missed is it worth trying.
        while !place.flock(&opened.fd, try_operation(kind))? {
            if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                return Ok(None);
            }
            // Those in the kernel's queue are woken sooner than those who hear of a release: who
            // comes too late too often goes and stands in that queue as well, so nobody starves.
            lost_races += 1;
            if lost_races > PATIENCE {
                return fallback::acquire(hub, place, kind, deadline).await;
            }
            looks.next(&opened, &watch, deadline).await;
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
