#![doc = include_str!("../README.md")]

mod acquire;
mod call;
mod clock;
mod dir;
mod error;
mod facts;
mod file;
mod guard;
mod held;
mod name;
mod network;
mod outcome;
mod pause;
mod probe;
mod process;
mod record;
mod site;
mod wait;

pub use dir::LockDir;
pub use error::{LockError, Result};
pub use file::{Kind, LockFile, Wait};
pub use guard::LockGuard;
pub use held::{Current, current};
pub use lockfn_macros::lock_function;
pub use name::lock_file_name;
pub use network::network_filesystem;
pub use outcome::{FromLockError, FromSkip, Mode, Outcome, SkipReason, Skipped};
pub use record::{Holder, State};

/// What the attribute expands to. Not for people: no promise is made about it.
#[doc(hidden)]
pub mod __private {
    pub use crate::{
        call::{Entry, Times, enter_lock, enter_lock_telling},
        held::{Hold, InLock, ThreadScope},
        site::{Config, Site, enter, enter_async, fail, never_skips, path_from, path_of},
    };
}
