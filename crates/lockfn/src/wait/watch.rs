//! Watching one lock file: to hear of it, or to leave it to the listener to take the lock.
//!
//! The listener tries for the waiter, so a waiter is woken when it has the lock, not each time
//! somebody else was quicker.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Wake, Waker},
    time::Instant,
};

use rustix::{fs::FlockOperation, io::Errno};

use super::{
    events::News,
    hub::{Hub, Timer},
    looks::Looks,
};
use crate::{
    acquire::{Opened, release, try_operation},
    file::Kind,
    process,
    record::Head,
};

/// Races lost before a waiter joins the kernel's queue.
const PATIENCE: u32 = 64;

/// A watched lock file; dropping it ends the watch.
#[derive(Debug)]
pub(crate) struct Watch {
    hub: &'static Hub,
    file: i32,
    signal: Arc<Signal>,
}

/// Why a wait is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Woke {
    Event,
    Due,
}

/// How a try that was left to the listener ended.
#[derive(Debug)]
pub(super) enum Tried {
    /// The lock is taken.
    Locked(Opened),
    /// The time is over.
    TimedOut,
    /// Others were quicker too often.
    Outpaced(Opened),
    /// The kernel refuses: it will say why to whoever asks.
    Refused(Opened),
}

/// Where listener and waiter meet.
#[derive(Debug)]
pub(super) struct Signal {
    hub: &'static Hub,
    heard: Mutex<Heard>,
}

#[derive(Debug, Default)]
struct Heard {
    /// Whether something happened since the watcher last looked.
    event: bool,
    waker: Option<Waker>,
    errand: Option<Errand>,
}

/// What the listener does for the waiter.
#[derive(Debug)]
struct Errand {
    opened: Opened,
    operation: FlockOperation,
    /// The hold that was last met: its end will be heard.
    met: Option<u64>,
    lost_races: u32,
    looks: Looks,
    look_at: Option<Timer>,
    end: Option<End>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Locked,
    Outpaced,
    Refused,
}

impl Watch {
    pub(super) fn new(hub: &'static Hub, file: i32, signal: Arc<Signal>) -> Self {
        Self { hub, file, signal }
    }

    /// Until something happens to the file, or until then.
    pub(crate) async fn wait(&self, until: Option<Instant>) -> Woke {
        let event = self.hub.within(until, |cx| self.signal.poll_event(cx));
        event.await.map_or(Woke::Due, |()| Woke::Event)
    }

    /// Leaves the file, whose lock was just found busy, to the listener until it has locked it.
    pub(super) async fn lock(
        &self,
        opened: Opened,
        kind: Kind,
        deadline: Option<Instant>,
    ) -> Tried {
        self.signal.send(Errand::new(opened, try_operation(kind)));
        let end = self.hub.within(deadline, |cx| self.signal.poll_end(cx));
        end.await;
        // It may have been taken at the last moment.
        match self
            .signal
            .recall()
            .map(|errand| (errand.end, errand.opened))
        {
            Some((Some(End::Locked), opened)) => Tried::Locked(opened),
            Some((Some(End::Refused), opened)) => Tried::Refused(opened),
            Some((Some(End::Outpaced), opened)) => Tried::Outpaced(opened),
            Some((None, _)) | None => Tried::TimedOut,
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // In a forked child all this is its parent's, and so is the kernel's end of it.
        if !self.hub.is_ours() {
            return;
        }
        self.hub.unwatch(self.file, &self.signal);
        if let Some(errand) = self.signal.recall()
            && errand.end == Some(End::Locked)
        {
            release(&errand.opened.fd, process::pid());
        }
    }
}

impl Signal {
    pub(super) fn new(hub: &'static Hub) -> Self {
        Self {
            hub,
            heard: Mutex::default(),
        }
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something happened to the file.
    pub(super) fn tell(self: &Arc<Self>, news: News) {
        let waker = {
            let mut heard = self.heard();
            match &mut heard.errand {
                Some(errand) => self.go_on(errand, |errand| errand.hear(news)),
                None => heard.event = true,
            }
            heard.done()
        };
        // Outside the lock: a waker may run anything.
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn send(self: &Arc<Self>, mut errand: Errand) {
        let mut heard = self.heard();
        let missed = std::mem::take(&mut heard.event);
        self.go_on(&mut errand, |errand| {
            if missed {
                errand.hear(News::Closed);
            }
        });
        heard.errand = Some(errand);
    }

    /// Takes a step, and sees to the next look.
    fn go_on(self: &Arc<Self>, errand: &mut Errand, step: impl FnOnce(&mut Errand)) {
        if errand.end.is_some() {
            return;
        }
        if let Some(timer) = errand.look_at.take() {
            self.hub.cancel(&timer);
        }
        step(errand);
        if errand.end.is_none()
            && let Some(look) = errand.looks.next(&errand.opened.fd)
            && let Some(at) = Instant::now().checked_add(look)
        {
            errand.look_at = Some(self.hub.set_timer(at, &Waker::from(Arc::clone(self))));
        }
    }

    fn recall(&self) -> Option<Errand> {
        let mut errand = self.heard().errand.take()?;
        if let Some(timer) = errand.look_at.take() {
            self.hub.cancel(&timer);
        }
        Some(errand)
    }

    fn poll_event(&self, cx: &Context<'_>) -> Poll<()> {
        let mut heard = self.heard();
        if std::mem::take(&mut heard.event) {
            return Poll::Ready(());
        }
        heard.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    fn poll_end(&self, cx: &Context<'_>) -> Poll<()> {
        let mut heard = self.heard();
        if heard
            .errand
            .as_ref()
            .is_none_or(|errand| errand.end.is_some())
        {
            return Poll::Ready(());
        }
        heard.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

/// A timer of a signal: time for another look.
impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        let waker = {
            let mut heard = self.heard();
            if let Some(errand) = &mut heard.errand {
                self.go_on(errand, Errand::look);
            }
            heard.done()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Heard {
    /// Whom to wake.
    fn done(&mut self) -> Option<Waker> {
        let done = self
            .errand
            .as_ref()
            .map_or(self.event, |errand| errand.end.is_some());
        done.then(|| self.waker.take())?
    }
}

impl Errand {
    fn new(opened: Opened, operation: FlockOperation) -> Self {
        let met = holder(&opened);
        Self {
            opened,
            operation,
            met,
            lost_races: 0,
            looks: Looks::default(),
            look_at: None,
            end: None,
        }
    }

    fn hear(&mut self, news: News) {
        if news == News::Changed
            && let Some(token) = holder(&self.opened)
        {
            // The beginning of a hold, or something that others leave in the file during one.
            self.met = Some(token);
            return;
        }
        if self.try_once() {
            return;
        }
        self.lost_races += 1;
        if self.lost_races > PATIENCE {
            self.end = Some(End::Outpaced);
        }
        match holder(&self.opened) {
            // Somebody was quicker, whose end will be heard in its turn.
            Some(token) if self.met != Some(token) => {
                self.met = Some(token);
                self.looks = Looks::default();
            }
            _ => self.looks.event(),
        }
    }

    fn look(&mut self) {
        if !self.try_once() {
            self.looks.due();
        }
    }

    /// Whether the errand has come to an end.
    fn try_once(&mut self) -> bool {
        let end = loop {
            break match rustix::fs::flock(&self.opened.fd, self.operation) {
                Ok(()) => End::Locked,
                Err(Errno::INTR) => continue,
                Err(Errno::WOULDBLOCK) => return false,
                Err(_) => End::Refused,
            };
        };
        self.end = Some(end);
        true
    }
}

/// The hold of a holder that is known to report its end.
fn holder(opened: &Opened) -> Option<u64> {
    Head::read(&opened.fd)
        .filter(Head::seems_alive)
        .map(|head| head.token)
}
