//! What a holder writes into the lock file: text for people and messages. The kernel's lock, not
//! this text, decides who holds it.
//!
//! Bytes 0..192 are the head (state, token, times), rewritten at both ends of a run; 192..224 the
//! mark of those who wait; 224..288 the pause that waiting callers ask for; 288..1088 say who,
//! written only when it is not there already. All but the mark have a checksum.

mod head;
mod request;
mod text;
mod waits;
mod who;

use std::{fmt, os::fd::AsFd};

pub(crate) use head::{Head, HeadText};
pub(crate) use request::PauseRequest;
pub(crate) use waits::Waits;
pub(crate) use who::Who;

use crate::clock;

const HEAD: usize = 192;
const WAITS: usize = 32;
const REQUEST: usize = 64;
const WHO: usize = 800;

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

/// What the next caller needs to know of the run before: the head, whether somebody waits, and the
/// pause asked for after it, if any.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Last {
    pub(crate) head: Head,
    pub(crate) waits: Option<Waits>,
    pub(crate) request: Option<PauseRequest>,
}

impl Last {
    pub(crate) fn read(fd: impl AsFd) -> Option<Self> {
        let mut bytes = [0; HEAD + WAITS + REQUEST];
        let length = rustix::io::pread(fd, &mut bytes, 0).ok()?;
        let (head, rest) = bytes.get(..length)?.split_first_chunk()?;
        let head = Head::decode(head)?;
        let waits = rest.first_chunk().and_then(Waits::decode);
        let request = rest
            .get(WAITS..)
            .and_then(<[u8]>::first_chunk)
            .and_then(PauseRequest::decode)
            .filter(|request| request.token == head.token);
        Some(Self {
            head,
            waits,
            request,
        })
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
        let mut bytes = [0; HEAD + WAITS + REQUEST + WHO];
        let length = rustix::io::pread(fd, &mut bytes, 0).ok()?;
        let (head, rest) = bytes.get(..length)?.split_first_chunk()?;
        let head = Head::decode(head)?;
        let who = who::verified(rest.get(WAITS + REQUEST..).unwrap_or_default(), head.who);
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{head::tests::longest, *};
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
