//! Why a grounding ends before its end.

/// A grounding that was not finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The caller cancelled; the groups are as they were.
    #[error("the grounding was cancelled")]
    Cancelled,
}

/// The result of a grounding.
pub type Result<T, E = Error> = std::result::Result<T, E>;
