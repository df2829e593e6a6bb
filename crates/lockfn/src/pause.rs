//! `mode = "skip"` with `delay`: wait for the holder to finish, then until its end + delay,
//! together with all other skipping callers.
//!
//! They hold the lock together (shared), so nobody runs the body meanwhile; and all of them up to
//! one fixed moment, so a stream of callers cannot keep the function from ever running again.

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
    record::{Head, State},
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
    Shared(Locked, Option<Head>),
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
    let (locked, head) = match wait_shared(place, deadline, arrived_up_ms, &mut blocked).await? {
        Waited::Shared(locked, head) => (locked, head),
        Waited::Overtaken(ended_up_ms) => {
            sleep_until(place, ended_up_ms, delay).await?;
            return Ok(Pause::Over);
        }
        Waited::TimedOut => return Ok(Pause::TimedOut),
    };
    let ended = match head {
        // Its own word. It only counts as the end of the holder we met if it is later than that.
        Some(head)
            if matches!(head.state, State::Done | State::Lost)
                && (!blocked || head.up_ms >= arrived_up_ms) =>
        {
            Some(head.up_ms)
        }
        // It died, or it writes no record: the first to notice fixes the moment for all.
        Some(head) => mark_ended(&locked, head),
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

async fn wait_shared(
    place: &Arc<Place>,
    deadline: Option<Instant>,
    arrived_up_ms: u64,
    blocked: &mut bool,
) -> Result<Waited> {
    let hub = wait::hub(place)?;
    let mut met = None;
    for round in 0.. {
        let mut opened = place.open(round)?;
        opened.waited();
        place.examine(&opened)?;
        let Ok(watch) = hub.watch(&opened.fd, &place.full) else {
            *blocked = true;
            let locked = wait::fallback::acquire(hub, place, Kind::Shared, deadline).await?;
            let head = locked.as_ref().and_then(Locked::fd).and_then(Head::read);
            return Ok(locked.map_or(Waited::TimedOut, |locked| Waited::Shared(locked, head)));
        };
        let mut looks = Looks::default();
        while !place.flock(&opened.fd, FlockOperation::NonBlockingLockShared)? {
            *blocked = true;
            if let Some(ended_up_ms) = overtaken(&opened, &mut met, arrived_up_ms) {
                return Ok(Waited::Overtaken(ended_up_ms));
            }
            if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                return Ok(Waited::TimedOut);
            }
            looks.next(&opened, &watch, deadline).await;
        }
        drop(watch);
        if let Some(locked) = place.verified(opened, Kind::Shared)? {
            let head = locked.fd().and_then(Head::read);
            return Ok(Waited::Shared(locked, head));
        }
    }
    Ok(Waited::TimedOut)
}

/// The end of the holder we met, if another one holds the lock now: a caller that came at the
/// moment of the release may be quicker than we are, and we do not wait for it as well.
fn overtaken(opened: &Opened, met: &mut Option<Head>, arrived_up_ms: u64) -> Option<u64> {
    let now = Head::read(&opened.fd)?;
    match *met {
        Some(met) if now.token > met.token => Some(if now.previous_up_ms >= arrived_up_ms {
            now.previous_up_ms
        } else {
            clock::boot_ms()
        }),
        Some(_) => None,
        // A record that is not (yet) that of a living holder says nothing about whom we met.
        None => {
            *met = now.seems_alive().then_some(now);
            None
        }
    }
}

fn mark_ended(locked: &Locked, head: Head) -> Option<u64> {
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
