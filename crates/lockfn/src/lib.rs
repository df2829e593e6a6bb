#![doc = include_str!("../README.md")]

mod acquire;
mod clock;
mod dir;
mod error;
mod file;
mod guard;
mod name;
mod network;
mod probe;
mod process;
mod record;
mod wait;

pub use dir::LockDir;
pub use error::{LockError, Result};
pub use file::{Kind, LockFile, Wait};
pub use guard::LockGuard;
pub use name::lock_file_name;
pub use network::network_filesystem;
pub use record::{Holder, State};
