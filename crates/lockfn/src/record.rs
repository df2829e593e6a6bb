//! What a holder writes into the lock file: text for people and messages. The kernel's lock, not
//! this text, decides who holds it.
//!
//! Bytes 0..192 are the head (state, token, times), rewritten at both ends of a run; 192..1024 say
//! who, written only when it is not there already. Each part has its own checksum.

use std::{fmt, os::fd::AsFd};

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
        [Self::Running, Self::Done, Self::Exec, Self::Lost].into_iter().find(|s| s.as_str() == word)
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
        write!(f, "pid {} on {}, since {held:.1} s ago: {}", self.pid, self.host, self.command)
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
        Self::decode(read_part(fd, &mut bytes, 0)?)
    }

    /// Best effort: a full disk must not stop the work.
    pub(crate) fn write(&self, fd: impl AsFd) -> bool {
        rustix::io::pwrite(fd, &self.encode(), 0) == Ok(HEAD)
    }

    /// Whether a holder that is still there seems to be in its body.
    pub(crate) fn seems_alive(&self) -> bool {
        matches!(self.state, State::Running | State::Exec)
            && rustix::process::Pid::from_raw(self.pid as i32).is_some_and(|pid| {
                // EPERM: somebody else's process, but there.
                rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH)
            })
    }

    fn encode(&self) -> [u8; HEAD] {
        let mut line = Line { bytes: [b' '; HEAD], used: 0 };
        line.text("lockfn1 ");
        line.text(self.state.as_str());
        for (name, value) in [
            (" token=", self.token),
            (" since=", self.since_ms),
            (" ended=", self.ended_ms),
            (" up=", self.up_ms),
            (" previous=", self.previous_up_ms),
            (" pid=", u64::from(self.pid)),
            (" who=", u64::from(self.who)),
        ] {
            line.text(name);
            line.number(value);
        }
        let sum = checksum(line.bytes.get(..line.used).unwrap_or_default());
        line.text(" sum=");
        line.number(u64::from(sum));
        if let Some(last) = line.bytes.last_mut() {
            *last = b'\n';
        }
        line.bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let (signed, sum) = text.trim_end().rsplit_once(" sum=")?;
        if sum.parse() != Ok(checksum(signed.as_bytes())) {
            return None;
        }
        let mut words = signed.strip_prefix("lockfn1 ")?.split(' ');
        let state = State::parse(words.next()?)?;
        let mut number = |name: &str| -> Option<u64> {
            words.next()?.strip_prefix(name)?.strip_prefix('=')?.parse().ok()
        };
        Some(Self {
            state,
            token: number("token")?,
            since_ms: number("since")?,
            ended_ms: number("ended")?,
            up_ms: number("up")?,
            previous_up_ms: number("previous")?,
            pid: number("pid")? as u32,
            who: number("who")? as u32,
        })
    }
}

/// The part that says who, ready to be written. The same for all holds of one lock in one process.
#[derive(Debug)]
pub(crate) struct Who {
    bytes: [u8; WHO],
    pub(crate) sum: u32,
    pub(crate) pid: u32,
}

impl Who {
    pub(crate) fn new(me: &crate::process::Me, lock: &str, command: &str) -> Self {
        let mut line = Line { bytes: [b' '; WHO], used: 0 };
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
        Self { bytes: line.bytes, sum, pid: me.pid }
    }

    /// Best effort, as [`Head::write`].
    pub(crate) fn write(&self, fd: impl AsFd) -> bool {
        rustix::io::pwrite(fd, &self.bytes, HEAD as u64) == Ok(WHO)
    }
}

impl Holder {
    /// What the lock file says; a part that is missing or torn is left empty, a head that is
    /// missing or torn is no record at all.
    pub(crate) fn read(fd: impl AsFd) -> Option<Self> {
        let mut bytes = [0; HEAD + WHO];
        let read = read_part(fd, &mut bytes, 0)?;
        let (head, who) = read.split_at_checked(HEAD)?;
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

fn read_part(fd: impl AsFd, into: &mut [u8], offset: u64) -> Option<&[u8]> {
    let length = rustix::io::pread(fd, &mut *into, offset).ok()?;
    into.get(..length)
}

/// FNV-1a: finds torn and foreign text, is no protection against forgery.
fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
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
        }
    }

    fn longest() -> Head {
        Head {
            state: State::Running,
            token: u64::MAX,
            since_ms: u64::MAX >> 16,
            ended_ms: u64::MAX >> 16,
            up_ms: u64::MAX >> 20,
            previous_up_ms: u64::MAX >> 20,
            pid: u32::MAX,
            who: u32::MAX,
        }
    }

    #[test]
    fn the_longest_head_fits() {
        assert_eq!(Head::decode(&longest().encode()), Some(longest()));
    }

    #[test]
    fn a_torn_head_is_no_head() {
        let whole = longest().encode();
        let other = Head { token: 7, state: State::Done, ..longest() }.encode();
        for cut in 10..180 {
            let mut torn = whole;
            torn[..cut].copy_from_slice(&other[..cut]);
            let read = Head::decode(&torn);
            assert!(read.is_none() || torn == whole || torn[..170] == other[..170], "cut at {cut}: {read:?}");
        }
    }

    proptest! {
        #[test]
        fn any_name_and_command_survive_or_are_cut(lock in "\\PC*", command in ".{0,400}") {
            let file = tempfile::tempfile().unwrap();
            let who = Who::new(&me(), &lock, &command);
            let head = Head { who: who.sum, ..longest() };
            prop_assert!(head.write(&file) && who.write(&file));
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
