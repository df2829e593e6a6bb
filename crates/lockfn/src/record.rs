//! What a holder writes into the lock file: text for people and messages. The kernel's lock, not
//! this text, decides who holds it.
//!
//! Bytes 0..192 are the head (state, token, times), rewritten at both ends of a run; 192..1024 say
//! who, written only when it is not there already. Each part has its own checksum.

use std::{fmt, ops::Range, os::fd::AsFd};

use crate::clock;

const HEAD: usize = 192;
const WHO: usize = 832;

/// How the last run of a lock ended, as far as its lock file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum State {
    /// The holder has not written its end: it runs, or it died.
    Running,
    /// The holder released the lock.
    Done,
    /// Handed to another program with `exec`: nobody writes the end.
    Exec,
    /// A later caller noticed that the holder had died.
    Lost,
}

impl State {
    /// The word in the lock file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Done => "done",
            Self::Exec => "exec",
            Self::Lost => "lost",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        [Self::Running, Self::Done, Self::Exec, Self::Lost]
            .into_iter()
            .find(|s| s.as_str() == word)
    }
}

/// Who holds a lock or held it last. For messages, never for decisions.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holder {
    /// Whether it has released the lock.
    pub state: State,
    /// Its process number, in its own pid namespace.
    pub pid: u32,
    /// When that process was started, in clock ticks after boot.
    pub start: u64,
    /// Its host.
    pub host: String,
    /// The host's boot id.
    pub boot: String,
    /// The inode of its pid namespace.
    pub namespace: u64,
    /// When it took the lock: milliseconds since 1970.
    pub since_ms: u64,
    /// When it released the lock: milliseconds since 1970, 0 while it holds it.
    pub ended_ms: u64,
    /// The number of this hold: grows with each hold of this lock.
    pub token: u64,
    /// The lock's name.
    pub lock: String,
    /// The program and its first arguments.
    pub command: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = clock::wall_ms().saturating_sub(self.since_ms) as f64 / 1e3;
        write!(
            f,
            "pid {} on {}, since {held:.1} s ago: {}",
            self.pid, self.host, self.command
        )
    }
}

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
        matches!(self.state, State::Running | State::Exec)
            && rustix::process::Pid::from_raw(self.pid as i32).is_some_and(|pid| {
                // EPERM: somebody else's process, but there.
                rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH)
            })
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

    fn decode(bytes: &[u8; HEAD]) -> Option<Self> {
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

    fn set(&mut self, field: Range<usize>, mut value: u64) {
        // All fields have an even number of digits; two at a time.
        let digits = self.0.get_mut(field).unwrap_or_default();
        for pair in digits.as_rchunks_mut::<2>().1.iter_mut().rev() {
            let two = (value % 100) as u8;
            *pair = [b'0' + two / 10, b'0' + two % 10];
            value /= 100;
        }
    }

    fn sign(&mut self) {
        let sum = checksum(self.0.get(SIGNED).unwrap_or_default());
        self.set(SUM, u64::from(sum));
    }
}

/// Only digits; what is too long for a number was not written by us, and means nothing.
fn number(digits: &[u8]) -> Option<u64> {
    let mut only_digits = true;
    let value = digits.iter().fold(0_u64, |value, digit| {
        let digit = digit.wrapping_sub(b'0');
        only_digits &= digit <= 9;
        value.wrapping_mul(10).wrapping_add(u64::from(digit))
    });
    only_digits.then_some(value)
}

/// The part that says who, ready to be written. The same for all holds of one lock in one process.
#[derive(Debug)]
pub(crate) struct Who {
    bytes: [u8; WHO],
    pub(crate) sum: u32,
    pub(crate) pid: u32,
    /// Whether a record may be written at all: beyond `ulimit -f` the kernel ends the program.
    pub(crate) may_write: bool,
}

impl Who {
    pub(crate) fn new(me: &crate::process::Me, lock: &str, command: &str) -> Self {
        let mut line = Line {
            bytes: [b' '; WHO],
            used: 0,
        };
        line.text("pid=");
        line.number(u64::from(me.pid));
        line.text("\nstart=");
        line.number(me.start);
        line.text("\nnamespace=");
        line.number(me.namespace);
        for (name, text, limit) in [
            ("\nboot=", me.boot.as_str(), 32),
            ("\nhost=", me.host.as_str(), 64),
            ("\nlock=", lock, 250),
            ("\ncommand=", command, 300),
        ] {
            line.text(name);
            line.one_line(text, limit);
        }
        let sum = checksum(line.bytes.get(..line.used).unwrap_or_default());
        line.text("\nsum=");
        line.number(u64::from(sum));
        if let Some(last) = line.bytes.last_mut() {
            *last = b'\n';
        }
        Self {
            bytes: line.bytes,
            sum,
            pid: me.pid,
            may_write: me.file_limit >= (HEAD + WHO) as u64,
        }
    }

    /// Best effort, as [`Head::write`].
    pub(crate) fn write(&self, fd: impl AsFd) -> bool {
        rustix::io::pwrite(fd, &self.bytes, HEAD as u64) == Ok(WHO)
    }
}

impl Holder {
    /// Who says that it holds the lock now: a record that was ended is that of somebody else, and
    /// the present holder has left none.
    pub(crate) fn present(fd: impl AsFd) -> Option<Self> {
        Self::read(fd).filter(|holder| matches!(holder.state, State::Running | State::Exec))
    }

    /// What the lock file says; a part that is missing or torn is left empty, a head that is
    /// missing or torn is no record at all.
    pub(crate) fn read(fd: impl AsFd) -> Option<Self> {
        let mut bytes = [0; HEAD + WHO];
        let length = rustix::io::pread(fd, &mut bytes, 0).ok()?;
        let (head, who) = bytes.get(..length)?.split_first_chunk()?;
        let head = Head::decode(head)?;
        let who = verified_who(who, head.who);
        let field = |name: &str| -> String {
            who.lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
                .unwrap_or_default()
                .to_owned()
        };
        let number = |name: &str| field(name).parse().unwrap_or(0);
        Some(Self {
            state: head.state,
            pid: head.pid,
            start: number("start"),
            host: field("host"),
            boot: field("boot"),
            namespace: number("namespace"),
            since_ms: head.since_ms,
            ended_ms: head.ended_ms,
            token: head.token,
            lock: field("lock"),
            command: field("command"),
        })
    }
}

fn verified_who(bytes: &[u8], expected: u32) -> &str {
    std::str::from_utf8(bytes)
        .ok()
        .and_then(|text| text.trim_end().rsplit_once("\nsum="))
        .filter(|(signed, sum)| {
            sum.parse() == Ok(expected) && checksum(signed.as_bytes()) == expected
        })
        .map(|(signed, _)| signed)
        .unwrap_or_default()
}

/// Finds torn and foreign text; no protection against forgery. Eight bytes at a time: it is
/// computed twice for every hold.
fn checksum(bytes: &[u8]) -> u32 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut sum = bytes.len() as u64;
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        sum = (sum.rotate_left(23) ^ u64::from_le_bytes(*word)).wrapping_mul(ODD);
    }
    for byte in rest {
        sum = (sum.rotate_left(23) ^ u64::from(*byte)).wrapping_mul(ODD);
    }
    (sum >> 32) as u32
}

/// A fixed piece of text, filled from the left; what does not fit is cut.
struct Line<const N: usize> {
    bytes: [u8; N],
    used: usize,
}

impl<const N: usize> Line<N> {
    fn text(&mut self, text: &str) {
        self.raw(text.as_bytes());
    }

    fn raw(&mut self, text: &[u8]) {
        let end = (self.used + text.len()).min(N);
        if let Some(room) = self.bytes.get_mut(self.used..end) {
            for (to, from) in room.iter_mut().zip(text) {
                *to = *from;
            }
        }
        self.used = end;
    }

    fn number(&mut self, mut value: u64) {
        let mut digits = [b'0'; 20];
        let mut first = digits.len();
        for (place, digit) in digits.iter_mut().enumerate().rev() {
            *digit = b'0' + (value % 10) as u8;
            value /= 10;
            first = place;
            if value == 0 {
                break;
            }
        }
        self.raw(digits.get(first..).unwrap_or_default());
    }

    /// `text` without line breaks and other control characters, cut to `limit` bytes.
    fn one_line(&mut self, text: &str, limit: usize) {
        let end = self.used + limit;
        for c in text.chars() {
            let c = if c.is_control() { ' ' } else { c };
            if self.used + c.len_utf8() > end {
                break;
            }
            let mut bytes = [0; 4];
            self.text(c.encode_utf8(&mut bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::process::Me;

    fn me() -> Me {
        Me {
            pid: 4_294_967_295,
            start: u64::MAX,
            host: "h".repeat(300),
            boot: "b".repeat(300),
            namespace: u64::MAX,
            command: String::new(),
            file_limit: u64::MAX,
        }
    }

    fn longest() -> Head {
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

    proptest! {
        #[test]
        fn any_name_and_command_survive_or_are_cut(lock in "\\PC*", command in ".{0,400}") {
            let file = tempfile::tempfile().unwrap();
            let who = Who::new(&me(), &lock, &command);
            let head = Head { who: who.sum, ..longest() };
            prop_assert!(head.encode().write(&file) && who.write(&file));
            let holder = Holder::read(&file).unwrap();
            prop_assert!(lock.starts_with(&holder.lock));
            prop_assert!(lock.len() > 240 || lock == holder.lock);
            prop_assert!(holder.command.len() <= 300 && !holder.command.contains('\n'));
            prop_assert_eq!(holder.host.len(), 64);
        }

        #[test]
        fn garbage_is_no_record(bytes in proptest::collection::vec(any::<u8>(), 0..1100)) {
            let file = tempfile::tempfile().unwrap();
            rustix::io::pwrite(&file, &bytes, 0).unwrap();
            prop_assert_eq!(Holder::read(&file), None);
        }
    }
}
