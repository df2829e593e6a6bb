//! [`LockGuard`]: holding a lock.

use std::{fmt, os::fd::OwnedFd, sync::Arc};

use rustix::io::FdFlags;

use crate::{
    acquire::{Locked, release},
    clock,
    dir::io_error,
    error::Result,
    file::{Kind, Place},
    process,
    record::{Head, HeadText, Holder, Last, State, Waits},
};

/// Holds a lock until it is dropped, or its process ends, however it ends.
#[must_use = "the lock is released as soon as the guard is dropped"]
pub struct LockGuard {
    /// `None` only while it is being dropped or handed over.
    fd: Option<OwnedFd>,
    pub(crate) place: Arc<Place>,
    /// Device and inode.
    pub(crate) file: (u64, u64),
    pid: u32,
    kind: Kind,
    contended: bool,
    token: u64,
    record: Option<Box<HeadText>>,
    pub(crate) abandoned: Option<Arc<Holder>>,
}

impl Locked {
    /// Makes the lock a hold: writes the record, and learns from the one before.
    pub(crate) fn start(mut self, place: &Arc<Place>) -> LockGuard {
        let mut guard = LockGuard {
            fd: self.take().map(|opened| opened.fd),
            place: Arc::clone(place),
            file: self.file,
            pid: self.pid,
            kind: self.kind,
            contended: self.contended,
            token: 0,
            record: None,
            abandoned: None,
        };
        if place.record && guard.kind == Kind::Exclusive {
            guard.write_start(self.last);
        }
        guard
    }
}

impl LockGuard {
    fn write_start(&mut self, last: Option<Last>) {
        let Some(fd) = &self.fd else { return };
        let previous = last.map(|last| last.head);
        let who = self.place.who();
        if !who.may_write {
            return;
        }
        if previous.is_some_and(|head| matches!(head.state, State::Running | State::Lost)) {
            self.abandoned = Holder::read(fd).map(Arc::new);
        }
        let head = Head {
            state: State::Running,
            token: previous.map_or_else(clock::wall_us, |head| head.token + 1),
            since_ms: clock::wall_ms(),
            ended_ms: 0,
            up_ms: clock::boot_ms(),
            previous_up_ms: previous.map_or(0, |head| head.up_ms),
            pid: self.pid,
            who: who.sum,
        };
        // A full disk must not stop the work: the record is a diagnostic.
        if previous.is_none_or(|head| head.who != who.sum) {
            who.write(fd);
        }
        let text = Box::new(head.encode());
        text.write(fd);
        // Who comes from among the waiters has probably left others behind.
        if self.contended && last.is_some_and(|last| last.waits.is_some()) {
            Waits::now().write(fd);
        }
        self.token = head.token;
        self.record = Some(text);
    }

    /// Whether somebody else held the lock when this hold was first tried.
    pub fn contended(&self) -> bool {
        self.contended
    }

    /// Alone or shared.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The lock's name.
    pub fn name(&self) -> &str {
        &self.place.label
    }

    /// A fencing token: grows with every hold of this lock, also when the file was deleted in
    /// between. 0 if the hold is shared or keeps no record.
    pub fn token(&self) -> u64 {
        self.token
    }

    /// The previous holder, if it died in its body (killed, power cut): its work may be half done.
    pub fn abandoned(&self) -> Option<&Holder> {
        self.abandoned.as_deref()
    }

    /// `false` if the file was deleted or replaced during the hold: then somebody else may have
    /// got in. Nothing can prevent that, so a body that cannot bear it asks before its last step.
    pub fn is_current(&self) -> bool {
        self.place.is_current(self.file).unwrap_or(false)
    }

    /// Lets programs started from now on inherit the descriptor: the lock then also holds as long
    /// as one of them runs, unless this guard is dropped first.
    pub fn inherit(&self) -> Result<()> {
        let failed = |errno| io_error("let children inherit", &self.place.path, errno);
        self.fd.as_ref().map_or(Ok(()), |fd| {
            rustix::io::fcntl_setfd(fd, FdFlags::empty()).map_err(failed)
        })
    }

    /// For `exec`: the program that replaces this one keeps the lock until it, and everybody it
    /// hands the descriptor to, has ended. Dropping the descriptor returned releases the lock.
    pub fn hand_over(mut self) -> Result<Option<OwnedFd>> {
        self.inherit()?;
        if let (Some(record), Some(fd)) = (&mut self.record, &self.fd) {
            record.end(State::Exec, 0, clock::boot_ms());
            record.write(fd);
        }
        Ok(self.fd.take())
    }
}

impl Drop for LockGuard {
    fn drop(&mut self) {
        let Some(fd) = self.fd.take() else { return };
        if process::pid() != self.pid {
            return;
        }
        if let Some(record) = &mut self.record {
            record.end(State::Done, clock::wall_ms(), clock::boot_ms());
            record.write(&fd);
        }
        release(&fd, self.pid);
    }
}

impl fmt::Debug for LockGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockGuard")
            .field("lock", &self.place.label)
            .field("kind", &self.kind)
            .field("token", &self.token())
            .finish_non_exhaustive()
    }
}
