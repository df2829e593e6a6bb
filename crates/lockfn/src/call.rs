//! One call: the table of modes and delays.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{
    acquire::{Attempt, Locked, Opened},
    clock,
    error::{LockError, Result},
    file::{Kind, LockFile, Place},
    held::{self, Hold},
    outcome::{Mode, SkipReason, Skipped},
    pause::{self, Pause},
    record::{Holder, Last},
    site::Config,
    wait,
};

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

/// Takes `lock` for a call that may block the thread.
pub fn enter_lock(config: &Config, lock: LockFile, times: Times) -> Result<Entry> {
    enter_lock_telling(config, lock, times, || ())
}

/// [`enter_lock`]; before it waits it makes what `told` answers, and keeps it until the wait is over.
pub fn enter_lock_telling<T>(
    config: &Config,
    lock: LockFile,
    times: Times,
    told: impl FnOnce() -> T,
) -> Result<Entry> {
    let mut call = Call::new(config, lock, times);
    let first = match call.begin()? {
        Begin::Over(first) => first,
        Begin::GiveWay(attempt, until) => {
            let attempt = wait::block_on(call.lock.place.give_way(attempt, until))?;
            call.first(attempt)?
        }
    };
    let _telling = matches!(first, First::Busy(_)).then(told);
    match first {
        First::Enter(entry) => Ok(entry),
        First::CoolDown(locked, rest) => call.cool_down(locked, rest),
        First::Pause => wait::block_on(call.pause_only()),
        First::Busy(busy) if call.waits() && times.timeout.is_none() => call.wait_blocking(busy),
        First::Busy(busy) => wait::block_on(call.contended(busy)),
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

pub(crate) struct Call<'a> {
    config: &'a Config,
    lock: LockFile,
    times: Times,
    /// When it met contention, by both clocks.
    arrived: Option<(Instant, u64)>,
}

/// The first attempt.
enum Begin {
    Over(First),
    /// Free, but others come first, until then.
    GiveWay(Attempt, Instant),
}

/// What the first attempt, which never waits, led to.
enum First {
    Enter(Entry),
    /// Locked, but the last run ended too recently: wait this long in the lock.
    CoolDown(Locked, Duration),
    /// Skipped because of the cooldown, after the pause.
    Pause,
    /// With the file, if that is what is locked.
    Busy(Option<Opened>),
}

impl<'a> Call<'a> {
    pub(crate) fn new(config: &'a Config, lock: LockFile, times: Times) -> Self {
        Self {
            config,
            lock,
            times,
            arrived: None,
        }
    }

    /// [`enter_lock`] without blocking the executor; what may wait is boxed, so that a call that
    /// need not is small.
    pub(crate) async fn enter_async(mut self) -> Result<Entry> {
        let first = match self.begin()? {
            Begin::Over(first) => first,
            Begin::GiveWay(attempt, until) => {
                let attempt = Box::pin(self.lock.place.give_way(attempt, until)).await?;
                self.first(attempt)?
            }
        };
        match first {
            First::Enter(entry) => Ok(entry),
            First::CoolDown(locked, rest) => Box::pin(self.cool_down_async(locked, rest)).await,
            First::Busy(busy) => Box::pin(self.contended(busy)).await,
            First::Pause => Box::pin(self.pause_only()).await,
        }
    }

    /// Whether it runs in the end, however long it has to wait for that.
    fn waits(&self) -> bool {
        self.config.mode == Mode::Wait
    }

    fn begin(&mut self) -> Result<Begin> {
        if held::holds_path(&self.lock.place) {
            let entry = self.recursive()?;
            return Ok(Begin::Over(First::Enter(entry)));
        }
        let place = &self.lock.place;
        let (attempt, owed) = if self.waits() {
            place.attempt_in_turn(Kind::Exclusive, self.deadline())?
        } else {
            (place.attempt(Kind::Exclusive)?, None)
        };
        match owed {
            Some(until) => Ok(Begin::GiveWay(attempt, until)),
            None => self.first(attempt).map(Begin::Over),
        }
    }

    fn first(&mut self, attempt: Attempt) -> Result<First> {
        match attempt {
            Attempt::Locked(locked) => self.locked(locked),
            Attempt::Busy(opened) => {
                let file = self.lock.place.examine(&opened)?.file;
                if held::holds_file(file) {
                    return self.recursive().map(First::Enter);
                }
                self.busy(Some(opened))
            }
        }
    }

    fn busy(&mut self, opened: Option<Opened>) -> Result<First> {
        self.arrived = Some((Instant::now(), clock::boot_ms()));
        let holder = || Holder::present(&opened.as_ref()?.fd);
        match (self.config.mode, self.times.delay.is_zero()) {
            (Mode::Try, _) => Err(LockError::Contended {
                lock: self.lock.name().to_owned(),
                holder: holder().map(Box::new),
            }),
            (Mode::Skip, true) => Ok(First::Enter(self.skipped(SkipReason::Busy, holder()))),
            _ => Ok(First::Busy(opened)),
        }
    }

    /// Free at the first attempt: run, unless callers who waited for the last run asked for a pause
    /// after it, or the lock is still cooling down.
    fn locked(&mut self, locked: Locked) -> Result<First> {
        let last = locked.last;
        if pause::in_force(&self.lock.place, &locked, last).is_some() {
            drop(locked);
            return self.busy(None);
        }
        let Some(rest) = self.still_cooling(last) else {
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

    fn still_cooling(&self, last: Option<Last>) -> Option<Duration> {
        if self.times.cooldown.is_zero() {
            return None;
        }
        let since = clock::boot_ms().checked_sub(last?.head.up_ms)?;
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

    /// Mode wait without a limit: in the kernel's queue. The call's own delay is spent in the lock,
    /// that of skipping callers together with them.
    fn wait_blocking(&self, mut busy: Option<Opened>) -> Result<Entry> {
        loop {
            let locked = self.lock.place.lock_in_turn(Kind::Exclusive, busy.take())?;
            let last = locked.last;
            if let Some(rest) = pause::in_force(&self.lock.place, &locked, last) {
                drop(locked);
                wait::block_on(self.sit_out(rest))?;
                continue;
            }
            let rest = self.still_cooling(last).unwrap_or_default();
            let entry = self.run(locked.contended())?;
            sleep(self.times.delay.max(rest));
            return Ok(entry);
        }
    }

    /// The same with a limit, or without blocking the executor.
    async fn wait_for_turn(&self, mut busy: Option<Opened>) -> Result<Entry> {
        let (place, deadline) = (&self.lock.place, self.deadline());
        loop {
            let locked = place.lock_in_turn_async(Kind::Exclusive, deadline, busy.take());
            let locked = locked.await?.ok_or_else(|| self.timeout())?;
            let last = locked.last;
            if let Some(rest) = pause::in_force(&self.lock.place, &locked, last) {
                drop(locked);
                let left = deadline.map(|until| until.saturating_duration_since(Instant::now()));
                self.sit_out(left.map_or(rest, |left| left.min(rest)))
                    .await?;
                if left.is_some_and(|left| left <= rest) {
                    return Err(self.timeout());
                }
                continue;
            }
            let rest = self.still_cooling(last).unwrap_or_default();
            let entry = self.run(locked.contended())?;
            self.sleep(self.times.delay.max(rest)).await?;
            return Ok(entry);
        }
    }

    /// Waits for the rest of a pause, together with those who asked for it.
    async fn sit_out(&self, rest: Duration) -> Result<()> {
        let _together = self.lock.place.attempt(Kind::Shared)?;
        self.sleep(rest).await
    }

    /// Waits as mode and times say.
    async fn contended(self, busy: Option<Opened>) -> Result<Entry> {
        match self.config.mode {
            Mode::Skip => {
                drop(busy);
                self.skip_after_pause().await
            }
            Mode::Wait | Mode::Try => self.wait_for_turn(busy).await,
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
                        let last = locked.last;
                        if pause::in_force(&self.lock.place, &locked, last).is_some() {
                            // This call's own delay is over, another one's is not.
                            return Ok(self.skipped(SkipReason::Busy, holder));
                        }
                        return match self.still_cooling(last) {
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
