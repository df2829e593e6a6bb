//! What the kernel tells the listener: that something happened to a watched file (inotify), and
//! that somebody rang.

use std::{io, os::fd::OwnedFd};

/// Two ends of a pipe that neither block nor reach other programs.
#[derive(Debug)]
pub(super) struct Bell {
    rung: OwnedFd,
    rope: OwnedFd,
}

impl Bell {
    pub(super) fn new() -> io::Result<Self> {
        let (rung, rope) = pipe()?;
        Ok(Self { rung, rope })
    }

    /// A full pipe rings just as well.
    pub(super) fn ring(&self) {
        rustix::io::write(&self.rope, b"!").unwrap_or_default();
    }

    pub(super) fn fd(&self) -> &OwnedFd {
        &self.rung
    }

    pub(super) fn silence(&self) {
        let mut rung = [0; 64];
        while rustix::io::read(&self.rung, &mut rung).is_ok_and(|read| read == rung.len()) {}
    }
}

#[cfg(not(target_vendor = "apple"))]
fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    use rustix::pipe::{PipeFlags, pipe_with};
    Ok(pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?)
}

/// The same where it takes two steps.
#[cfg(target_vendor = "apple")]
fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (rung, rope) = rustix::pipe::pipe()?;
    for end in [&rung, &rope] {
        rustix::io::fcntl_setfd(end, rustix::io::FdFlags::CLOEXEC)?;
        rustix::fs::fcntl_setfl(end, rustix::fs::OFlags::NONBLOCK)?;
    }
    Ok((rung, rope))
}

pub(super) use files::Events;

#[cfg(target_os = "linux")]
mod files {
    use std::{
        collections::BTreeMap,
        ffi::CStr,
        io,
        os::fd::{AsFd, AsRawFd, OwnedFd},
    };

    use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags};

    use crate::wait::news::News;

    /// The process's one inotify descriptor.
    #[derive(Debug)]
    pub(in crate::wait) struct Events(OwnedFd);

    impl Events {
        /// `None` if the user has no more of them.
        pub(in crate::wait) fn new() -> Option<Self> {
            rustix::fs::inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)
                .ok()
                .map(Self)
        }

        pub(in crate::wait) fn fd(&self) -> &OwnedFd {
            &self.0
        }

        /// Watches the file behind `fd` (also if it has no name any more), or at `path` without
        /// /proc. The number is the same for all watches of one file.
        pub(in crate::wait) fn watch(&self, fd: &OwnedFd, path: &CStr) -> io::Result<i32> {
            // MODIFY: a holder writes its end; the only sign of it when a child shares the
            // descriptor.
            let flags = WatchFlags::CLOSE | WatchFlags::MODIFY;
            let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
            rustix::fs::inotify::add_watch(self.0.as_fd(), link.as_str(), flags)
                .or_else(|_| rustix::fs::inotify::add_watch(self.0.as_fd(), path, flags))
                .map_err(io::Error::from)
        }

        pub(in crate::wait) fn forget(&self, file: i32) {
            // Gone already if the file was deleted.
            rustix::fs::inotify::remove_watch(&self.0, file).unwrap_or_default();
        }

        /// All that has happened, once per file; `None` if the kernel has lost count.
        pub(in crate::wait) fn read(&self) -> Option<BTreeMap<i32, News>> {
            let mut heard = BTreeMap::new();
            let mut lost = false;
            let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
            let mut reader = Reader::new(&self.0, &mut buffer);
            // Until the buffer is empty, not until the kernel has no more: whatever it has, the
            // listener is told of at once.
            while let Ok(event) = reader.next() {
                let what = event.events();
                lost |= what.contains(ReadFlags::QUEUE_OVERFLOW);
                let news = if what.intersects(ReadFlags::MODIFY) {
                    News::Changed
                } else {
                    News::Closed
                };
                let known = heard.entry(event.wd()).or_insert(news);
                *known = news.max(*known);
                if reader.is_buffer_empty() {
                    break;
                }
            }
            (!lost).then_some(heard)
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod files {
    use std::{collections::BTreeMap, ffi::CStr, io, os::fd::OwnedFd};

    use crate::wait::news::News;

    /// There are none: waiting goes by `fallback`.
    #[derive(Debug)]
    pub(in crate::wait) enum Events {}

    impl Events {
        pub(in crate::wait) fn new() -> Option<Self> {
            None
        }

        pub(in crate::wait) fn fd(&self) -> &OwnedFd {
            match *self {}
        }

        pub(in crate::wait) fn watch(&self, _: &OwnedFd, _: &CStr) -> io::Result<i32> {
            match *self {}
        }

        pub(in crate::wait) fn forget(&self, _: i32) {
            match *self {}
        }

        pub(in crate::wait) fn read(&self) -> Option<BTreeMap<i32, News>> {
            match *self {}
        }
    }
}
