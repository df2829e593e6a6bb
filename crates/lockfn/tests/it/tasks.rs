//! Async: waiting never blocks the executor, cancelling leaves nothing behind, any executor will
//! do.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

use lockfn::{LockError, LockFile, Outcome, lock_function};

use crate::{
    actor::{Actor, futures_lite},
    calls,
    core::{place, text},
};

#[lock_function(mode = "wait")]
async fn one_at_a_time(inside: &AtomicUsize) -> Result<(), LockError> {
    assert_eq!(inside.fetch_add(1, SeqCst), 0);
    tokio::time::sleep(Duration::from_millis(2)).await;
    inside.fetch_sub(1, SeqCst);
    Ok(())
}

#[lock_function(path = path)]
async fn refresh(path: &std::path::Path, forever: bool) -> Result<Outcome<u8>, LockError> {
    if forever {
        std::future::pending::<()>().await;
    }
    Ok(Outcome::Ran(5))
}

#[lock_function(mode = "wait", delay = "40ms", path = path)]
async fn update(path: &std::path::Path) -> Result<(), LockError> {
    tokio::task::yield_now().await;
    Ok(())
}

#[tokio::test(flavor = "current_thread")]
async fn waiting_does_not_block_the_executor() {
    calls::locks();
    let inside = Arc::new(AtomicUsize::new(0));
    let ticks = Arc::new(AtomicUsize::new(0));
    let ticker = tokio::spawn({
        let ticks = Arc::clone(&ticks);
        async move {
            loop {
                ticks.fetch_add(1, SeqCst);
                tokio::task::yield_now().await;
            }
        }
    });
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let inside = Arc::clone(&inside);
            tokio::spawn(async move { one_at_a_time(&inside).await.unwrap() })
        })
        .collect();
    for call in calls {
        call.await.unwrap();
    }
    ticker.abort();
    assert!(ticks.load(SeqCst) > 100, "{ticks:?}");
}

#[tokio::test(flavor = "current_thread")]
async fn the_lock_is_held_until_the_async_body_ends_and_cancelling_it_releases() {
    let (_dir, lock) = place();
    let path = lock.path().to_owned();
    let body = tokio::spawn({
        let path = path.clone();
        async move { refresh(&path, true).await }
    });
    while !lock.is_held().unwrap() {
        tokio::task::yield_now().await;
    }
    assert!(refresh(&path, false).await.unwrap().is_skipped());
    body.abort();
    assert!(body.await.unwrap_err().is_cancelled());
    assert!(!lock.is_held().unwrap());
    assert_eq!(refresh(&path, false).await.unwrap().ran(), Some(5));
}

#[tokio::test(flavor = "current_thread")]
async fn fifty_cancelled_waiters_leave_nothing_in_the_kernel() {
    let (_dir, lock) = place();
    let guard = lock.lock().unwrap();
    for _ in 0..50 {
        let waiter = tokio::time::timeout(Duration::from_millis(1), lock.lock_async());
        assert!(waiter.await.is_err());
    }
    let queued = std::fs::read_to_string("/proc/locks").unwrap();
    let inode = std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(lock.path()).unwrap());
    let ours = format!(":{inode} ");
    assert!(
        !queued
            .lines()
            .any(|line| line.contains("->") && line.contains(&ours))
    );
    assert!(!is_watched(inode));
    drop(guard);
    let again = lock.try_lock().unwrap();
    assert!(again.is_some());
}

fn is_watched(inode: u64) -> bool {
    let watched = format!("ino:{inode:x} ");
    std::fs::read_dir("/proc/self/fdinfo")
        .unwrap()
        .any(|entry| {
            std::fs::read_to_string(entry.unwrap().path())
                .unwrap_or_default()
                .lines()
                .any(|line| line.starts_with("inotify") && line.contains(&watched))
        })
}

#[test]
fn a_runtime_ends_at_once_although_its_task_waits_for_a_lock() {
    let (_dir, lock) = place();
    let mut holder = Actor::start("hold", &[&text(&lock)]);
    holder.hears();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    runtime.spawn({
        let lock = lock.clone();
        async move { drop(lock.lock_async().await) }
    });
    crate::core::until_waiting(&lock);
    let start = Instant::now();
    drop(runtime);
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "{:?}",
        start.elapsed()
    );
    holder.go_on();
    holder.expect("released");
    assert!(!lock.is_held().unwrap());
    holder.ends();
}

#[test]
fn a_cancelled_waiter_in_the_middle_of_the_line_does_not_break_it() {
    let (_dir, lock) = place();
    let guard = lock.lock().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let wait =
            |lock: LockFile| tokio::spawn(async move { drop(lock.lock_async().await.unwrap()) });
        let waiters: Vec<_> = (0..5).map(|_| wait(lock.clone())).collect();
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        waiters[0].abort();
        waiters[2].abort();
        drop(guard);
        for (number, waiter) in waiters.into_iter().enumerate() {
            assert_eq!(
                waiter.await.is_ok(),
                number != 0 && number != 2,
                "waiter {number}"
            );
        }
    });
}

#[test]
fn no_runtime_is_needed() {
    let (_dir, lock) = place();
    let mut holder = Actor::start("hold", &[&text(&lock)]);
    holder.hears();
    let path = lock.path().to_owned();
    let waiter = std::thread::spawn(move || futures_lite(update(&path)).unwrap());
    crate::core::until_waiting(&lock);
    holder.go_on();
    holder.expect("released");
    waiter.join().unwrap();
    holder.ends();
}

#[test]
fn waiting_works_in_a_program_that_has_used_up_its_inotify_instances() {
    // The fall-back: a thread in the kernel's queue.
    let mut actor = Actor::start("no-inotify", &[]);
    actor.expect("waited");
    actor.ends();
}
