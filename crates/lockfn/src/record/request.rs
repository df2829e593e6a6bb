//! The pause that callers of `skip` with a delay ask for while they wait: what keeps a newcomer
//! from running between the holder's end and the moment they have woken up.
//!
//! Written without the lock, so it has a place of its own; it is for one hold only (`of`), and so
//! goes out of date by itself.

use std::{ops::Range, os::fd::AsFd, time::Duration};

use super::{
    HEAD, REQUEST, WAITS,
    text::{checksum, number, write_number},
};

/// Nobody is to run within `delay_ms` of the end of the hold `token`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PauseRequest {
    pub(crate) token: u64,
    delay_ms: u64,
}

const DELAY: Range<usize> = 6..20;
const TOKEN: Range<usize> = 24..44;
const SIGNED: Range<usize> = 0..48;
const SUM: Range<usize> = 49..59;
const LONGEST_MS: u64 = 99_999_999_999_999;
const BLANK: &[u8; REQUEST] = b"pause=00000000000000 of=00000000000000000000 sum=0000000000    \n";

impl PauseRequest {
    pub(crate) fn new(token: u64, delay: Duration) -> Self {
        let delay_ms = delay.as_nanos().div_ceil(1_000_000);
        Self {
            token,
            delay_ms: u64::try_from(delay_ms).map_or(LONGEST_MS, |ms| ms.min(LONGEST_MS)),
        }
    }

    pub(crate) fn delay(&self) -> Duration {
        Duration::from_millis(self.delay_ms)
    }

    /// Whether it asks for all that `other` asks for.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        self.token == other.token && self.delay_ms >= other.delay_ms
    }

    /// Best effort, as the head's.
    pub(crate) fn write(&self, fd: impl AsFd) -> bool {
        rustix::io::pwrite(fd, &self.encode(), (HEAD + WAITS) as u64) == Ok(REQUEST)
    }

    fn encode(self) -> [u8; REQUEST] {
        let mut text = *BLANK;
        let mut set = |field: Range<usize>, value| {
            write_number(text.get_mut(field).unwrap_or_default(), value);
        };
        set(DELAY, self.delay_ms);
        set(TOKEN, self.token);
        let sum = checksum(text.get(SIGNED).unwrap_or_default());
        write_number(text.get_mut(SUM).unwrap_or_default(), u64::from(sum));
        text
    }

    pub(super) fn decode(bytes: &[u8; REQUEST]) -> Option<Self> {
        let field = |field: Range<usize>| number(bytes.get(field)?);
        let signed = bytes.get(SIGNED)?;
        if !bytes.starts_with(b"pause=") || field(SUM)? != u64::from(checksum(signed)) {
            return None;
        }
        Some(Self {
            token: field(TOKEN)?,
            delay_ms: field(DELAY)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_request_fits_and_a_torn_one_is_none() {
        let longest = PauseRequest::new(u64::MAX, Duration::MAX);
        let whole = longest.encode();
        assert_eq!(PauseRequest::decode(&whole), Some(longest));
        let other = PauseRequest::new(7, Duration::from_micros(1)).encode();
        for cut in 7..SUM.end {
            let mut torn = whole;
            torn[..cut].copy_from_slice(&other[..cut]);
            let read = PauseRequest::decode(&torn);
            assert!(read.is_none() || torn == other, "cut at {cut}: {read:?}");
        }
    }

    #[test]
    fn a_delay_is_never_cut_short() {
        let delay = Duration::from_micros(1500);
        assert_eq!(
            PauseRequest::new(1, delay).delay(),
            Duration::from_millis(2)
        );
    }
}
