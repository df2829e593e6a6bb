//! The part of a record that changes with each hold.

use std::{ops::Range, os::fd::AsFd};

use super::{
    HEAD, State,
    text::{checksum, number, write_number},
};

/// The part that changes with each hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) state: State,
    pub(crate) token: u64,
    pub(crate) since_ms: u64,
    pub(crate) ended_ms: u64,
    /// Boot time of the end (of the start, while running), in milliseconds.
    pub(crate) up_ms: u64,
    /// Boot time of the end of the hold before this one.
    pub(crate) previous_up_ms: u64,
    pub(crate) pid: u32,
    /// The checksum of the part that says who.
    pub(crate) who: u32,
}

impl Head {
    pub(crate) fn read(fd: impl AsFd) -> Option<Self> {
        let mut bytes = [0; HEAD];
        let read = rustix::io::pread(fd, &mut bytes, 0).ok()?;
        if read == HEAD {
            Self::decode(&bytes)
        } else {
            None
        }
    }

    /// Whether a holder that is still there seems to be in its body.
    pub(crate) fn seems_alive(&self) -> bool {
        self.is_open()
            && rustix::process::Pid::from_raw(self.pid as i32).is_some_and(|pid| {
                // EPERM: somebody else's process, but there.
                rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH)
            })
    }

    /// Whether, by its own word, it has not ended.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.state, State::Running | State::Exec)
    }

    pub(crate) fn encode(&self) -> HeadText {
        let mut text = HeadText(BLANK_HEAD);
        text.set_state(self.state);
        text.set(TOKEN, self.token);
        text.set(SINCE, self.since_ms);
        text.set(ENDED, self.ended_ms);
        text.set(UP, self.up_ms);
        text.set(PREVIOUS, self.previous_up_ms);
        text.set(PID, u64::from(self.pid));
        text.set(BY, u64::from(self.who));
        text.sign();
        text
    }

    pub(super) fn decode(bytes: &[u8; HEAD]) -> Option<Self> {
        let field = |field: Range<usize>| number(bytes.get(field)?);
        if !bytes.starts_with(MAGIC) || field(SUM)? != u64::from(checksum(bytes.get(SIGNED)?)) {
            return None;
        }
        Some(Self {
            state: State::parse(std::str::from_utf8(bytes.get(STATE)?).ok()?.trim_end())?,
            token: field(TOKEN)?,
            since_ms: field(SINCE)?,
            ended_ms: field(ENDED)?,
            up_ms: field(UP)?,
            previous_up_ms: field(PREVIOUS)?,
            pid: field(PID)? as u32,
            who: field(BY)? as u32,
        })
    }
}

/// The head as it stands in the file: every field has its place, so that the end of a run changes
/// three of them.
#[derive(Clone, Debug)]
pub(crate) struct HeadText([u8; HEAD]);

const MAGIC: &[u8] = b"lockfn1 ";
const STATE: Range<usize> = 8..15;
const TOKEN: Range<usize> = 22..42;
const SINCE: Range<usize> = 49..63;
const ENDED: Range<usize> = 70..84;
const UP: Range<usize> = 88..102;
const PREVIOUS: Range<usize> = 112..126;
const PID: Range<usize> = 131..141;
const BY: Range<usize> = 146..156;
const SIGNED: Range<usize> = 0..160;
const SUM: Range<usize> = 161..171;

const BLANK_HEAD: [u8; HEAD] = *b"lockfn1 \
    running \
    token=00000000000000000000 \
    since=00000000000000 \
    ended=00000000000000 \
    up=00000000000000 \
    previous=00000000000000 \
    pid=0000000000 \
    who=0000000000 \
    sum=0000000000\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\n";

impl HeadText {
    /// Best effort: a full disk must not stop the work.
    pub(crate) fn write(&self, fd: impl AsFd) -> bool {
        rustix::io::pwrite(fd, &self.0, 0) == Ok(HEAD)
    }

    /// The same hold, at its end or handed on.
    pub(crate) fn end(&mut self, state: State, ended_ms: u64, up_ms: u64) {
        self.set_state(state);
        self.set(ENDED, ended_ms);
        self.set(UP, up_ms);
        self.sign();
    }

    fn set_state(&mut self, state: State) {
        if let Some(place) = self.0.get_mut(STATE) {
            place.fill(b' ');
            for (to, from) in place.iter_mut().zip(state.as_str().as_bytes()) {
                *to = *from;
            }
        }
    }

    fn set(&mut self, field: Range<usize>, value: u64) {
        write_number(self.0.get_mut(field).unwrap_or_default(), value);
    }

    fn sign(&mut self) {
        let sum = checksum(self.0.get(SIGNED).unwrap_or_default());
        self.set(SUM, u64::from(sum));
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::record) fn longest() -> Head {
        Head {
            state: State::Running,
            token: u64::MAX,
            since_ms: u64::MAX >> 18,
            ended_ms: u64::MAX >> 18,
            up_ms: u64::MAX >> 20,
            previous_up_ms: u64::MAX >> 20,
            pid: u32::MAX,
            who: u32::MAX,
        }
    }

    #[test]
    fn the_longest_head_fits() {
        assert_eq!(Head::decode(&longest().encode().0), Some(longest()));
        let text = String::from_utf8(longest().encode().0.to_vec()).unwrap();
        assert!(
            text.starts_with("lockfn1 running token=18446744073709551615 since=70"),
            "{text}"
        );
        assert!(
            text.contains(" who=4294967295 sum=") && text.ends_with(" \n"),
            "{text}"
        );
    }

    #[test]
    fn the_end_of_a_hold_is_the_head_with_another_state_and_times() {
        let mut text = longest().encode();
        text.end(State::Done, 12, 34);
        let head = Head::decode(&text.0).unwrap();
        assert_eq!(
            head,
            Head {
                state: State::Done,
                ended_ms: 12,
                up_ms: 34,
                ..longest()
            }
        );
    }

    #[test]
    fn a_torn_head_is_no_head() {
        let whole = longest().encode().0;
        let other = Head {
            token: 7,
            state: State::Done,
            ..longest()
        }
        .encode()
        .0;
        for cut in 10..HEAD {
            let mut torn = whole;
            torn[..cut].copy_from_slice(&other[..cut]);
            let read = Head::decode(&torn);
            assert!(read.is_none() || torn == other, "cut at {cut}: {read:?}");
        }
    }
}
