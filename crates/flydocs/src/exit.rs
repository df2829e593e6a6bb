//! Exit codes: part of the command line's contract, listed in `--help` and docs/cli.md.

use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done,
    /// Something unexpected failed.
    Unexpected,
    /// The command line or the types file is wrong.
    Usage,
    /// A setting is wrong, or two contradict each other.
    Settings,
    /// The server or the database cannot be reached.
    Unreachable,
    /// A document failed; the others of the batch were still done.
    DocumentFailed,
    /// The server refused the call.
    Refused,
    /// Waiting took longer than it may.
    TooLong,
    /// Stopped by a signal.
    Interrupted,
}

impl Exit {
    const fn number(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Unexpected => 1,
            Self::Usage => 2,
            Self::Settings => 3,
            Self::Unreachable => 4,
            Self::DocumentFailed => 5,
            Self::Refused => 6,
            Self::TooLong => 7,
            Self::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.number())
    }
}

/// The list of `--help`.
pub(crate) const HELP: &str = "\
Exit codes:
    0  done
    1  something unexpected failed
    2  the command line or the types file is wrong
    3  a setting is wrong, or two contradict each other
    4  the server or the database cannot be reached
    5  a document failed (the others of the batch were still done)
    6  the server refused the call (not found, not ready, not valid)
    7  waiting took longer than it may
  130  stopped by a signal

Data goes to stdout, everything else to stderr. `flydocs explain CODE` explains an error code.";
