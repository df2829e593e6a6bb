//! Functions under the attribute, called by tests and by actors; each test has its own key.

use std::{path::Path, sync::Once, time::Duration};

use lockfn::{LockDir, LockError, Outcome, lock_function};

/// The directory of all named locks of this test run.
pub(crate) fn locks() -> &'static Path {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let dir = std::env::temp_dir().join(format!("lockfn-it-{}", std::process::id()));
        share_locks(&dir);
    });
    LockDir::user_default().unwrap().path()
}

pub(crate) fn share_locks(dir: &Path) {
    LockDir::private(dir).unwrap().make_default().unwrap();
}

pub(crate) type Body<'a> = &'a mut (dyn FnMut() + Send);

#[lock_function(key = id)]
pub(crate) fn skip(id: &str, body: Body<'_>) -> Result<Outcome<()>, LockError> {
    body();
    Ok(Outcome::Ran(()))
}

#[lock_function(mode = "skip", delay = pause, key = id)]
pub(crate) fn skip_pause(
    id: &str,
    pause: Duration,
    body: Body<'_>,
) -> Result<Outcome<()>, LockError> {
    body();
    Ok(Outcome::Ran(()))
}

#[lock_function(mode = "wait", delay = pause, key = id)]
pub(crate) fn wait_pause(
    id: &str,
    pause: Duration,
    body: Body<'_>,
) -> Result<Outcome<()>, LockError> {
    body();
    Ok(Outcome::Ran(()))
}

#[lock_function(mode = "wait", timeout = limit, key = id)]
pub(crate) fn wait_at_most(
    id: &str,
    limit: Duration,
    body: Body<'_>,
) -> Result<Outcome<()>, LockError> {
    body();
    Ok(Outcome::Ran(()))
}

#[lock_function(mode = "try", key = id)]
pub(crate) fn only_now(id: &str, body: Body<'_>) -> Result<Outcome<()>, LockError> {
    body();
    Ok(Outcome::Ran(()))
}

/// One of the above, by name.
pub(crate) fn call(
    which: &str,
    id: &str,
    time: Duration,
    body: Body<'_>,
) -> Result<Outcome<()>, LockError> {
    match which {
        "skip" => skip(id, body),
        "skip_pause" => skip_pause(id, time, body),
        "wait_pause" => wait_pause(id, time, body),
        "wait_at_most" => wait_at_most(id, time, body),
        "try" => only_now(id, body),
        which => panic!("no function {which}"),
    }
}
