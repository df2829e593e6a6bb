//! Looking at a lock without taking it, and removing files nobody uses.

use std::{
    fs,
    os::fd::AsFd,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rustix::fs::{AtFlags, FlockOperation};

use crate::{
    acquire::{Attempt, Opened, release},
    dir::io_error,
    error::Result,
    file::{Kind, Place},
    process,
    record::{Head, State},
};

/// Looks at a record and a kernel that disagree.
const ROUNDS: u32 = 20;

impl Place {
    pub(crate) fn is_held(&self) -> Result<bool> {
        let Some(opened) = self.open_existing()? else {
            return Ok(false);
        };
        self.examine(&opened)?;
        // The kernel's table disturbs nobody, but it is read while it changes, so its "no" needs a
        // second word: that of a record whose holder says it is done. While the two disagree,
        // somebody is coming or going. Only when they go on disagreeing (the holder died, or
        // writes no record) is the answer taken with a shared lock, which an exclusive holder
        // refuses; a caller who meets it looks again (`look_again`).
        for _ in 0..ROUNDS {
            if kernel_holder(&opened.fd).is_some() {
                return Ok(true);
            }
            match Head::read(&opened.fd) {
                Some(head) if head.state == State::Done => return Ok(false),
                Some(head) if head.seems_alive() => {}
                _ => break,
            }
        }
        self.confirm_free(&opened).map(|free| !free)
    }

    fn confirm_free(&self, opened: &Opened) -> Result<bool> {
        let free = self.flock(&opened.fd, FlockOperation::NonBlockingLockShared)?;
        if free {
            release(&opened.fd, process::pid());
        }
        Ok(free)
    }

    pub(crate) fn remove_if_unused(&self, unused_for: Duration) -> Result<bool> {
        if self.open_existing()?.is_none() {
            return Ok(false);
        }
        let Attempt::Locked(locked) = self.attempt(Kind::Exclusive)? else {
            return Ok(false);
        };
        let Some(fd) = locked.fd() else {
            return Ok(false);
        };
        let failed = |errno| io_error("remove", &self.path, errno);
        let stat = rustix::fs::fstat(fd).map_err(failed)?;
        let used = UNIX_EPOCH + Duration::from_secs(u64::try_from(stat.st_mtime).unwrap_or(0));
        if SystemTime::now().duration_since(used).unwrap_or_default() < unused_for {
            return Ok(false);
        }
        // Held and verified: this unlinks the very file that newcomers would open.
        rustix::fs::unlinkat(rustix::fs::CWD, &self.full, AtFlags::empty()).map_err(failed)?;
        Ok(true)
    }
}

/// The process that `/proc/locks` names as holder of this file's lock (0 if it is not ours to
/// see).
pub(crate) fn kernel_holder(fd: impl AsFd) -> Option<u32> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let stat = rustix::fs::fstat(fd).ok()?;
    let wanted = format!(
        "{:02x}:{:02x}:{}",
        rustix::fs::major(stat.st_dev),
        rustix::fs::minor(stat.st_dev),
        stat.st_ino
    );
    find_holder(&fs::read_to_string("/proc/locks").ok()?, &wanted)
}

/// `1: FLOCK  ADVISORY  WRITE 3175 fd:01:1234 0 EOF`; a waiter has `->` as its second word.
fn find_holder(table: &str, wanted: &str) -> Option<u32> {
    table.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let (kind, _, access, pid, file) = (
            words.next()?,
            words.next()?,
            words.next()?,
            words.next()?,
            words.next()?,
        );
        (kind == "FLOCK" && access == "WRITE" && file == wanted).then(|| {
            pid.parse::<i64>()
                .ok()
                .and_then(|pid| u32::try_from(pid).ok())
                .unwrap_or(0)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_table_is_matched_by_whole_fields() {
        let table = "1: FLOCK  ADVISORY  WRITE 10 fd:01:12345 0 EOF\n\
                     1: -> FLOCK  ADVISORY  WRITE 11 fd:01:1234 0 EOF\n\
                     2: POSIX  ADVISORY  WRITE 12 fd:01:1234 0 EOF\n\
                     3: FLOCK  ADVISORY  READ  13 fd:01:1234 0 EOF\n";
        assert_eq!(find_holder(table, "fd:01:1234"), None);
        assert_eq!(find_holder(table, "fd:01:12345"), Some(10));
        let foreign = "1: FLOCK  ADVISORY  WRITE -1 fd:01:1234 0 EOF\n";
        assert_eq!(find_holder(foreign, "fd:01:1234"), Some(0));
    }
}
