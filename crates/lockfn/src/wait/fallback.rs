//! Waiting where there are no file events (not Linux, or the user's inotify instances are used
//! up): one thread waits in the kernel's queue on the waiter's behalf.
//!
//! Such a thread cannot be called back. If its waiter has gone it gives the lock back the moment
//! it gets it.

use std::{
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, Waker},
    time::Instant,
};

use super::hub::Hub;
use crate::{
    acquire::{Locked, Opened},
    error::{LockError, Result},
    file::{Kind, Place},
};

pub(crate) async fn acquire(
    hub: &'static Hub,
    place: &Arc<Place>,
    kind: Kind,
    deadline: Option<Instant>,
    busy: Opened,
) -> Result<Option<Locked>> {
    let answer = Answer {
        hub,
        errand: Errand::start(place, kind, busy)?,
    };
    let locked = hub.within(deadline, |cx| answer.poll(cx)).await;
    locked.transpose()
}

/// What the thread and its waiter share.
#[derive(Debug, Default)]
struct Errand(Mutex<Progress>);

#[derive(Debug, Default)]
struct Progress {
    locked: Option<Result<Locked>>,
    waker: Option<Waker>,
    nobody_waits: bool,
}

impl Errand {
    fn start(place: &Arc<Place>, kind: Kind, busy: Opened) -> Result<Arc<Self>> {
        let errand = Arc::new(Self::default());
        let (theirs, place) = (Arc::clone(&errand), Arc::clone(place));
        let failed_at = place.path.clone();
        std::thread::Builder::new()
            .name("lockfn-waiter".to_owned())
            .spawn(move || theirs.finish(place.wait_blocking(kind, busy)))
            .map_err(|source| LockError::Io {
                action: "start waiting for",
                path: failed_at,
                source,
            })?;
        Ok(errand)
    }

    fn finish(&self, locked: Result<Locked>) {
        let mut progress = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if progress.nobody_waits {
            return;
        }
        progress.locked = Some(locked);
        if let Some(waker) = progress.waker.take() {
            drop(progress);
            waker.wake();
        }
    }
}

struct Answer {
    hub: &'static Hub,
    errand: Arc<Errand>,
}

impl Answer {
    fn poll(&self, cx: &Context<'_>) -> Poll<Result<Locked>> {
        let mut progress = self.errand.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(locked) = progress.locked.take() {
            return Poll::Ready(locked);
        }
        progress.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if !self.hub.is_ours() {
            return;
        }
        let mut progress = self.errand.0.lock().unwrap_or_else(PoisonError::into_inner);
        progress.nobody_waits = true;
        drop(progress.locked.take());
    }
}
