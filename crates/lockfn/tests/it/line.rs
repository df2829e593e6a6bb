//! The in-process line of waiters under loom: every interleaving of joining, waiting, leaving.

mod sync {
    pub(crate) use loom::sync::{Arc, Mutex};
}

#[path = "../../src/wait/queue.rs"]
mod queue;

use std::{
    future::poll_fn,
    task::{Context, Poll, Waker},
};

use loom::{
    future::block_on,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
};
use queue::Queue;

#[test]
fn everybody_in_line_gets_a_turn_one_at_a_time() {
    loom::model(|| {
        let line = Arc::new(Queue::new());
        let inside = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let (line, inside) = (Arc::clone(&line), Arc::clone(&inside));
                thread::spawn(move || {
                    let turn = Queue::join(line);
                    block_on(poll_fn(|cx| turn.poll_first(cx)));
                    assert_eq!(inside.fetch_add(1, SeqCst), 0);
                    inside.fetch_sub(1, SeqCst);
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

#[test]
fn one_who_leaves_wakes_the_next_wherever_it_stood() {
    // Four preemptions: all interleavings of three threads would take a minute.
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(4);
    model.check(|| {
        let line = Arc::new(Queue::new());
        let first = Queue::join(Arc::clone(&line));
        let leaver = {
            let line = Arc::clone(&line);
            thread::spawn(move || {
                let turn = Queue::join(line);
                let cx = Context::from_waker(Waker::noop());
                // Looks once and goes away, first or not.
                let _looked: Poll<()> = turn.poll_first(&cx);
            })
        };
        let stayer = {
            let line = Arc::clone(&line);
            thread::spawn(move || {
                let turn = Queue::join(line);
                block_on(poll_fn(|cx| turn.poll_first(cx)));
            })
        };
        drop(first);
        leaver.join().unwrap();
        stayer.join().unwrap();
    });
}
