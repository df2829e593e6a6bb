//! The process's one listener: a thread that turns the kernel's file events and the passing of
//! time into wake-ups. Started at the first wait, never stopped (closing an inotify descriptor
//! takes the kernel 10 ms and more); a forked child makes its own.

use std::{
    collections::{BTreeMap, HashMap},
    ffi::CStr,
    future::{Future, poll_fn},
    io,
    mem::ManuallyDrop,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
    task::{Context, Poll, Waker},
    thread::ThreadId,
    time::Instant,
};

use rustix::event::{PollFd, PollFlags, Timespec};

use super::{
    busy::Busy,
    events::{Bell, Events},
    meeting::Meeting,
    news::News,
    queue::{Queue, Turn},
    watch::Watch,
};
use crate::process;

#[derive(Debug)]
pub(crate) struct Hub {
    pid: u32,
    /// Rung when a timer earlier than all others appears.
    bell: Bell,
    /// `None` where there are none, or no more of them.
    events: Option<Events>,
    listener: OnceLock<ThreadId>,
    state: Mutex<State>,
    lines: Mutex<HashMap<PathBuf, Weak<Queue>>>,
}

#[derive(Debug, Default)]
struct State {
    listening: bool,
    watched: HashMap<i32, Vec<Arc<Meeting<Busy>>>>,
    timers: BTreeMap<Timer, Waker>,
    next_timer: u64,
    /// When the listener looks at the timers without being rung.
    looks_at: Option<Instant>,
}

/// When, and which of those due then.
type Timer = (Instant, u64);

struct Link {
    hub: Hub,
    next: OnceLock<Box<Link>>,
}

static FIRST: OnceLock<Box<Link>> = OnceLock::new();

impl Hub {
    /// This process's hub.
    pub(crate) fn current() -> io::Result<&'static Self> {
        let pid = process::pid();
        let mut cell = &FIRST;
        loop {
            // `set`, not `get_or_init`: a fork in the middle must not leave the child waiting.
            if cell.get().is_none() {
                let link = Box::new(Link {
                    hub: Self::new(pid)?,
                    next: OnceLock::new(),
                });
                drop(cell.set(link));
            }
            match cell.get() {
                Some(link) if link.hub.pid == pid => return link.hub.listening(),
                Some(link) => cell = &link.next,
                None => {}
            }
        }
    }

    fn new(pid: u32) -> io::Result<Self> {
        Ok(Self {
            pid,
            bell: Bell::new()?,
            events: Events::new(),
            listener: OnceLock::new(),
            state: Mutex::default(),
            lines: Mutex::default(),
        })
    }

    /// Whether it is this process's, and not that of the one it was forked from.
    pub(super) fn is_ours(&self) -> bool {
        self.pid == process::pid()
    }

    fn listening(&'static self) -> io::Result<&'static Self> {
        let mut state = self.state();
        if !state.listening {
            std::thread::Builder::new()
                .name("lockfn-waits".to_owned())
                .spawn(move || self.listen())?;
            state.listening = true;
        }
        Ok(self)
    }

    /// A place at the end of the line of waiters of the lock at `path`.
    pub(super) fn join(&'static self, path: &Path) -> InLine {
        InLine {
            hub: self,
            turn: Some(Queue::join(self.line(path))),
        }
    }

    fn line(&self, path: &Path) -> Arc<Queue> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = lines.get(path).and_then(Weak::upgrade) {
            return line;
        }
        lines.retain(|_, line| line.strong_count() > 0);
        let line = Arc::new(Queue::new());
        lines.insert(path.to_owned(), Arc::downgrade(&line));
        line
    }

    /// Watches the file behind `fd`, which is at `path`.
    pub(crate) fn watch(&'static self, fd: &OwnedFd, path: &CStr) -> io::Result<Watch> {
        let Some(events) = &self.events else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        let mut state = self.state();
        let file = events.watch(fd, path)?;
        let meeting = Arc::new(Meeting::new());
        state
            .watched
            .entry(file)
            .or_default()
            .push(Arc::clone(&meeting));
        Ok(Watch::new(self, file, meeting))
    }

    pub(super) fn unwatch(&self, file: i32, meeting: &Arc<Meeting<Busy>>) {
        let mut state = self.state();
        let Some(meetings) = state.watched.get_mut(&file) else {
            return;
        };
        meetings.retain(|one| !Arc::ptr_eq(one, meeting));
        if meetings.is_empty() {
            state.watched.remove(&file);
            // Under the lock: another watch of the same file must not be added in between.
            if let Some(events) = &self.events {
                events.forget(file);
            }
        }
    }

    /// Sleeps until then, on any executor.
    pub(crate) fn sleep(&'static self, until: Instant) -> Sleep {
        Sleep {
            hub: self,
            until,
            timer: None,
        }
    }

    /// What `ready` has to say, or `None` if it says nothing until then.
    pub(crate) async fn within<T>(
        &'static self,
        until: Option<Instant>,
        mut ready: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Option<T> {
        let mut due = until.map(|until| self.sleep(until));
        poll_fn(|cx| {
            if let Poll::Ready(said) = ready(cx) {
                return Poll::Ready(Some(said));
            }
            match &mut due {
                Some(due) => Pin::new(due).poll(cx).map(|()| None),
                None => Poll::Pending,
            }
        })
        .await
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_timer(&self, until: Instant, waker: &Waker) -> Timer {
        let mut state = self.state();
        let timer = (until, state.next_timer);
        state.next_timer += 1;
        state.timers.insert(timer, waker.clone());
        let in_time = state.looks_at.is_some_and(|look| look <= until);
        // The listener itself is about to look anyway.
        if !in_time && self.listener.get() != Some(&std::thread::current().id()) {
            state.looks_at = Some(until);
            self.bell.ring();
        }
        timer
    }

    fn cancel(&self, timer: &Timer) {
        let waker = self.state().timers.remove(timer);
        // Outside the lock: the last waker of a task may take everything with it that the task owns.
        drop(waker);
    }

    fn listen(&self) {
        self.listener
            .set(std::thread::current().id())
            .unwrap_or_default();
        loop {
            let next = self.wake_due();
            let timeout = next.map(|next| {
                let left = next.saturating_duration_since(Instant::now());
                Timespec {
                    tv_sec: left.as_secs() as i64,
                    tv_nsec: left.subsec_nanos().into(),
                }
            });
            let (rung, happened) = self.listen_until(timeout.as_ref());
            if rung {
                self.bell.silence();
            }
            if happened {
                self.tell_watchers();
            }
        }
    }

    /// Whether the bell rang, and whether something happened to a file.
    fn listen_until(&self, timeout: Option<&Timespec>) -> (bool, bool) {
        let mut sources = vec![PollFd::new(self.bell.fd(), PollFlags::IN)];
        if let Some(events) = &self.events {
            sources.push(PollFd::new(events.fd(), PollFlags::IN));
        }
        // EINTR is a round for nothing.
        rustix::event::poll(&mut sources, timeout).unwrap_or_default();
        let mut ready = sources.iter().map(|source| !source.revents().is_empty());
        (
            ready.next().unwrap_or_default(),
            ready.next().unwrap_or_default(),
        )
    }

    fn tell_watchers(&self) {
        let Some(events) = &self.events else { return };
        let heard = events.read();
        let told: Vec<(Arc<Meeting<Busy>>, News)> = {
            let state = self.state();
            match heard {
                Some(files) => files
                    .iter()
                    .filter_map(|(file, news)| Some((state.watched.get(file)?, *news)))
                    .flat_map(|(meetings, news)| {
                        meetings.iter().map(move |one| (one.clone(), news))
                    })
                    .collect(),
                None => state
                    .watched
                    .values()
                    .flatten()
                    .map(|one| (one.clone(), News::Closed))
                    .collect(),
            }
        };
        // Outside the lock: a waker may run anything.
        for (meeting, news) in told {
            meeting.tell(news, Busy::may_be_free);
        }
    }

    /// Wakes whose time has come; says when the next one's will.
    fn wake_due(&self) -> Option<Instant> {
        loop {
            let mut due = Vec::new();
            let next = {
                let mut state = self.state();
                let now = Instant::now();
                while let Some(entry) = state.timers.first_entry() {
                    if entry.key().0 > now {
                        break;
                    }
                    due.push(entry.remove());
                }
                state.looks_at = state.timers.first_key_value().map(|((until, _), _)| *until);
                state.looks_at
            };
            if due.is_empty() {
                return next;
            }
            // Outside the lock: a waker may run anything, and set another timer.
            for waker in due {
                waker.wake();
            }
        }
    }
}

/// A place in a line of waiters; dropping it leaves.
#[derive(Debug)]
pub(super) struct InLine {
    hub: &'static Hub,
    turn: Option<Turn>,
}

impl InLine {
    /// Ready once everybody before has left.
    pub(super) fn poll_first(&self, cx: &Context<'_>) -> Poll<()> {
        self.turn
            .as_ref()
            .map_or(Poll::Ready(()), |turn| turn.poll_first(cx))
    }
}

impl Drop for InLine {
    fn drop(&mut self) {
        // A forked child stands in no line: that is its parent's, and whoever had it locked at the
        // fork will not unlock it here.
        if !self.hub.is_ours() {
            let _left = ManuallyDrop::new(self.turn.take());
        }
    }
}

/// See [`Hub::sleep`].
#[derive(Debug)]
pub(crate) struct Sleep {
    hub: &'static Hub,
    until: Instant,
    timer: Option<Timer>,
}

impl Sleep {
    fn forget(&mut self) {
        if let Some(timer) = self.timer.take()
            && self.hub.is_ours()
        {
            self.hub.cancel(&timer);
        }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.forget();
        if self.until <= Instant::now() {
            return Poll::Ready(());
        }
        self.timer = Some(self.hub.set_timer(self.until, cx.waker()));
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.forget();
    }
}
