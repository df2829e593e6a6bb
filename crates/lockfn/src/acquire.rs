//! The acquire protocol: open without following or creating blindly, lock, and make sure that the
//! file locked is still the one that everybody else will open.

use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};

use rustix::{
    fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, RenameFlags},
    io::Errno,
};

use crate::{
    dir::{Directory, Scope, io_error},
    error::{LockError, Result},
    facts::Facts,
    file::{Kind, Place},
    process,
    record::{Head, Last},
};

/// Rounds before a file that somebody keeps replacing is given up.
const PATIENCE: u32 = 1000;
/// Looks at a lock that is held although its record says "done": somebody may just be asking.
const SECOND_LOOKS: u32 = 8;
/// Files made aside by this process.
static MADE: AtomicU32 = AtomicU32::new(0);

/// An open lock file, not locked.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) fd: OwnedFd,
    /// Whose files are accepted besides root's; `None`: everybody's.
    owner: Option<u32>,
}

impl Opened {
    fn new(fd: OwnedFd, directory: &Directory) -> Self {
        let owner = (directory.scope != Scope::System).then_some(directory.euid);
        Self { fd, owner }
    }
}

/// A locked and verified file. Dropping it unlocks without a trace in the record.
#[derive(Debug)]
pub(crate) struct Locked {
    opened: Option<Opened>,
    pub(crate) kind: Kind,
    pub(crate) contended: bool,
    pub(crate) pid: u32,
    /// What the file says of the run before, if its holders keep records.
    pub(crate) last: Option<Last>,
    /// Device and inode.
    pub(crate) file: (u64, u64),
}

#[derive(Debug)]
pub(crate) enum Attempt {
    Locked(Locked),
    Busy(Opened),
}

impl Attempt {
    pub(crate) fn locked(self) -> Option<Locked> {
        match self {
            Self::Locked(locked) => Some(locked),
            Self::Busy(_) => None,
        }
    }
}

impl Place {
    /// One attempt, without waiting.
    pub(crate) fn attempt(&self, kind: Kind) -> Result<Attempt> {
        for round in 0..PATIENCE {
            let opened = self.open(round)?;
            let mut locked = self.flock(&opened.fd, operation(kind, false))?;
            if !locked && kind == Kind::Exclusive {
                locked = self.look_again(&opened)?;
            }
            if !locked {
                let theirs = self.examine(&opened)?.file;
                // Somebody holds a file that nobody else will open: not the lock.
                if !self.is_current(theirs)? {
                    continue;
                }
                return Ok(Attempt::Busy(opened));
            }
            if let Some(locked) = self.verified(opened, kind)? {
                return Ok(Attempt::Locked(locked));
            }
        }
        Err(self.insecure("it keeps being replaced"))
    }

    /// Somebody who only asks whether the lock is held may have it for a microsecond; that must not
    /// make a caller give up. The record decides no more than whether looking again is worth it.
    fn look_again(&self, opened: &Opened) -> Result<bool> {
        for look in 0..SECOND_LOOKS {
            if Head::read(&opened.fd).is_some_and(|head| head.seems_alive()) {
                return Ok(false);
            }
            for _ in 0..16_u32 << look {
                std::hint::spin_loop();
            }
            if self.flock(&opened.fd, FlockOperation::NonBlockingLockExclusive)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Waits in the kernel's queue for the lock of the file just found locked.
    pub(crate) fn wait_blocking(&self, kind: Kind, mut busy: Opened) -> Result<Locked> {
        for _ in 0..PATIENCE {
            // Somebody could hold a FIFO or a foreign file for ever.
            self.examine(&busy)?;
            self.say_who_waits(&busy);
            self.flock(&busy.fd, operation(kind, true))?;
            if let Some(locked) = self.verified(busy, kind)? {
                return Ok(locked.contended());
            }
            match self.attempt(kind)? {
                Attempt::Locked(locked) => return Ok(locked.contended()),
                Attempt::Busy(again) => busy = again,
            }
        }
        Err(self.insecure("it keeps being replaced"))
    }

    /// Opens the file, and creates it if it is missing. In the first round by the directory opened
    /// once: whether that is still in its place shows when the file is verified by its path.
    pub(crate) fn open(&self, round: u32) -> Result<Opened> {
        let mut fresh = round > 0;
        for _ in 0..PATIENCE {
            let opened_anew;
            let mut directory = self.directory()?;
            if fresh {
                opened_anew = self.open_directory()?;
                directory = &opened_anew;
            }
            if let Some(fd) = self.open_in(directory)? {
                return Ok(Opened::new(fd, directory));
            }
            match self.create_in(directory) {
                Ok(fd) => return Ok(Opened::new(fd, directory)),
                Err(Errno::EXIST) => {}
                // The directory itself is gone, or was replaced.
                Err(Errno::NOENT) if !fresh => fresh = true,
                Err(errno) => return Err(io_error("create lock file", &self.path, errno)),
            }
        }
        Err(self.insecure("it keeps appearing and disappearing"))
    }

    /// Opens the file for a look, if it exists.
    pub(crate) fn open_existing(&self) -> Result<Option<Opened>> {
        if self.scope == Scope::Beside && self.path.parent().is_some_and(|dir| !dir.exists()) {
            return Ok(None);
        }
        let directory = self.open_directory()?;
        Ok(self
            .open_in(&directory)?
            .map(|fd| Opened::new(fd, &directory)))
    }

    /// The directory, opened once.
    fn directory(&self) -> Result<&Directory> {
        if let Some(directory) = self.directory.get() {
            return Ok(directory);
        }
        let directory = Arc::new(self.open_directory()?);
        // Against another thread's: both are right.
        Ok(self.directory.get_or_init(|| directory))
    }

    fn open_directory(&self) -> Result<Directory> {
        let path = self.path.parent().unwrap_or(&self.path);
        Directory::open(path, self.scope, self.allow_network)
    }

    fn open_in(&self, directory: &Directory) -> Result<Option<OwnedFd>> {
        // No O_CREAT: with fs.protected_regular it is refused on another user's file in a sticky
        // directory. O_NONBLOCK: a planted FIFO must not hang us. O_RDWR: NFS wants it.
        match rustix::fs::openat(&directory.fd, &self.name, open_flags(), Mode::empty()) {
            Ok(fd) => Ok(Some(fd)),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::LOOP) => Err(self.insecure("it is a symlink")),
            Err(Errno::NXIO | Errno::OPNOTSUPP) => {
                Err(self.insecure("it is a FIFO, a socket or a device"))
            }
            Err(Errno::ISDIR) => Err(self.insecure("it is a directory")),
            Err(errno) => Err(io_error("open lock file", &self.path, errno)),
        }
    }

    fn create_in(&self, directory: &Directory) -> rustix::io::Result<OwnedFd> {
        let flags = open_flags() | OFlags::CREATE | OFlags::EXCL;
        let own = Mode::from_raw_mode(0o600);
        if self.scope != Scope::System {
            return rustix::fs::openat(&directory.fd, &self.name, flags, own);
        }
        // For several users the mode must not depend on the umask, and nobody may see the file
        // before it has that mode: made aside, then renamed into place.
        let aside = format!(".new-{}-{}", process::pid(), MADE.fetch_add(1, Relaxed));
        let fd = rustix::fs::openat(&directory.fd, &aside, flags, own)?;
        let placed = rustix::fs::fchmod(&fd, directory.file_mode).and_then(|()| {
            rustix::fs::renameat_with(
                &directory.fd,
                &aside,
                &directory.fd,
                &self.name,
                RenameFlags::NOREPLACE,
            )
        });
        match placed {
            Ok(()) => Ok(fd),
            Err(errno) => {
                rustix::fs::unlinkat(&directory.fd, &aside, AtFlags::empty())?;
                Err(errno)
            }
        }
    }

    /// `true` if the lock was taken.
    pub(crate) fn flock(&self, fd: impl AsFd, operation: FlockOperation) -> Result<bool> {
        loop {
            return match rustix::fs::flock(fd.as_fd(), operation) {
                Ok(()) => Ok(true),
                Err(Errno::INTR) => continue,
                Err(Errno::WOULDBLOCK) => Ok(false),
                Err(errno @ (Errno::NOSYS | Errno::OPNOTSUPP | Errno::NOLCK | Errno::INVAL)) => {
                    Err(LockError::Unsupported {
                        path: self.path.clone(),
                        source: errno.into(),
                    })
                }
                Err(errno) => Err(io_error("lock", &self.path, errno)),
            };
        }
    }

    /// Is the file we locked still the file that everybody else will open? If not, the lock
    /// excludes nobody, and `None` sends the caller back to open it again.
    pub(crate) fn verified(&self, opened: Opened, kind: Kind) -> Result<Option<Locked>> {
        let ours = self.examine(&opened)?;
        if ours.links > 1 {
            return Err(self.insecure("it has another hard link"));
        }
        if !self.is_current(ours.file)? {
            return Ok(None);
        }
        let last = if self.record {
            Last::read(&opened.fd)
        } else {
            None
        };
        Ok(Some(Locked {
            opened: Some(opened),
            kind,
            contended: false,
            pid: process::pid(),
            last,
            file: ours.file,
        }))
    }

    pub(crate) fn is_current(&self, ours: (u64, u64)) -> Result<bool> {
        // The whole path, as a newcomer goes it: a renamed directory is noticed too.
        match Facts::at(&self.full) {
            Ok(now) => Ok(now.file == ours),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(false),
            Err(errno) => Err(io_error("examine", &self.path, errno)),
        }
    }

    /// Refuses what is not a plain file of ours.
    pub(crate) fn examine(&self, opened: &Opened) -> Result<Facts> {
        let facts =
            Facts::of(&opened.fd).map_err(|errno| io_error("examine", &self.path, errno))?;
        if facts.kind != FileType::RegularFile {
            return Err(self.insecure("it is not a regular file"));
        }
        if facts.uid != 0 && opened.owner.is_some_and(|owner| owner != facts.uid) {
            return Err(self.insecure(format!("it belongs to uid {}", facts.uid)));
        }
        Ok(facts)
    }
}

impl Locked {
    pub(crate) fn contended(mut self) -> Self {
        self.contended = true;
        self
    }

    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.opened.as_ref().map(|opened| opened.fd.as_fd())
    }

    /// The locked file, for whoever sees to its release. Can be had once.
    pub(crate) fn take(&mut self) -> Option<Opened> {
        self.opened.take()
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        if let Some(opened) = self.opened.take() {
            release(&opened.fd, self.pid);
        }
    }
}

/// Unlocks explicitly, so that a descriptor inherited by a child does not keep the lock; except in
/// a forked child, whose descriptor shares its parent's lock: there closing is all it may do.
pub(crate) fn release(fd: &OwnedFd, acquired_by: u32) {
    if process::pid() == acquired_by {
        // Cannot fail on a valid descriptor; closing it unlocks as well.
        rustix::fs::flock(fd, FlockOperation::Unlock).unwrap_or_default();
    }
}

fn operation(kind: Kind, blocking: bool) -> FlockOperation {
    match (kind, blocking) {
        (Kind::Exclusive, true) => FlockOperation::LockExclusive,
        (Kind::Exclusive, false) => FlockOperation::NonBlockingLockExclusive,
        (Kind::Shared, true) => FlockOperation::LockShared,
        (Kind::Shared, false) => FlockOperation::NonBlockingLockShared,
    }
}

pub(crate) fn try_operation(kind: Kind) -> FlockOperation {
    operation(kind, false)
}

fn open_flags() -> OFlags {
    OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY
}
