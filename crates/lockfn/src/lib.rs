#![doc = include_str!("../README.md")]

#[cfg(not(unix))]
compile_error!(
    "lockfn knows no file locks of this system yet: it works on Linux and compiles for macOS"
);

#[cfg(unix)]
mod acquire;
#[cfg(unix)]
mod call;
#[cfg(unix)]
mod clock;
#[cfg(unix)]
mod dir;
#[cfg(unix)]
mod error;
#[cfg(unix)]
mod facts;
#[cfg(unix)]
mod fair;
#[cfg(unix)]
mod file;
#[cfg(unix)]
mod guard;
#[cfg(unix)]
mod held;
#[cfg(unix)]
mod name;
#[cfg(unix)]
mod network;
#[cfg(unix)]
mod outcome;
#[cfg(unix)]
mod pause;
#[cfg(unix)]
mod probe;
#[cfg(unix)]
mod process;
#[cfg(unix)]
mod record;
#[cfg(unix)]
mod site;
#[cfg(unix)]
mod wait;

#[cfg(unix)]
pub use dir::LockDir;
#[cfg(unix)]
pub use error::{LockError, Result};
#[cfg(unix)]
pub use file::{Kind, LockFile, Wait};
#[cfg(unix)]
pub use guard::LockGuard;
#[cfg(unix)]
pub use held::{Current, current};
#[cfg(unix)]
pub use lockfn_macros::lock_function;
#[cfg(unix)]
pub use name::lock_file_name;
#[cfg(unix)]
pub use network::network_filesystem;
#[cfg(unix)]
pub use outcome::{FromLockError, FromSkip, Mode, Outcome, SkipReason, Skipped};
#[cfg(unix)]
pub use record::{Holder, State};

/// What the attribute expands to. Not for people: no promise is made about it.
#[doc(hidden)]
#[cfg(unix)]
pub mod __private {
    pub use crate::{
        call::{Entry, Times, enter_lock, enter_lock_telling},
        held::{Hold, InLock, ThreadScope},
        site::{Config, Site, enter, enter_async, fail, never_skips, path_from, path_of},
    };
}
