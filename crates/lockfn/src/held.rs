//! The locks that the running call chain holds: a stack per thread, which an `async` body brings
//! along at each of its polls, so that it follows the task across threads.

use std::{
    cell::RefCell,
    future::Future,
    marker::PhantomData,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use pin_project_lite::pin_project;

use crate::{file::Place, guard::LockGuard, record::Holder};

/// One held lock.
#[derive(Clone, Debug)]
struct Held {
    place: Arc<Place>,
    file: (u64, u64),
    token: u64,
    abandoned: Option<Arc<Holder>>,
}

thread_local! {
    static CHAIN: RefCell<Vec<Held>> = const { RefCell::new(Vec::new()) };
}

/// Whether this call chain holds the lock at this path.
pub(crate) fn holds_path(place: &Place) -> bool {
    CHAIN.with_borrow(|chain| chain.iter().any(|held| held.place.path == place.path))
}

/// Whether this call chain holds the lock of this file (device and inode), under whatever path.
pub(crate) fn holds_file(file: (u64, u64)) -> bool {
    CHAIN.with_borrow(|chain| chain.iter().any(|held| held.file == file))
}

/// The innermost lock that an attribute took for the running code.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Current {
    /// The lock's name.
    pub name: String,
    /// The fencing token of this hold: see [`LockGuard::token`].
    pub token: u64,
    /// The previous holder, if it died in the body: see [`LockGuard::abandoned`].
    pub abandoned: Option<Arc<Holder>>,
}

/// The hold of the innermost `#[lock_function]` around the running code, in the same call chain.
///
/// ```no_run
/// #[lockfn::lock_function(mode = "wait", on_error = "panic")]
/// fn settle() {
///     if let Some(hold) = lockfn::current()
///         && let Some(previous) = hold.abandoned
///     {
///         eprintln!("{previous} died in here: its work may be half done");
///     }
/// }
/// ```
pub fn current() -> Option<Current> {
    CHAIN.with_borrow(|chain| {
        chain.last().map(|held| Current {
            name: held.place.label.clone(),
            token: held.token,
            abandoned: held.abandoned.clone(),
        })
    })
}

/// The lock of one call; without a guard if the call chain holds it already (`reentrant`).
#[derive(Debug)]
pub struct Hold {
    guard: Option<LockGuard>,
    held: Option<Held>,
}

impl Hold {
    pub(crate) fn of(guard: LockGuard) -> Self {
        let held = Held {
            place: Arc::clone(&guard.place),
            file: guard.file,
            token: guard.token(),
            abandoned: guard.abandoned.clone(),
        };
        Self {
            guard: Some(guard),
            held: Some(held),
        }
    }

    pub(crate) fn again() -> Self {
        Self {
            guard: None,
            held: None,
        }
    }

    /// The guard alone, for a caller that is no function.
    pub fn into_guard(self) -> Option<LockGuard> {
        self.guard
    }

    /// Marks the lock as held by this thread until the scope is dropped.
    pub fn on_this_thread(mut self) -> ThreadScope {
        let marked = self.held.take().map(Mark::set);
        ThreadScope {
            _marked: marked,
            _guard: self.guard,
        }
    }
}

/// See [`Hold::on_this_thread`]. Unmarks first, then releases.
#[derive(Debug)]
pub struct ThreadScope {
    _marked: Option<Mark>,
    _guard: Option<LockGuard>,
}

/// An entry of this thread's chain.
#[derive(Debug)]
struct Mark(PhantomData<*const ()>);

impl Mark {
    fn set(held: Held) -> Self {
        CHAIN.with_borrow_mut(|chain| chain.push(held));
        Self(PhantomData)
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        // A mark never outlives the call or the poll that set it, so its entry is the last one.
        CHAIN.with_borrow_mut(|chain| drop(chain.pop()));
    }
}

pin_project! {
    /// An `async` body and its lock: marked as held while the body is polled, whichever thread
    /// polls it; dropped in this order, body first.
    #[derive(Debug)]
    pub struct InLock<F> {
        #[pin]
        body: F,
        hold: Hold,
    }
}

impl<F: Future> InLock<F> {
    /// Runs `body` in the lock.
    pub fn new(hold: Hold, body: F) -> Self {
        Self { body, hold }
    }
}

impl<F: Future> Future for InLock<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let _mark = this.hold.held.clone().map(Mark::set);
        this.body.poll(cx)
    }
}
