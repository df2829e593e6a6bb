//! Recursion is an error (or a skip), never a hang, and only real recursion is.

use std::time::Duration;

use lockfn::{LockError, Outcome, SkipReason, lock_function};

use crate::calls;

type R<T> = Result<T, LockError>;

#[lock_function(mode = "wait")]
fn direct(depth: u8) -> R<u8> {
    if depth == 0 { Ok(0) } else { direct(depth - 1) }
}

#[lock_function(mode = "wait", reentrant)]
fn reentrant(depth: u64) -> R<u64> {
    if depth == 0 {
        Ok(1)
    } else {
        Ok(depth * reentrant(depth - 1)?)
    }
}

#[lock_function(mode = "wait", key = "m")]
fn mutual(depth: u8) -> R<u8> {
    if depth == 0 { Ok(0) } else { other(depth) }
}

#[lock_function(mode = "wait")]
fn other(depth: u8) -> R<u8> {
    mutual(depth - 1)
}

#[lock_function(mode = "wait")]
fn with_callback(callback: &mut dyn FnMut() -> R<u8>) -> R<u8> {
    callback()
}

#[lock_function(mode = "skip", delay = 3600)]
fn skipping(depth: u8) -> R<Outcome<u8>> {
    if depth == 0 {
        Ok(Outcome::Ran(7))
    } else {
        skipping(depth - 1)
    }
}

#[lock_function(mode = "wait", path = path)]
fn at_path(path: &std::path::Path, then: Option<&std::path::Path>) -> R<()> {
    then.map_or(Ok(()), |then| at_path(then, None))
}

#[lock_function(mode = "wait")]
async fn in_task(depth: u8) -> R<u8> {
    if depth == 0 {
        Ok(0)
    } else {
        Box::pin(in_task(depth - 1)).await
    }
}

#[lock_function(mode = "wait")]
async fn slow() -> R<()> {
    tokio::time::sleep(Duration::from_millis(10)).await;
    Ok(())
}

#[test]
fn recursion_is_an_error_and_the_lock_is_free_afterwards() {
    calls::locks();
    for _ in 0..2 {
        assert!(matches!(direct(3), Err(LockError::WouldDeadlock { .. })));
        assert!(matches!(mutual(2), Err(LockError::WouldDeadlock { .. })));
        let inner = &mut || with_callback(&mut || Ok(0));
        assert!(matches!(
            with_callback(inner),
            Err(LockError::WouldDeadlock { .. })
        ));
        assert_eq!(direct(0).unwrap(), 0);
    }
}

#[test]
fn recursion_of_a_skipping_function_is_skipped_as_recursive_even_with_a_delay() {
    calls::locks();
    let outcome = skipping(1).unwrap();
    assert_eq!(outcome.skipped().unwrap().reason, SkipReason::Recursive);
    assert!(
        outcome
            .skipped()
            .unwrap()
            .to_string()
            .starts_with("skipped, recursive")
    );
    assert_eq!(skipping(0).unwrap().ran(), Some(7));
}

#[test]
fn a_reentrant_function_may_call_itself() {
    calls::locks();
    assert_eq!(reentrant(5).unwrap(), 120);
    assert!(lockfn::current().is_none());
}

#[test]
fn recursion_is_seen_through_another_path_to_the_same_file() {
    let dir = tempfile::tempdir().unwrap();
    let real = dir.path().join("real");
    std::fs::create_dir(&real).unwrap();
    let other = dir.path().join("link");
    std::os::unix::fs::symlink(&real, &other).unwrap();
    let error = at_path(&real.join("x.lock"), Some(&other.join("x.lock"))).unwrap_err();
    assert!(matches!(error, LockError::WouldDeadlock { .. }), "{error}");
    at_path(&real.join("x.lock"), Some(&real.join("y.lock"))).unwrap();
}

#[test]
fn another_thread_is_not_taken_for_recursion() {
    calls::locks();
    let error = with_callback(&mut || {
        std::thread::scope(|scope| scope.spawn(|| direct(0)).join().unwrap())
    });
    assert_eq!(error.unwrap(), 0);
}

#[tokio::test(flavor = "current_thread")]
async fn a_task_that_awaits_itself_is_recursion_and_siblings_are_not() {
    calls::locks();
    assert!(matches!(
        in_task(2).await,
        Err(LockError::WouldDeadlock { .. })
    ));
    // Two futures of one task, and two tasks of one thread.
    let (one, two) = tokio::join!(slow(), slow());
    one.and(two).unwrap();
    let (one, two) = (tokio::spawn(slow()), tokio::spawn(slow()));
    one.await.unwrap().unwrap();
    two.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_chain_follows_a_task_from_thread_to_thread() {
    #[lock_function(mode = "wait")]
    async fn wanders() -> R<()> {
        for _ in 0..50 {
            tokio::task::yield_now().await;
            assert!(lockfn::current().unwrap().name.ends_with("wanders"));
        }
        let nested = Box::pin(wanders()).await;
        assert!(matches!(nested, Err(LockError::WouldDeadlock { .. })));
        Ok(())
    }
    calls::locks();
    let tasks: Vec<_> = (0..4).map(|_| tokio::spawn(wanders())).collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    assert!(lockfn::current().is_none());
}
