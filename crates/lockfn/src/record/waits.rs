//! The mark of those who wait. The kernel tells a holder nothing of its waiters; without the mark
//! a caller that comes again at once would never know that it keeps somebody from having a turn
//! (see `fair`).
//!
//! A hint, written without the lock: a torn one is read as another time, and no harm is done.

use std::{ops::Range, os::fd::AsFd};

use super::{
    HEAD, WAITS,
    text::{number, write_number},
};

/// Somebody waits, or did a moment ago.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waits {
    /// Boot time, in milliseconds, since when the lock has been in the same hands meanwhile.
    pub(crate) since_up_ms: u64,
    /// How often nobody came who was given the chance.
    pub(crate) in_vain: u64,
}

const SINCE: Range<usize> = 6..20;
const IN_VAIN: Range<usize> = 29..31;
const BLANK: &[u8; WAITS] = b"waits=00000000000000 in-vain=00\n";

impl Waits {
    pub(crate) fn now() -> Self {
        Self {
            since_up_ms: crate::clock::boot_ms(),
            in_vain: 0,
        }
    }

    /// Best effort, as the head's.
    pub(crate) fn write(self, fd: impl AsFd) {
        let mut text = *BLANK;
        write_number(
            text.get_mut(SINCE).unwrap_or_default(),
            self.since_up_ms.max(1),
        );
        write_number(text.get_mut(IN_VAIN).unwrap_or_default(), self.in_vain);
        write(fd, &text);
    }

    /// Nobody waits any more, as far as can be told.
    pub(crate) fn clear(fd: impl AsFd) {
        write(fd, BLANK);
    }

    pub(super) fn decode(bytes: &[u8; WAITS]) -> Option<Self> {
        let field = |field: Range<usize>| number(bytes.get(field)?);
        let since_up_ms = field(SINCE)?;
        (bytes.starts_with(b"waits=") && since_up_ms > 0).then_some(Self {
            since_up_ms,
            in_vain: field(IN_VAIN)?,
        })
    }
}

fn write(fd: impl AsFd, text: &[u8; WAITS]) {
    rustix::io::pwrite(fd, text, HEAD as u64).unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_as_it_was_written_and_a_cleared_one_is_none() {
        let file = tempfile::tempfile().unwrap();
        let read = || {
            let mut bytes = [0; WAITS];
            rustix::io::pread(&file, &mut bytes, HEAD as u64).unwrap();
            Waits::decode(&bytes)
        };
        assert_eq!(read(), None);
        let mark = Waits {
            since_up_ms: 99_999_999_999_999,
            in_vain: 3,
        };
        mark.write(&file);
        assert_eq!(read(), Some(mark));
        Waits::clear(&file);
        assert_eq!(read(), None);
    }
}
