//! [`LockFile`]: one lock, as callers see it.

use std::{
    ffi::CString,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use crate::{
    acquire::Attempt,
    dir::{Directory, Scope},
    error::{LockError, Result},
    guard::LockGuard,
    process,
    record::{Holder, Who},
    wait,
};

/// Alone, or together with other shared holders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Excludes everybody else.
    Exclusive,
    /// Excludes exclusive holders only.
    Shared,
}

/// What to do while somebody else holds the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Give up at once.
    No,
    /// Wait, but not longer than this.
    Until(Instant),
    /// Wait.
    Forever,
}

/// One lock: a file that stands for it. Cheap to clone; holds nothing until a guard is taken.
///
/// The kernel's lock on the file decides. Callers exclude each other whether they are processes,
/// threads or tasks; a holder that dies, however it dies, releases it.
#[derive(Clone, Debug)]
pub struct LockFile {
    pub(crate) place: Arc<Place>,
}

/// Where a lock's file is, and what is known about it.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    /// `path`, for the kernel.
    pub(crate) full: CString,
    /// The name within the directory.
    pub(crate) name: CString,
    pub(crate) label: String,
    pub(crate) scope: Scope,
    pub(crate) allow_network: bool,
    pub(crate) record: bool,
    command: Option<String>,
    /// Opened at the first use.
    pub(crate) directory: OnceLock<Arc<Directory>>,
    who: OnceLock<Arc<Who>>,
}

impl LockFile {
    /// The lock of the file at `path`, created when it is first taken (its directory must exist).
    ///
    /// The file is never removed and its content is overwritten: give the lock a file of its own,
    /// beside the resource it protects.
    pub fn at(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let label = path.display().to_string();
        let name = path
            .file_name()
            .map(|name| name.as_bytes().to_vec())
            .unwrap_or_default();
        Self {
            place: Arc::new(Place::new(path, &name, label, Scope::Beside, false)),
        }
    }

    pub(crate) fn in_directory(
        directory: &Arc<Directory>,
        allow_network: bool,
        file_name: &str,
    ) -> Self {
        let path = directory.path.join(file_name);
        let label = file_name.trim_end_matches(".lock").to_owned();
        let place = Place::new(
            path,
            file_name.as_bytes(),
            label,
            directory.scope,
            allow_network,
        );
        // A new cell: cannot be set yet.
        place
            .directory
            .set(Arc::clone(directory))
            .unwrap_or_default();
        Self {
            place: Arc::new(place),
        }
    }

    /// Gives the lock the name that messages use.
    pub fn called(mut self, name: impl Into<String>) -> Self {
        let place = Arc::make_mut(&mut self.place);
        place.label = name.into();
        place.who = OnceLock::new();
        self
    }

    /// Whether holders write who they are into the file (default: yes). Without it a hold costs
    /// a third less, and there is no [`Holder`], token, `abandoned`, `cooldown` or end of a pause.
    pub fn holder_record(mut self, on: bool) -> Self {
        Arc::make_mut(&mut self.place).record = on;
        self
    }

    /// What the holder record says instead of this program's name and arguments.
    pub fn command(mut self, command: impl Into<String>) -> Self {
        let place = Arc::make_mut(&mut self.place);
        place.command = Some(command.into());
        place.who = OnceLock::new();
        self
    }

    /// Whether NFS and its relatives are accepted (default: no).
    pub fn allow_network(mut self, allow: bool) -> Self {
        let place = Arc::make_mut(&mut self.place);
        place.allow_network = allow;
        self
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        &self.place.path
    }

    /// The lock's name in messages.
    pub fn name(&self) -> &str {
        &self.place.label
    }

    /// Takes the lock if it is free. Never waits, so it may be called from async code.
    pub fn try_lock(&self) -> Result<Option<LockGuard>> {
        self.acquire(Kind::Exclusive, Wait::No)
    }

    /// Waits for the lock, for ever if need be. Blocks the thread: in async code use
    /// [`LockFile::lock_async`].
    pub fn lock(&self) -> Result<LockGuard> {
        let locked = self.place.lock_in_turn(Kind::Exclusive, None)?;
        Ok(locked.start(&self.place))
    }

    /// Waits for the lock at most `limit`; `None` if it was not free in time.
    pub fn lock_within(&self, limit: Duration) -> Result<Option<LockGuard>> {
        self.acquire(Kind::Exclusive, within(limit))
    }

    /// Waits for the lock without blocking the executor (any executor).
    ///
    /// Dropping the future at any point leaves nothing behind.
    pub async fn lock_async(&self) -> Result<LockGuard> {
        loop {
            if let Some(guard) = self.acquire_async(Kind::Exclusive, Wait::Forever).await? {
                return Ok(guard);
            }
        }
    }

    /// [`LockFile::lock_async`] with a limit; `None` if the lock was not free in time.
    pub async fn lock_within_async(&self, limit: Duration) -> Result<Option<LockGuard>> {
        self.acquire_async(Kind::Exclusive, within(limit)).await
    }

    /// The general form of the methods above: `None` if the lock is held and `wait` is over.
    pub fn acquire(&self, kind: Kind, wait: Wait) -> Result<Option<LockGuard>> {
        let place = &self.place;
        let locked = match wait {
            Wait::No => place.attempt(kind)?.locked(),
            Wait::Forever => Some(place.lock_in_turn(kind, None)?),
            Wait::Until(deadline) => match place.attempt_fairly(kind, Some(deadline))? {
                Attempt::Locked(locked) => Some(locked),
                Attempt::Busy(busy) => {
                    wait::block_on(wait::acquire(place, kind, Some(deadline), busy))?
                }
            },
        };
        Ok(locked.map(|locked| locked.start(place)))
    }

    /// [`LockFile::acquire`] without blocking the executor.
    pub async fn acquire_async(&self, kind: Kind, wait: Wait) -> Result<Option<LockGuard>> {
        let place = &self.place;
        let locked = match wait {
            Wait::No => place.attempt(kind)?.locked(),
            Wait::Forever => place.lock_in_turn_async(kind, None, None).await?,
            Wait::Until(until) => place.lock_in_turn_async(kind, Some(until), None).await?,
        };
        Ok(locked.map(|locked| locked.start(place)))
    }

    /// Whether anybody, in this process or another one, holds the lock right now.
    ///
    /// Neither creates the file nor makes anybody's attempt fail.
    pub fn is_held(&self) -> Result<bool> {
        self.place.is_held()
    }

    /// Who holds the lock, if somebody does and has said so. For messages: use
    /// [`LockFile::is_held`] to decide.
    pub fn holder(&self) -> Option<Holder> {
        self.is_held().ok()?.then(|| self.present_holder())?
    }

    pub(crate) fn present_holder(&self) -> Option<Holder> {
        Holder::present(self.place.open_existing().ok()??.fd)
    }

    /// Who holds the lock or held it last.
    pub fn last_holder(&self) -> Option<Holder> {
        Holder::read(self.place.open_existing().ok()??.fd)
    }

    /// The holder's process number as the kernel has it, whatever the file says (Linux, same pid
    /// namespace). A hint: the kernel's table is read while it changes.
    pub fn kernel_holder(&self) -> Option<u32> {
        crate::probe::kernel_holder(&self.place.open_existing().ok()??.fd)
    }

    /// Removes the file if nobody holds it and it was last used before `unused_for` ago. Safe
    /// while others wait or arrive: everyone who locked it looks again and re-opens.
    ///
    /// The record goes with the file: a `cooldown` longer than `unused_for` is forgotten.
    pub fn remove_if_unused(&self, unused_for: Duration) -> Result<bool> {
        self.place.remove_if_unused(unused_for)
    }
}

/// A limit too long for the clock is no limit.
pub(crate) fn within(limit: Duration) -> Wait {
    Instant::now()
        .checked_add(limit)
        .map_or(Wait::Forever, Wait::Until)
}

impl Place {
    fn new(path: PathBuf, name: &[u8], label: String, scope: Scope, allow_network: bool) -> Self {
        // A path with a NUL byte becomes the empty path, which the kernel refuses.
        let full = CString::new(path.as_os_str().as_bytes()).unwrap_or_default();
        let name = CString::new(name).unwrap_or_default();
        Self {
            path,
            full,
            name,
            label,
            scope,
            allow_network,
            record: true,
            command: None,
            directory: OnceLock::new(),
            who: OnceLock::new(),
        }
    }

    /// What the record says about this process; prepared once.
    pub(crate) fn who(&self) -> Arc<Who> {
        if let Some(who) = self.who.get()
            && who.pid == process::pid()
        {
            return Arc::clone(who);
        }
        let me = process::me();
        let command = self.command.as_deref().unwrap_or(&me.command);
        // Everybody can read a system lock file: no arguments in it.
        let command = match self.scope {
            Scope::System => command.split(' ').next().unwrap_or_default(),
            Scope::Private | Scope::Beside => command,
        };
        let who = Arc::new(Who::new(&me, &self.label, command));
        self.who.set(Arc::clone(&who)).unwrap_or_default();
        who
    }

    /// Whether this process may write into lock files: beyond `ulimit -f` the kernel ends it.
    pub(crate) fn may_write(&self) -> bool {
        self.who().may_write
    }

    pub(crate) fn insecure(&self, why: impl Into<String>) -> LockError {
        LockError::Insecure {
            path: self.path.clone(),
            why: why.into(),
        }
    }
}
