//! Waiting for a lock without polling, with a deadline, on any executor.
//!
//! One thread per process, the listener (`hub`), hears from the kernel (`events`) when a watched
//! lock file is closed, wakes whoever waits for it (`watch`, `meeting`) to try (`busy`), and keeps
//! the timers; exclusive waiters of one process stand in one line per lock (`queue`), so that only
//! the first of them reacts to each release.

mod busy;
mod events;
pub(crate) mod fallback;
mod hub;
mod looks;
mod meeting;
mod news;
mod queue;
/// The locks of `queue` and `meeting`, which the tests replace by loom's.
mod sync {
    pub(crate) use std::sync::{Arc, Mutex, MutexGuard};
}
mod watch;

use std::{
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread::Thread,
    time::Instant,
};

use busy::Busy;
use hub::Hub;
pub(crate) use looks::Looks;
use watch::Watch;
pub(crate) use watch::Woke;

use crate::{
    acquire::{Locked, Opened, try_operation},
    error::{LockError, Result},
    file::{Kind, Place},
};

/// Waits for the lock, whose file was just found locked; `None` at the deadline. Dropping the
/// future leaves nothing behind.
pub(crate) async fn acquire(
    place: &Arc<Place>,
    kind: Kind,
    deadline: Option<Instant>,
    busy: Opened,
) -> Result<Option<Locked>> {
    let hub = hub(place)?;
    // Shared waiters all leave together; only exclusive ones gain by standing in line.
    let turn = (kind == Kind::Exclusive).then(|| hub.join(&place.path));
    if let Some(turn) = &turn {
        let first = hub.within(deadline, |cx| turn.poll_first(cx));
        if first.await.is_none() {
            return Ok(None);
        }
    }
    let mut next = Some(busy);
    for round in 0.. {
        let mut opened = match next.take() {
            Some(busy) => busy,
            None => place.open(round)?,
        };
        place.examine(&opened)?;
        let Ok(watch) = hub.watch(&opened.fd, &place.full) else {
            return fallback::acquire(hub, place, kind, deadline, opened).await;
        };
        // Only now that no release can be missed is it worth trying.
        if !place.flock(&opened.fd, try_operation(kind))? {
            place.say_who_waits(&opened);
            opened = match lock_watched(place, kind, deadline, &watch, opened).await? {
                Tried::Locked(opened) => opened,
                Tried::TimedOut => return Ok(None),
                // Those in the kernel's queue are woken sooner than those who hear of a release:
                // who comes too late too often goes and stands in that queue as well.
                Tried::Outpaced(opened) => {
                    return fallback::acquire(hub, place, kind, deadline, opened).await;
                }
            };
        }
        drop(watch);
        if let Some(locked) = place.verified(opened, kind)? {
            return Ok(Some(locked.contended()));
        }
    }
    Ok(None)
}

/// How trying for a watched lock ended.
enum Tried {
    Locked(Opened),
    TimedOut,
    /// Others were quicker too often.
    Outpaced(Opened),
}

/// Tries whenever the lock, which was just found busy, may be free.
async fn lock_watched(
    place: &Place,
    kind: Kind,
    deadline: Option<Instant>,
    watch: &Watch,
    opened: Opened,
) -> Result<Tried> {
    let mut busy = Busy::new(opened);
    loop {
        let until = busy.wait_until(deadline);
        let (Some(mut again), woke) = watch.may_be_free(busy, until).await else {
            return Ok(Tried::TimedOut);
        };
        // At the deadline as well: the lock may have become free at the last moment.
        if place.flock(&again.opened.fd, try_operation(kind))? {
            return Ok(Tried::Locked(again.opened));
        }
        if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            return Ok(Tried::TimedOut);
        }
        if !again.lost(woke) {
            return Ok(Tried::Outpaced(again.opened));
        }
        busy = again;
    }
}

pub(crate) fn hub(place: &Place) -> Result<&'static Hub> {
    Hub::current().map_err(|source| LockError::Io {
        action: "start waiting for",
        path: place.path.clone(),
        source,
    })
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
