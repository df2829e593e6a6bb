//! Why an extraction, or the grounding of its boxes, ended without a result; typed for the retry policy.

use flydocs_contract::{ErrorCode, JsonObject, result::PipelineError};

/// The result of a run.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why there is no result. Failures that do not stop a run stand in `pipeline.errors` of the result instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read.
    #[error(transparent)]
    Load {
        /// What the reader said: code, sentence, facts.
        source: Box<flydocs_pages::Error>,
    },
    /// Reading the files took longer than its ceiling.
    #[error(
        "{filename} was not read within {seconds} s (FLYDOCS_LOAD_TIMEOUT_S); send smaller files or raise the setting"
    )]
    LoadTimeout {
        /// The first file that was not read.
        filename: String,
        /// The ceiling.
        seconds: u64,
    },
    /// The model of the request is not known here.
    #[error(transparent)]
    Model {
        /// What the source of engines said.
        source: flydocs_engines::Error,
    },
    /// No document could be worked on; `errors` says why, stage by stage.
    #[error("no document could be worked on: {detail}")]
    NothingExtracted {
        /// The first cause, in a sentence.
        detail: String,
        /// True when none of the causes may pass by itself.
        permanent: bool,
        /// When a provider wants to be asked again.
        retry_after: Option<std::time::Duration>,
        /// Every cause.
        errors: Vec<PipelineError>,
    },
    /// None of the pages that had to be read could be read.
    #[error("{detail}")]
    Words {
        /// `ocr_unavailable` or `ocr_failed`.
        code: ErrorCode,
        /// What is missing and how to get it.
        detail: String,
    },
    /// The files given to a refinement are not those of the result.
    #[error("the files do not fit the result: {detail}")]
    FilesDiffer {
        /// What does not fit.
        detail: String,
    },
    /// Grounding the boxes took longer than its ceiling.
    #[error("the boxes were not grounded within {seconds} s ({setting})")]
    RefineTimeout {
        /// The ceiling.
        seconds: u64,
        /// The setting that names it.
        setting: &'static str,
    },
    /// Whoever asked for the work took it back. Carries no code of its own: look for it before asking for one.
    #[error("the extraction was cancelled")]
    Cancelled,
    /// Something failed that is nobody's document's fault.
    #[error("{node} stopped unexpectedly")]
    Internal {
        /// The stage.
        node: &'static str,
    },
}

impl Error {
    /// The stable code.
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Load { source } => source.code(),
            Self::LoadTimeout { .. } => ErrorCode::LimitExceeded,
            Self::Model { source } => source.code(),
            Self::NothingExtracted { .. } => ErrorCode::NothingExtracted,
            Self::Words { code, .. } => *code,
            Self::RefineTimeout { .. } => ErrorCode::StageTimeout,
            Self::FilesDiffer { .. } | Self::Cancelled | Self::Internal { .. } => {
                ErrorCode::Internal
            }
        }
    }

    /// True when the same request would end the same way: the caller's fault, or a refusal.
    pub const fn is_permanent(&self) -> bool {
        match self {
            Self::Load { source } => matches!(**source, flydocs_pages::Error::Refused { .. }),
            Self::Model { source } => !source.is_transient(),
            Self::NothingExtracted { permanent, .. } => *permanent,
            Self::Words { code, .. } => matches!(code, ErrorCode::OcrUnavailable),
            Self::FilesDiffer { .. } => true,
            Self::LoadTimeout { .. }
            | Self::RefineTimeout { .. }
            | Self::Cancelled
            | Self::Internal { .. } => false,
        }
    }

    /// When a provider wants to be asked again.
    pub const fn retry_after(&self) -> Option<std::time::Duration> {
        match self {
            Self::Model { source } => source.retry_after(),
            Self::NothingExtracted { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// True when the caller took the work back.
    pub const fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled)
    }

    /// Facts for the extensions of a problem.
    pub fn facts(&self) -> JsonObject {
        let mut facts = JsonObject::new();
        match self {
            Self::Load { source } => {
                if let flydocs_pages::Error::Refused {
                    filename,
                    facts: known,
                    ..
                } = &**source
                {
                    facts.insert("filename".to_owned(), filename.clone().into());
                    facts.extend(known.clone());
                }
            }
            Self::LoadTimeout { filename, seconds } => {
                facts.insert("filename".to_owned(), filename.clone().into());
                facts.insert("limit".to_owned(), "time".into());
                facts.insert("setting".to_owned(), "FLYDOCS_LOAD_TIMEOUT_S".into());
                facts.insert("allowed".to_owned(), (*seconds).into());
            }
            Self::NothingExtracted { errors, .. } => {
                let list = errors.iter().map(
                    |e| serde_json::json!({"node": e.node, "code": e.code, "message": e.message}),
                );
                facts.insert("errors".to_owned(), list.collect::<Vec<_>>().into());
            }
            Self::RefineTimeout { seconds, setting } => {
                facts.insert("timeout_s".to_owned(), (*seconds).into());
                facts.insert("setting".to_owned(), (*setting).into());
            }
            Self::Model { .. }
            | Self::Words { .. }
            | Self::FilesDiffer { .. }
            | Self::Cancelled
            | Self::Internal { .. } => {}
        }
        facts
    }
}
