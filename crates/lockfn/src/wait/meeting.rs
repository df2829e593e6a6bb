//! Where the listener and one waiter meet: what was heard of the waiter's file, and whether that is
//! worth waking it for.
//!
//! Checked with loom in `tests/it/meeting.rs`, which includes this file with loom's locks.

use std::{
    sync::PoisonError,
    task::{Context, Poll, Waker},
};

use super::{
    news::News,
    sync::{Mutex, MutexGuard},
};

/// `T` is what the waiter lends to the listener, so that it can tell news that matter from others.
#[derive(Debug)]
pub(crate) struct Meeting<T> {
    heard: Mutex<Heard<T>>,
}

#[derive(Debug)]
struct Heard<T> {
    /// What was heard and not yet looked at.
    news: Option<News>,
    waker: Option<Waker>,
    lent: Option<T>,
    /// Whether the one who lent something is to have it back.
    matters: bool,
}

impl<T> Meeting<T> {
    pub(crate) fn new() -> Self {
        Self {
            heard: Mutex::new(Heard {
                news: None,
                waker: None,
                lent: None,
                matters: false,
            }),
        }
    }

    fn heard(&self) -> MutexGuard<'_, Heard<T>> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The listener's part: something was heard.
    pub(crate) fn tell(&self, news: News, matters: impl FnOnce(&mut T, News) -> bool) {
        let waker = {
            let mut heard = self.heard();
            if !heard.hear(news, matters) {
                return;
            }
            heard.waker.take()
        };
        // Outside the lock: a waker may run anything.
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Leaves `lent` to the listener until something is heard that matters; what was heard since
    /// the last [`Meeting::recall`] counts.
    pub(crate) fn lend(&self, lent: T, matters: impl FnOnce(&mut T, News) -> bool) {
        let mut heard = self.heard();
        heard.lent = Some(lent);
        heard.matters = false;
        if let Some(news) = heard.news.take() {
            heard.hear(news, matters);
        }
    }

    /// Ready when something was heard that matters, or that nobody has looked at.
    pub(crate) fn poll(&self, cx: &Context<'_>) -> Poll<()> {
        let mut heard = self.heard();
        if heard.matters || heard.news.take().is_some() {
            return Poll::Ready(());
        }
        heard.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Takes back what was lent. What is heard from now on is news.
    pub(crate) fn recall(&self) -> Option<T> {
        let mut heard = self.heard();
        heard.matters = false;
        heard.news = None;
        heard.lent.take()
    }
}

impl<T> Heard<T> {
    /// Whether somebody is to be woken.
    fn hear(&mut self, news: News, matters: impl FnOnce(&mut T, News) -> bool) -> bool {
        match &mut self.lent {
            Some(lent) => self.matters = self.matters || matters(lent, news),
            None => self.news = self.news.max(Some(news)),
        }
        self.matters || self.news.is_some()
    }
}
