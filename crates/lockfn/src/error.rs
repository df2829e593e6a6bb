//! Everything that can go wrong with a lock, as one error.

use std::{io, path::PathBuf, time::Duration};

use crate::record::Holder;

/// Why a lock was not taken. A call that got an error never ran its body.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// `mode = "try"` and somebody holds it.
    #[error("lock `{lock}` is busy{}", held_by(holder.as_deref()))]
    Contended {
        /// The lock's name.
        lock: String,
        /// Who holds it, as far as the lock file says.
        holder: Option<Box<Holder>>,
    },
    /// `mode = "try"` and the last run ended less than `cooldown` ago.
    #[error("lock `{lock}` is cooling down for another {:.3} s (`cooldown`)", rest.as_secs_f64())]
    CoolingDown {
        /// The lock's name.
        lock: String,
        /// How long a new run has still to stay away.
        rest: Duration,
    },
    /// The lock was not free within `timeout`.
    #[error("gave up on lock `{lock}` after {:.3} s (`timeout`){}", waited.as_secs_f64(), held_by(holder.as_deref()))]
    Timeout {
        /// The lock's name.
        lock: String,
        /// How long the call waited.
        waited: Duration,
        /// Who holds it, as far as the lock file says.
        holder: Option<Box<Holder>>,
    },
    /// This call chain already holds the lock: waiting for it would never end.
    #[error(
        "lock `{lock}` is already held by this call chain, waiting for it would never end (say `reentrant`, or mode = \"skip\")"
    )]
    WouldDeadlock {
        /// The lock's name.
        lock: String,
    },
    /// The previous holder died in its body, and the lock says `on_abandoned = "error"`.
    #[error(
        "the previous holder of lock `{lock}` died in its body ({holder}), as `on_abandoned` asks this call did not run"
    )]
    Abandoned {
        /// The lock's name.
        lock: String,
        /// Who died.
        holder: Box<Holder>,
    },
    /// The lock's path could be in somebody else's hands: a symlink, a FIFO, a hard link, a foreign
    /// owner, or a directory that others can write to.
    #[error("refusing lock path {}: {why}", path.display())]
    Insecure {
        /// The path refused.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The file system cannot be trusted with locks of one host (NFS and its relatives).
    #[error(
        "refusing lock path {}: it is on {file_system}, where a lock may exclude nobody (allow it with `allow_network(true)` or --allow-network, or choose a local directory with LOCKFN_DIR)",
        path.display()
    )]
    Network {
        /// The path refused.
        path: PathBuf,
        /// The file system's name.
        file_system: &'static str,
    },
    /// The file system or the kernel has no such locks.
    #[error("no file locks at {} (choose another directory with LOCKFN_DIR)", path.display())]
    Unsupported {
        /// Where it was tried.
        path: PathBuf,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// A system call failed.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which path.
        path: PathBuf,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
}

/// The result of taking a lock.
pub type Result<T, E = LockError> = std::result::Result<T, E>;

fn held_by(holder: Option<&Holder>) -> String {
    holder
        .map(|holder| format!(" (held by {holder})"))
        .unwrap_or_default()
}
