//! The process's one listener: a thread that turns the kernel's file events and the passing of
//! time into wake-ups. Started at the first wait, never stopped (closing an inotify descriptor
//! takes the kernel 10 ms and more); a forked child makes its own.

use std::{
    collections::{BTreeMap, HashMap},
    ffi::CStr,
    future::Future,
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
    task::{Context, Poll, Waker},
    time::Instant,
};

use rustix::event::{PollFd, PollFlags, Timespec};

use super::queue::Queue;
use crate::process;

#[derive(Debug)]
pub(crate) struct Hub {
    pid: u32,
    /// Written to when a timer earlier than all others appears.
    bell: OwnedFd,
    heard: OwnedFd,
    /// `None` where there is no inotify, or no more of it.
    inotify: Option<OwnedFd>,
    state: Mutex<State>,
    lines: Mutex<HashMap<PathBuf, Weak<Queue>>>,
}

#[derive(Debug, Default)]
struct State {
    listening: bool,
    watched: HashMap<i32, Vec<Arc<Signal>>>,
    timers: BTreeMap<(Instant, u64), Waker>,
    next_timer: u64,
}

/// Whether something happened to a watched file since its watcher last looked.
#[derive(Debug, Default)]
struct Signal(Mutex<Heard>);

#[derive(Debug, Default)]
struct Heard {
    event: bool,
    waker: Option<Waker>,
}

/// A watched lock file; dropping it ends the watch.
#[derive(Debug)]
pub(crate) struct Watch {
    hub: &'static Hub,
    descriptor: i32,
    signal: Arc<Signal>,
}

/// Why a wait is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Woke {
    Event,
    Due,
}

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
        let (heard, bell) = bell()?;
        Ok(Self {
            pid,
            bell,
            heard,
            inotify: inotify(),
            state: Mutex::default(),
            lines: Mutex::default(),
        })
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

    /// The line of waiters of the lock at `path`.
    pub(crate) fn line(&self, path: &Path) -> Arc<Queue> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = lines.get(path).and_then(Weak::upgrade) {
            return line;
        }
        lines.retain(|_, line| line.strong_count() > 0);
        let line = Arc::new(Queue::new());
        lines.insert(path.to_owned(), Arc::downgrade(&line));
        line
    }

    /// Watches the file behind `fd` (also if it has no name any more), or at `path` without /proc.
    pub(crate) fn watch(&'static self, fd: &OwnedFd, path: &CStr) -> io::Result<Watch> {
        let Some(inotify) = &self.inotify else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        let mut state = self.state();
        let descriptor = add_watch(inotify, fd, path)?;
        let signal = Arc::new(Signal::default());
        state
            .watched
            .entry(descriptor)
            .or_default()
            .push(Arc::clone(&signal));
        Ok(Watch {
            hub: self,
            descriptor,
            signal,
        })
    }

    /// Sleeps until then, on any executor.
    pub(crate) fn sleep(&'static self, until: Instant) -> Sleep {
        Sleep {
            hub: self,
            until,
            timer: None,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_timer(&self, until: Instant, waker: &Waker) -> (Instant, u64) {
        let mut state = self.state();
        let key = (until, state.next_timer);
        state.next_timer += 1;
        state.timers.insert(key, waker.clone());
        if state
            .timers
            .first_key_value()
            .is_some_and(|(first, _)| *first == key)
        {
            // A full pipe rings just as well.
            rustix::io::write(&self.bell, b"!").unwrap_or_default();
        }
        key
    }

    fn listen(&self) {
        loop {
            let next = self.wake_due();
            let timeout = next.map(|next| {
                let left = next.saturating_duration_since(Instant::now());
                Timespec {
                    tv_sec: left.as_secs() as i64,
                    tv_nsec: left.subsec_nanos().into(),
                }
            });
            let mut sources = vec![PollFd::new(&self.heard, PollFlags::IN)];
            if let Some(inotify) = &self.inotify {
                sources.push(PollFd::new(inotify, PollFlags::IN));
            }
            // EINTR is a round for nothing.
            rustix::event::poll(&mut sources, timeout.as_ref()).unwrap_or_default();
            let mut rung = [0; 64];
            while rustix::io::read(&self.heard, &mut rung).is_ok_and(|read| read == rung.len()) {}
            for waker in self.read_events() {
                waker.wake();
            }
        }
    }

    /// Wakes whose time has come; says when the next one's will.
    fn wake_due(&self) -> Option<Instant> {
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
            state.timers.first_key_value().map(|((until, _), _)| *until)
        };
        // Outside the lock: a waker may run anything.
        for waker in due {
            waker.wake();
        }
        next
    }
}

#[cfg(target_os = "linux")]
impl Hub {
    fn read_events(&self) -> Vec<Waker> {
        use rustix::fs::inotify::{ReadFlags, Reader};
        let mut wakers = Vec::new();
        let Some(inotify) = &self.inotify else {
            return wakers;
        };
        let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(inotify, &mut buffer);
        while let Ok(event) = reader.next() {
            let state = self.state();
            if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                wakers.extend(
                    state
                        .watched
                        .values()
                        .flatten()
                        .filter_map(|signal| signal.fire()),
                );
            } else if let Some(signals) = state.watched.get(&event.wd()) {
                wakers.extend(signals.iter().filter_map(|signal| signal.fire()));
            }
        }
        wakers
    }
}

#[cfg(not(target_os = "linux"))]
impl Hub {
    #[expect(clippy::unused_self, reason = "there are events on Linux")]
    fn read_events(&self) -> Vec<Waker> {
        Vec::new()
    }
}

/// Two ends of a pipe that neither block nor reach other programs.
#[cfg(not(target_vendor = "apple"))]
fn bell() -> io::Result<(OwnedFd, OwnedFd)> {
    use rustix::pipe::{PipeFlags, pipe_with};
    Ok(pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?)
}

/// The same where it takes two steps.
#[cfg(target_vendor = "apple")]
fn bell() -> io::Result<(OwnedFd, OwnedFd)> {
    let (heard, bell) = rustix::pipe::pipe()?;
    for end in [&heard, &bell] {
        rustix::io::fcntl_setfd(end, rustix::io::FdFlags::CLOEXEC)?;
        rustix::fs::fcntl_setfl(end, rustix::fs::OFlags::NONBLOCK)?;
    }
    Ok((heard, bell))
}

#[cfg(target_os = "linux")]
fn inotify() -> Option<OwnedFd> {
    use rustix::fs::inotify::CreateFlags;
    rustix::fs::inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()
}

#[cfg(not(target_os = "linux"))]
fn inotify() -> Option<OwnedFd> {
    None
}

#[cfg(target_os = "linux")]
fn add_watch(inotify: &OwnedFd, fd: &OwnedFd, path: &CStr) -> io::Result<i32> {
    use std::os::fd::{AsFd, AsRawFd};

    use rustix::fs::inotify::WatchFlags;
    // CLOSE: the holder is done (it unlocks first) or dead. MODIFY: a holder writes its end; the
    // only sign of it when a child shares the descriptor.
    let flags = WatchFlags::CLOSE | WatchFlags::MODIFY;
    let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
    rustix::fs::inotify::add_watch(inotify.as_fd(), link.as_str(), flags)
        .or_else(|_| rustix::fs::inotify::add_watch(inotify.as_fd(), path, flags))
        .map_err(io::Error::from)
}

#[cfg(not(target_os = "linux"))]
fn add_watch(_: &OwnedFd, _: &OwnedFd, _: &CStr) -> io::Result<i32> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(target_os = "linux")]
fn remove_watch(inotify: &OwnedFd, descriptor: i32) {
    // Gone already if the file was deleted.
    rustix::fs::inotify::remove_watch(inotify, descriptor).unwrap_or_default();
}

#[cfg(not(target_os = "linux"))]
fn remove_watch(_: &OwnedFd, _: i32) {}

impl Signal {
    #[cfg(target_os = "linux")]
    fn fire(&self) -> Option<Waker> {
        let mut heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        heard.event = true;
        heard.waker.take()
    }

    fn poll(&self, cx: &Context<'_>) -> Poll<()> {
        let mut heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut heard.event) {
            return Poll::Ready(());
        }
        heard.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Watch {
    /// Until something happens to the file, or until then.
    pub(crate) async fn wait(&self, until: Option<Instant>) -> Woke {
        let mut due = until.map(|until| self.hub.sleep(until));
        std::future::poll_fn(|cx| {
            if self.signal.poll(cx).is_ready() {
                return Poll::Ready(Woke::Event);
            }
            match &mut due {
                Some(due) => Pin::new(due).poll(cx).map(|()| Woke::Due),
                None => Poll::Pending,
            }
        })
        .await
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut state = self.hub.state();
        let Some(signals) = state.watched.get_mut(&self.descriptor) else {
            return;
        };
        signals.retain(|signal| !Arc::ptr_eq(signal, &self.signal));
        if signals.is_empty() {
            state.watched.remove(&self.descriptor);
            // Under the lock: another watch of the same file must not be added in between.
            if let Some(inotify) = &self.hub.inotify {
                remove_watch(inotify, self.descriptor);
            }
        }
    }
}

/// See [`Hub::sleep`].
#[derive(Debug)]
pub(crate) struct Sleep {
    hub: &'static Hub,
    until: Instant,
    timer: Option<(Instant, u64)>,
}

impl Sleep {
    fn forget(&mut self) {
        if let Some(timer) = self.timer.take() {
            self.hub.state().timers.remove(&timer);
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
