//! A failure that does not stop a run: what stands in `pipeline.errors`, and whether it may pass by itself.

use std::time::Duration;

use flydocs_contract::ErrorCode;

/// A failure of one unit of a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
    pub(crate) transient: bool,
    /// When a provider wants to be asked again.
    pub(crate) retry_after: Option<Duration>,
}

impl Failure {
    pub(crate) fn permanent(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            transient: false,
            retry_after: None,
        }
    }

    pub(crate) fn transient(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            transient: true,
            retry_after: None,
        }
    }

    /// An engine's failure on a subject ("a.pdf, pages 1-2"). What an engine cannot do at all it cannot do for
    /// any subject: that is said once, without one.
    pub(crate) fn of_engine(error: &flydocs_engines::Error, subject: &str) -> Self {
        let message = match error {
            flydocs_engines::Error::Unsupported { .. }
            | flydocs_engines::Error::UnknownModel { .. } => error.to_string(),
            _ => format!("{subject}: {error}"),
        };
        Self {
            code: error.code(),
            message,
            transient: error.is_transient(),
            retry_after: error.retry_after(),
        }
    }

    /// A reader's failure; its text names the file where a file is to blame.
    pub(crate) fn of_reader(error: &flydocs_pages::Error) -> Self {
        Self {
            code: error.code(),
            message: error.to_string(),
            transient: matches!(
                error,
                flydocs_pages::Error::Internal { .. } | flydocs_pages::Error::OcrFailed { .. }
            ),
            retry_after: None,
        }
    }
}
