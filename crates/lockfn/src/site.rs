//! What `#[lock_function]` expands to: one call into [`enter`] or [`enter_async`].

use std::{
    fmt::Display,
    future::Future,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use crate::{
    call::{Call, Entry, Times, enter_lock},
    dir::LockDir,
    error::{LockError, Result},
    file::LockFile,
    name::function_identity,
    outcome::{Mode, Skipped},
};

/// What is fixed at compile time.
#[derive(Debug)]
pub struct Config {
    /// `name`
    pub name: Option<&'static str>,
    /// `mode`
    pub mode: Mode,
    /// `reentrant`
    pub reentrant: bool,
    /// `scope = "system"`
    pub system: bool,
    /// `on_abandoned = "error"`
    pub refuse_abandoned: bool,
}

/// One attribute in the program.
#[derive(Debug)]
pub struct Site {
    config: Config,
    lock: OnceLock<LockFile>,
}

impl Site {
    /// A new site.
    pub const fn new(config: Config) -> Self {
        Self {
            config,
            lock: OnceLock::new(),
        }
    }

    fn lock(
        &self,
        function: &'static str,
        key: Option<&dyn Display>,
        path: Option<&Path>,
    ) -> Result<LockFile> {
        if key.is_none()
            && let Some(lock) = self.lock.get()
            && path.is_none_or(|path| path == lock.path())
        {
            return Ok(lock.clone());
        }
        let name = self
            .config
            .name
            .unwrap_or_else(|| function_identity(function));
        let lock = match (path, key) {
            (Some(path), _) => LockFile::at(path).called(name),
            (None, Some(key)) => self.dir()?.keyed(name, &key.to_string()),
            (None, None) => self.dir()?.lock(name),
        };
        if key.is_none() {
            // Another thread's is as good; another path's is for that path.
            self.lock.set(lock.clone()).unwrap_or_default();
        }
        Ok(lock)
    }

    fn dir(&self) -> Result<&'static LockDir> {
        static SYSTEM: OnceLock<LockDir> = OnceLock::new();
        if !self.config.system {
            return LockDir::user_default();
        }
        if let Some(dir) = SYSTEM.get() {
            return Ok(dir);
        }
        let dir = LockDir::system()?;
        Ok(SYSTEM.get_or_init(|| dir))
    }
}

/// Takes the lock for a call of a sync function, as its attribute says.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the attribute has no other use for the path"
)]
pub fn enter(
    site: &'static Site,
    function: &'static str,
    key: Option<&dyn Display>,
    path: Option<PathBuf>,
    times: Times,
) -> Result<Entry> {
    enter_lock(
        &site.config,
        site.lock(function, key, path.as_deref())?,
        times,
    )
}

/// [`enter`] for an `async` function. The key is rendered before the future is made, which so
/// borrows nothing and stays `Send`.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the attribute has no other use for the path"
)]
pub fn enter_async(
    site: &'static Site,
    function: &'static str,
    key: Option<&dyn Display>,
    path: Option<PathBuf>,
    times: Times,
) -> impl Future<Output = Result<Entry>> + Send + use<> {
    let lock = site.lock(function, key, path.as_deref());
    async move { Call::new(&site.config, lock?, times).enter_async().await }
}

/// The `type_name` of an item nested in the function.
pub fn path_of<T>(_: &T) -> &'static str {
    std::any::type_name::<T>()
}

/// A `path` of whatever type.
pub fn path_from(path: impl AsRef<Path>) -> PathBuf {
    path.as_ref().to_owned()
}

/// `on_error = "panic"`.
#[track_caller]
#[expect(clippy::panic, reason = "what `on_error = \"panic\"` asks for")]
pub fn fail(error: &LockError) -> ! {
    match std::error::Error::source(error) {
        Some(source) => panic!("{error}: {source}"),
        None => panic!("{error}"),
    }
}

/// Modes wait and try have no such entry.
#[expect(
    clippy::unreachable,
    reason = "only mode skip makes `Entry::Skip`: see `Call`"
)]
pub fn never_skips(skipped: &Skipped) -> ! {
    unreachable!("{skipped}")
}
