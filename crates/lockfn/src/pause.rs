//! `mode = "skip"` with `delay`: wait for the holder to finish, then until its end + delay,
//! together with all other skipping callers.
//!
//! They hold the lock together (shared), so nobody runs the body meanwhile; and all of them up to
//! one fixed moment, so a stream of callers cannot keep the function from ever running again. While
//! they wait for the holder they leave a request in the record, which keeps newcomers out before
//! the first of them has woken up.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use rustix::fs::FlockOperation;

use crate::{
    acquire::{Locked, Opened},
    clock,
    error::Result,
    file::{Kind, Place},
    process,
    record::{Head, Holder, Last, PauseRequest, State},
    wait::{self, Looks},
};

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// The holder finished, and the pause after it is over.
    Over,
    /// Nobody was running the body, and no pause was in force.
    NotNeeded,
    /// The holder did not finish in time.
    TimedOut,
}

/// What waiting for the holder led to.
enum Waited {
    /// The holder is gone, the lock is ours, shared.
    Shared(Locked),
    /// The holder is gone, and somebody else has begun: it ended then.
    Overtaken(u64),
    TimedOut,
}

pub(crate) async fn until_settled(
    place: &Arc<Place>,
    delay: Duration,
    deadline: Option<Instant>,
    arrived_up_ms: u64,
) -> Result<Pause> {
    let mut blocked = false;
    let asking = Asking::new(place, delay, arrived_up_ms);
    let locked = match wait_shared(place, deadline, asking, &mut blocked).await? {
        Waited::Shared(locked) => locked,
        Waited::Overtaken(ended_up_ms) => {
            sleep_until(place, ended_up_ms, delay).await?;
            return Ok(Pause::Over);
        }
        Waited::TimedOut => return Ok(Pause::TimedOut),
    };
    let ended = match locked.last {
        // Its own word. It only counts as the end of the holder we met if it is later than that, or
        // if we met nobody but a newcomer who took a look at a pause in force.
        Some(last)
            if !last.head.is_open()
                && (!blocked
                    || last.head.up_ms >= arrived_up_ms
                    || rest_asked_for(&last).is_some()) =>
        {
            Some(last.head.up_ms)
        }
        // It died, or it writes no record: the first to notice fixes the moment for all.
        Some(last) => mark_ended(place, &locked, last.head),
        None => None,
    };
    let Some(ended_up_ms) = ended else {
        // No common end can be agreed on: pausing in the lock could then go on for ever, each
        // newcomer from its own moment.
        drop(locked);
        sleep_until(place, clock::boot_ms(), delay).await?;
        return Ok(Pause::Over);
    };
    if !blocked && remaining(ended_up_ms, delay).is_zero() {
        return Ok(Pause::NotNeeded);
    }
    sleep_until(place, ended_up_ms, delay).await?;
    drop(locked);
    Ok(Pause::Over)
}

/// What is left of the pause that callers asked for who waited for the last run to end, if it
/// is still in force. Whoever has the lock alone and finds one may not run.
pub(crate) fn in_force(place: &Place, locked: &Locked, last: Option<Last>) -> Option<Duration> {
    let mut last = last?;
    last.request?;
    if last.head.is_open() {
        // Its holder died. The pause after it starts now, for everybody.
        last.head.up_ms = mark_ended(place, locked, last.head)?;
    }
    rest_asked_for(&last)
}

fn rest_asked_for(last: &Last) -> Option<Duration> {
    let rest = remaining(last.head.up_ms, last.request?.delay());
    (!rest.is_zero()).then_some(rest)
}

async fn wait_shared(
    place: &Arc<Place>,
    deadline: Option<Instant>,
    mut asking: Asking<'_>,
    blocked: &mut bool,
) -> Result<Waited> {
    let hub = wait::hub(place)?;
    for round in 0.. {
        let opened = place.open(round)?;
        let facts = place.examine(&opened)?;
        let shared = FlockOperation::NonBlockingLockShared;
        if !place.flock(&opened.fd, shared)? {
            if !place.is_current(facts.file)? {
                continue;
            }
            *blocked = true;
            // Before the watch: our own request is no news to us.
            if let Some(ended_up_ms) = asking.look(&opened) {
                return Ok(Waited::Overtaken(ended_up_ms));
            }
            let Ok(watch) = hub.watch(&opened.fd, &place.full) else {
                let kind = Kind::Shared;
                let locked = wait::fallback::acquire(hub, place, kind, deadline, opened).await?;
                return Ok(locked.map_or(Waited::TimedOut, |locked| {
                    asking.heard();
                    Waited::Shared(locked)
                }));
            };
            let mut looks = Looks::default();
            while !place.flock(&opened.fd, shared)? {
                if let Some(ended_up_ms) = asking.look(&opened) {
                    return Ok(Waited::Overtaken(ended_up_ms));
                }
                if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                    return Ok(Waited::TimedOut);
                }
                looks.wait(&opened, &watch, deadline).await;
            }
        }
        if let Some(locked) = place.verified(opened, Kind::Shared)? {
            asking.heard();
            return Ok(Waited::Shared(locked));
        }
    }
    Ok(Waited::TimedOut)
}

/// A caller that waits for a holder, and asks for a pause after it.
struct Asking<'a> {
    place: &'a Place,
    delay: Duration,
    arrived_up_ms: u64,
    pid: u32,
    /// The holder met: one that was sure to end later than the request for it was made.
    met: Option<Head>,
    /// The request that stands for this caller while it waits.
    request: Option<PauseRequest>,
}

impl<'a> Asking<'a> {
    fn new(place: &'a Place, delay: Duration, arrived_up_ms: u64) -> Self {
        Self {
            place,
            delay,
            arrived_up_ms,
            pid: process::pid(),
            met: None,
            request: None,
        }
    }

    /// The wait is over: what was asked for holds.
    fn heard(&mut self) {
        self.request = None;
    }

    /// After a failed try: sees to it that the request stands.
    ///
    /// Returns the end of the holder met, if another one holds the lock now: a caller that knows no
    /// pauses may be quicker than we are, and we do not wait for it as well.
    fn look(&mut self, opened: &Opened) -> Option<u64> {
        let Last { head, request, .. } = Last::read(&opened.fd)?;
        match self.met {
            Some(met) if head.token > met.token => {
                return Some(if head.previous_up_ms >= self.arrived_up_ms {
                    head.previous_up_ms
                } else {
                    clock::boot_ms()
                });
            }
            // A record that is not (yet) that of a living holder says nothing about whom we met.
            None if !(head.seems_alive() || is_from_elsewhere(opened)) => return None,
            _ => {}
        }
        let wanted = PauseRequest::new(head.token, self.delay);
        if request.is_none_or(|standing| !standing.covers(&wanted)) && self.place.may_write() {
            wanted.write(&opened.fd);
        }
        self.request = Some(wanted);
        if self.met.is_none() {
            // Only what stood there before the holder wrote its end is sure to be seen by whoever
            // comes next. If it has ended meanwhile, the next one may be the one to wait for.
            self.met =
                Head::read(&opened.fd).filter(|now| now.is_open() && now.token == head.token);
        }
        None
    }
}

/// One who gives up, or is cancelled, while the holder still runs takes its request back. Others who
/// wait hear of the change to the file and ask again.
impl Drop for Asking<'_> {
    fn drop(&mut self) {
        // A forked child has not asked for anything.
        if let Some(ours) = self.request.take()
            && self.pid == process::pid()
            && let Ok(Some(opened)) = self.place.open_existing()
            && let Some(last) = Last::read(&opened.fd)
            && last.head.is_open()
            && last.request == Some(ours)
            && self.place.may_write()
        {
            PauseRequest::new(0, Duration::ZERO).write(&opened.fd);
        }
    }
}

/// Whether the holder's process number is one of another pid namespace (a container that shares the
/// directory): it cannot be seen from here, and is taken at its word.
fn is_from_elsewhere(opened: &Opened) -> bool {
    Holder::present(&opened.fd)
        .is_some_and(|holder| ![0, process::me().namespace].contains(&holder.namespace))
}

fn mark_ended(place: &Place, locked: &Locked, head: Head) -> Option<u64> {
    if !place.may_write() {
        return None;
    }
    let state = match head.state {
        State::Running => State::Lost,
        State::Exec => State::Done,
        state @ (State::Done | State::Lost) => state,
    };
    let up_ms = clock::boot_ms();
    let marked = Head {
        state,
        ended_ms: clock::wall_ms(),
        up_ms,
        ..head
    };
    marked.encode().write(locked.fd()?).then_some(up_ms)
}

/// What is left of `delay` since then: never more than `delay`, whatever the record says.
fn remaining(ended_up_ms: u64, delay: Duration) -> Duration {
    // An end in the future is one before the last start of the host.
    let since = clock::boot_ms()
        .checked_sub(ended_up_ms)
        .map(Duration::from_millis);
    since
        .and_then(|since| delay.checked_sub(since))
        .unwrap_or_default()
}

async fn sleep_until(place: &Place, ended_up_ms: u64, delay: Duration) -> Result<()> {
    let rest = remaining(ended_up_ms, delay);
    if !rest.is_zero() {
        wait::hub(place)?.sleep(Instant::now() + rest).await;
    }
    Ok(())
}
