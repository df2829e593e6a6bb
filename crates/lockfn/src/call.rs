//! What `#[lock_function]` expands to: one call into [`enter`] or [`enter_async`].

use std::{
    fmt::Display,
    future::Future,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use crate::{
    acquire::{Attempt, Locked, Opened},
    clock,
    dir::LockDir,
    error::{LockError, Result},
    file::{Kind, LockFile, Place},
    held::{self, Hold},
    name::function_identity,
    outcome::{Mode, SkipReason, Skipped},
    pause::{self, Pause},
    record::{Head, Holder},
    wait,
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

/// The times of one call.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// `delay`
    pub delay: Duration,
    /// `timeout`
    pub timeout: Option<Duration>,
    /// `cooldown`
    pub cooldown: Duration,
}

/// What a call may do.
#[derive(Debug)]
pub enum Entry {
    /// Run the body, in this lock.
    Run(Hold),
    /// Return the skip value.
    Skip(Skipped),
}

/// Rounds in which a skipping caller finds the lock free, but only just: then it is not.
const NEARLY_FREE: u32 = 8;

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

/// [`enter`] for a lock that is at hand.
pub fn enter_lock(config: &Config, lock: LockFile, times: Times) -> Result<Entry> {
    let mut call = Call::new(config, lock, times);
    match call.first()? {
        First::Enter(entry) => Ok(entry),
        First::CoolDown(locked, rest) => call.cool_down(locked, rest),
        First::Pause => wait::block_on(call.pause_only()),
        First::Busy if config.mode == Mode::Wait && times.timeout.is_none() => {
            let locked = call.lock.place.lock_blocking(Kind::Exclusive)?;
            call.after_waiting(locked)
        }
        First::Busy => wait::block_on(call.contended()),
    }
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
    async move {
        let mut call = Call::new(&site.config, lock?, times);
        match call.first()? {
            First::Enter(entry) => Ok(entry),
            First::CoolDown(locked, rest) => Box::pin(call.cool_down_async(locked, rest)).await,
            First::Busy => Box::pin(call.contended()).await,
            First::Pause => Box::pin(call.pause_only()).await,
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the pause asked for, not a wait for something"
)]
fn sleep(time: Duration) {
    if !time.is_zero() {
        std::thread::sleep(time);
    }
}

struct Call<'a> {
    config: &'a Config,
    lock: LockFile,
    times: Times,
    /// When it met contention, by both clocks.
    arrived: Option<(Instant, u64)>,
}

/// What the first attempt, which never waits, led to.
enum First {
    Enter(Entry),
    /// Locked, but the last run ended too recently: wait this long in the lock.
    CoolDown(Locked, Duration),
    /// Skipped because of the cooldown, after the pause.
    Pause,
    Busy,
}

impl<'a> Call<'a> {
    fn new(config: &'a Config, lock: LockFile, times: Times) -> Self {
        Self {
            config,
            lock,
            times,
            arrived: None,
        }
    }

    fn first(&mut self) -> Result<First> {
        if held::holds_path(&self.lock.place) {
            return self.recursive().map(First::Enter);
        }
        match self.lock.place.attempt(Kind::Exclusive)? {
            Attempt::Locked(locked) => self.locked(locked),
            Attempt::Busy(opened) => {
                self.arrived = Some((Instant::now(), clock::boot_ms()));
                let file = self.lock.place.examine(&opened)?.file;
                if held::holds_file(file) {
                    return self.recursive().map(First::Enter);
                }
                match (self.config.mode, self.times.delay.is_zero()) {
                    (Mode::Try, _) => Err(self.contended_error(&opened)),
                    (Mode::Skip, true) => {
                        let holder = Holder::present(&opened.fd);
                        Ok(First::Enter(self.skipped(SkipReason::Busy, holder)))
                    }
                    _ => Ok(First::Busy),
                }
            }
        }
    }

    /// Free at the first attempt: run, unless the lock is still cooling down.
    fn locked(&self, locked: Locked) -> Result<First> {
        let Some(rest) = self.still_cooling(&locked) else {
            return self.run(locked).map(First::Enter);
        };
        match (self.config.mode, self.times.delay.is_zero()) {
            (Mode::Wait, _) => Ok(First::CoolDown(locked, rest)),
            (Mode::Try, _) => Err(LockError::CoolingDown {
                lock: self.lock.name().to_owned(),
                rest,
            }),
            (Mode::Skip, true) => {
                let holder = locked.fd().and_then(Holder::read);
                Ok(First::Enter(self.skipped(SkipReason::CoolingDown, holder)))
            }
            (Mode::Skip, false) => Ok(First::Pause),
        }
    }

    fn still_cooling(&self, locked: &Locked) -> Option<Duration> {
        if self.times.cooldown.is_zero() {
            return None;
        }
        let last = locked.fd().and_then(Head::read)?;
        let since = clock::boot_ms().checked_sub(last.up_ms)?;
        self.times
            .cooldown
            .checked_sub(Duration::from_millis(since))
            .filter(|rest| !rest.is_zero())
    }

    fn run(&self, locked: Locked) -> Result<Entry> {
        let guard = locked.start(&self.lock.place);
        if self.config.refuse_abandoned
            && let Some(holder) = guard.abandoned()
        {
            return Err(LockError::Abandoned {
                lock: self.lock.name().to_owned(),
                holder: Box::new(holder.clone()),
            });
        }
        Ok(Entry::Run(Hold::of(guard)))
    }

    fn cool_down(&self, locked: Locked, rest: Duration) -> Result<Entry> {
        sleep(rest);
        self.run(locked)
    }

    async fn cool_down_async(self, locked: Locked, rest: Duration) -> Result<Entry> {
        self.sleep(rest).await?;
        self.run(locked)
    }

    async fn sleep(&self, time: Duration) -> Result<()> {
        if !time.is_zero() {
            wait::hub(&self.lock.place)?
                .sleep(Instant::now() + time)
                .await;
        }
        Ok(())
    }

    /// Mode wait, locked after contention: the pause is spent in the lock.
    fn after_waiting(&self, locked: Locked) -> Result<Entry> {
        let rest = self.still_cooling(&locked).unwrap_or_default();
        let entry = self.run(locked.contended())?;
        sleep(self.times.delay.max(rest));
        Ok(entry)
    }

    /// Waits as mode and times say.
    async fn contended(self) -> Result<Entry> {
        match self.config.mode {
            Mode::Skip => self.skip_after_pause().await,
            Mode::Wait | Mode::Try => {
                let deadline = self.deadline();
                let locked = wait::acquire(&self.lock.place, Kind::Exclusive, deadline).await?;
                let locked = locked.ok_or_else(|| self.timeout())?;
                let rest = self.still_cooling(&locked).unwrap_or_default();
                let entry = self.run(locked)?;
                self.sleep(self.times.delay.max(rest)).await?;
                Ok(entry)
            }
        }
    }

    async fn skip_after_pause(self) -> Result<Entry> {
        for _ in 0..NEARLY_FREE {
            let holder = self.lock.present_holder();
            match self.pause().await? {
                Pause::Over => return Ok(self.skipped(SkipReason::Busy, holder)),
                Pause::TimedOut => return Err(self.timeout()),
                // Only other skipping callers were there, on their way out: this is a free lock.
                Pause::NotNeeded => {
                    if let Attempt::Locked(locked) = self.lock.place.attempt(Kind::Exclusive)? {
                        return match self.still_cooling(&locked) {
                            None => self.run(locked),
                            Some(_) => Ok(self.skipped(SkipReason::CoolingDown, holder)),
                        };
                    }
                }
            }
        }
        Ok(self.skipped(SkipReason::Busy, None))
    }

    async fn pause_only(self) -> Result<Entry> {
        let holder = self.lock.last_holder();
        match self.pause().await? {
            Pause::TimedOut => Err(self.timeout()),
            Pause::Over | Pause::NotNeeded => Ok(self.skipped(SkipReason::CoolingDown, holder)),
        }
    }

    async fn pause(&self) -> Result<Pause> {
        let place: &Arc<Place> = &self.lock.place;
        let arrived_up_ms = self.arrived.map_or_else(clock::boot_ms, |(_, up_ms)| up_ms);
        pause::until_settled(place, self.times.delay, self.deadline(), arrived_up_ms).await
    }

    fn deadline(&self) -> Option<Instant> {
        let arrived = self
            .arrived
            .map_or_else(Instant::now, |(arrived, _)| arrived);
        self.times
            .timeout
            .and_then(|timeout| arrived.checked_add(timeout))
    }

    fn recursive(&self) -> Result<Entry> {
        if self.config.reentrant {
            return Ok(Entry::Run(Hold::again()));
        }
        match self.config.mode {
            Mode::Skip => Ok(self.skipped(SkipReason::Recursive, self.lock.last_holder())),
            Mode::Wait | Mode::Try => Err(LockError::WouldDeadlock {
                lock: self.lock.name().to_owned(),
            }),
        }
    }

    fn skipped(&self, reason: SkipReason, holder: Option<Holder>) -> Entry {
        let lock = self.lock.name().to_owned();
        Entry::Skip(Skipped {
            lock,
            reason,
            holder: holder.map(Box::new),
        })
    }

    fn contended_error(&self, opened: &Opened) -> LockError {
        LockError::Contended {
            lock: self.lock.name().to_owned(),
            holder: Holder::present(&opened.fd).map(Box::new),
        }
    }

    fn timeout(&self) -> LockError {
        LockError::Timeout {
            lock: self.lock.name().to_owned(),
            waited: self
                .arrived
                .map(|(arrived, _)| arrived.elapsed())
                .unwrap_or_default(),
            holder: self.lock.present_holder().map(Box::new),
        }
    }
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
