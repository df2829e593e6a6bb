//! Why an engine did not answer, typed so that the retry policy never reads message text.

use std::time::Duration;

use flydocs_contract::ErrorCode;

/// The result of a question.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an engine did not answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// This engine cannot answer this kind of question at all.
    #[error("{model} cannot {question}; choose another model with options.model or FLYDOCS_MODEL")]
    Unsupported {
        /// The engine.
        model: String,
        /// The question, as a verb ("judge").
        question: &'static str,
    },
    /// No engine has this name.
    #[error("no engine is called {model:?}; known are {known}")]
    UnknownModel {
        /// What was asked for.
        model: String,
        /// What there is.
        known: String,
    },
    /// A failure that may pass: network, 429, 5xx, time-out.
    #[error("{model} did not answer: {detail}")]
    Transient {
        /// The engine.
        model: String,
        /// What happened, without secrets.
        detail: String,
        /// When the provider wants to be asked again.
        retry_after: Option<Duration>,
    },
    /// A failure that will not pass: authentication, unknown model, content policy, refused request.
    #[error("{model} refused: {detail}")]
    Permanent {
        /// The engine.
        model: String,
        /// What happened, without secrets.
        detail: String,
    },
    /// The answer does not fit the question.
    #[error("{model} answered out of shape: {detail}")]
    BadAnswer {
        /// The engine.
        model: String,
        /// What did not fit.
        detail: String,
    },
    /// The work was cancelled by whoever asked for it.
    #[error("the engine was cancelled")]
    Cancelled,
}

impl Error {
    /// The stable code of this failure in `pipeline.errors`.
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Unsupported { .. } | Self::UnknownModel { .. } => ErrorCode::EngineUnsupported,
            Self::Transient { .. }
            | Self::Permanent { .. }
            | Self::BadAnswer { .. }
            | Self::Cancelled => ErrorCode::EngineError,
        }
    }

    /// When the provider wants to be asked again.
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Transient { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// True when asking again later may help.
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::Transient { .. } | Self::BadAnswer { .. })
    }
}
