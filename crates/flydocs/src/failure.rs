//! What a person reads when a command fails: the code, one sentence, and how to learn more.

use std::fmt;

use flydocs_contract::{ErrorCode, Fault};

use crate::exit::Exit;

/// Why a command failed.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    /// A stable code; `flydocs explain` has its page.
    pub code: String,
    /// One sentence: what, and what to do.
    pub sentence: String,
    /// Every single fault, when there are several.
    pub faults: Vec<Fault>,
    /// How the process ends.
    pub exit: Exit,
}

impl Failure {
    /// A failure with a code.
    pub(crate) fn new(code: ErrorCode, sentence: impl Into<String>, exit: Exit) -> Self {
        Self {
            code: code.as_str().to_owned(),
            sentence: sentence.into(),
            faults: Vec::new(),
            exit,
        }
    }

    /// Adds the single faults.
    pub(crate) fn with_faults(mut self, faults: Vec<Fault>) -> Self {
        self.faults = faults;
        self
    }

    /// Something nobody foresaw.
    pub(crate) fn unexpected(error: &anyhow::Error) -> Self {
        Self::new(ErrorCode::Internal, format!("{error:#}"), Exit::Unexpected)
    }

    /// A path that cannot be read.
    pub(crate) fn unreadable(path: &std::path::Path, error: &std::io::Error) -> Self {
        let why = match error.kind() {
            std::io::ErrorKind::NotFound => "there is no such file; check the path".to_owned(),
            std::io::ErrorKind::PermissionDenied => {
                "it may not be read; check its permissions".to_owned()
            }
            std::io::ErrorKind::IsADirectory => {
                "it is a directory; name the files in it".to_owned()
            }
            std::io::ErrorKind::OutOfMemory => {
                "it does not fit into the memory there is; lower FLYDOCS_MAX_BYTES or --jobs"
                    .to_owned()
            }
            _ => error.to_string(),
        };
        Self::new(
            ErrorCode::FileUnreadable,
            format!("{}: {why}", path.display()),
            Exit::DocumentFailed,
        )
    }

    /// The same failure with another end.
    pub(crate) fn exit(mut self, exit: Exit) -> Self {
        self.exit = exit;
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.sentence)?;
        for fault in &self.faults {
            if fault.path.is_empty() {
                write!(f, "\n  {}", fault.message)?;
            } else {
                write!(f, "\n  {}: {}", fault.path, fault.message)?;
            }
        }
        Ok(())
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::unexpected(&error)
    }
}
