//! Wake-ups between the processes of one host: a file beside the database that is written after a commit and
//! watched by everybody who waits. Linux tells at once (inotify); elsewhere the file's time is looked at.
//! A hint like every wake-up: the poll is the guarantee.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio_util::task::AbortOnDropHandle;
use tracing::warn;

use crate::{
    error::{Error, Result},
    signal::Signal,
};

/// How often the file is looked at where nobody tells.
const LOOK: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(super) struct Bell {
    path: PathBuf,
    file: File,
}

impl Bell {
    pub(super) fn at(path: PathBuf) -> Result<Self> {
        let file = open(&path).map_err(|source| Error::File {
            path: path.clone(),
            source,
        })?;
        Ok(Self { path, file })
    }

    /// Wakes every process that listens, this one too.
    pub(super) fn ring(&self) {
        if let Err(error) = self.file.write_all_at(b"!", 0) {
            warn!(
                error = &error as &dyn std::error::Error,
                "cannot write {}",
                self.path.display()
            );
        }
    }

    /// Passes the rings of all processes on to `signal` until the handle is dropped.
    pub(super) fn listen(&self, signal: Signal) -> AbortOnDropHandle<()> {
        let path = self.path.clone();
        AbortOnDropHandle::new(tokio::spawn(async move {
            if let Err(error) = watch::rings(&path, &signal).await {
                warn!(
                    error = &error as &dyn std::error::Error,
                    "cannot watch {}, looking at it instead",
                    path.display()
                );
                look(&path, &signal).await;
            }
        }))
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
}

/// The fallback: compares the file's time.
async fn look(path: &Path, signal: &Signal) {
    let mut seen = None;
    loop {
        let modified = std::fs::metadata(path)
            .and_then(|file| file.modified())
            .ok();
        if modified != seen {
            seen = modified;
            signal.ring();
        }
        tokio::time::sleep(LOOK).await;
    }
}

#[cfg(target_os = "linux")]
mod watch {
    use std::{io, mem::MaybeUninit, os::fd::OwnedFd, path::Path};

    use rustix::{
        fs::inotify::{CreateFlags, Reader, WatchFlags, add_watch, init},
        io::Errno,
    };
    use tokio::io::{Interest, unix::AsyncFd};

    use super::Signal;

    /// Returns only when the kernel refuses (no watches left).
    pub(super) async fn rings(path: &Path, signal: &Signal) -> io::Result<()> {
        let inotify = register(init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?)?;
        add_watch(inotify.get_ref(), path, WatchFlags::MODIFY)?;
        // What was written before the watch was there.
        signal.ring();
        loop {
            let mut ready = inotify.readable().await?;
            if let Ok(read) = ready.try_io(|inotify| read_all(inotify.get_ref())) {
                read?;
                signal.ring();
            }
        }
    }

    #[expect(
        unsafe_code,
        reason = "tokio asks for it; the proof is beside the call"
    )]
    fn register(inotify: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
        // SAFETY: an `OwnedFd` returns the same open descriptor for as long as it lives, and the `AsyncFd`
        // owns it: it is taken out of the reactor before it is closed.
        unsafe { AsyncFd::register_with_interest(inotify, Interest::READABLE) }
            .map_err(io::Error::from)
    }

    /// Reads all that is pending.
    fn read_all(inotify: &OwnedFd) -> io::Result<()> {
        let mut buffer = [MaybeUninit::uninit(); 1024];
        let mut reader = Reader::new(inotify, &mut buffer);
        let mut read = false;
        loop {
            match reader.next() {
                Ok(_event) => read = true,
                Err(Errno::AGAIN) if read => return Ok(()),
                Err(errno) => return Err(errno.into()),
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod watch {
    use std::{io, path::Path};

    use super::Signal;

    pub(super) async fn rings(_path: &Path, _signal: &Signal) -> io::Result<()> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }
}
