//! Where the listener and a waiter meet, under loom: no release is missed, whenever it is heard.

mod sync {
    pub(crate) use loom::sync::{Mutex, MutexGuard};
}

#[path = "../../src/wait/news.rs"]
mod news;

#[path = "../../src/wait/meeting.rs"]
mod meeting_place;

use std::{
    future::poll_fn,
    task::{Context, Waker},
};

use loom::{
    future::block_on,
    sync::{Arc, Mutex},
    thread,
};
use meeting_place::Meeting;
use news::News;

/// What a record says to the listener: the end of a hold is a release, its beginning is not.
fn is_release(_: &mut (), news: News) -> bool {
    news == News::Closed
}

#[test]
fn a_waiter_that_tries_before_it_sleeps_misses_no_release() {
    loom::model(|| {
        let meeting = Arc::new(Meeting::new());
        let free = Arc::new(Mutex::new(false));
        let listener = {
            let (meeting, free) = (Arc::clone(&meeting), Arc::clone(&free));
            thread::spawn(move || {
                meeting.tell(News::Changed, is_release);
                *free.lock().unwrap() = true;
                meeting.tell(News::Closed, is_release);
            })
        };
        while !std::mem::take(&mut *free.lock().unwrap()) {
            meeting.lend((), is_release);
            block_on(poll_fn(|cx| meeting.poll(cx)));
            assert!(meeting.recall().is_some());
        }
        listener.join().unwrap();
    });
}

#[test]
fn one_who_only_listens_hears_everything() {
    loom::model(|| {
        let meeting = Arc::new(Meeting::<()>::new());
        let listener = {
            let meeting = Arc::clone(&meeting);
            thread::spawn(move || meeting.tell(News::Changed, is_release))
        };
        block_on(poll_fn(|cx| meeting.poll(cx)));
        listener.join().unwrap();
    });
}

#[test]
fn what_does_not_matter_wakes_nobody() {
    loom::model(|| {
        let meeting = Meeting::new();
        let cx = Context::from_waker(Waker::noop());
        meeting.tell(News::Changed, is_release);
        meeting.lend((), is_release);
        assert!(meeting.poll(&cx).is_pending());
        meeting.tell(News::Changed, is_release);
        assert!(meeting.poll(&cx).is_pending());
        meeting.tell(News::Closed, is_release);
        assert!(meeting.poll(&cx).is_ready());
        // Heard before the try that follows: that try is the answer to it.
        assert!(meeting.recall().is_some());
        meeting.lend((), is_release);
        assert!(meeting.poll(&cx).is_pending());
    });
}
