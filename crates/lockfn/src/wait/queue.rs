//! The line of one lock's waiters within this process: first come, first served; anybody may
//! leave at any time.
//!
//! Checked with loom in `tests/it/line.rs`, which includes this file with loom's locks.

use std::{
    collections::VecDeque,
    sync::PoisonError,
    task::{Context, Poll, Waker},
};

use super::sync::{Arc, Mutex};

/// The waiters of one lock.
#[derive(Debug)]
pub(crate) struct Queue {
    line: Mutex<Line>,
}

#[derive(Debug)]
struct Line {
    next: u64,
    /// The first one has the turn.
    places: VecDeque<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    ticket: u64,
    waker: Option<Waker>,
}

/// A place in the line; dropping it leaves.
#[derive(Debug)]
pub(crate) struct Turn {
    queue: Arc<Queue>,
    ticket: u64,
}

impl Queue {
    pub(crate) fn new() -> Self {
        Self {
            line: Mutex::new(Line {
                next: 0,
                places: VecDeque::new(),
            }),
        }
    }

    /// A place at the end of the line.
    pub(crate) fn join(queue: Arc<Self>) -> Turn {
        let ticket = {
            let mut line = queue.line.lock().unwrap_or_else(PoisonError::into_inner);
            let ticket = line.next;
            line.next += 1;
            line.places.push_back(Waiting {
                ticket,
                waker: None,
            });
            ticket
        };
        Turn { queue, ticket }
    }
}

impl Turn {
    /// Ready once everybody before has left.
    pub(crate) fn poll_first(&self, cx: &Context<'_>) -> Poll<()> {
        let mut line = self
            .queue
            .line
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if line
            .places
            .front()
            .is_some_and(|first| first.ticket == self.ticket)
        {
            return Poll::Ready(());
        }
        if let Some(place) = line
            .places
            .iter_mut()
            .find(|place| place.ticket == self.ticket)
        {
            place.waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let next = {
            let mut line = self
                .queue
                .line
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let was_first = line
                .places
                .front()
                .is_some_and(|first| first.ticket == self.ticket);
            line.places.retain(|place| place.ticket != self.ticket);
            match line.places.front_mut() {
                Some(first) if was_first => first.waker.take(),
                _ => None,
            }
        };
        // Outside the lock: a waker may run anything.
        if let Some(next) = next {
            next.wake();
        }
    }
}
