//! Why a file could not be read: always the file's own fault or a limit, with a stable code.

use flydocs_contract::{ErrorCode, JsonObject};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::options::Limit;

/// The result of reading.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a file or page could not be read.
#[derive(Debug, Clone, PartialEq, thiserror::Error, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Error {
    /// The file is refused: its own fault, or a limit. The caller sees code, sentence and facts.
    #[error("{detail}")]
    Refused {
        /// A stable code.
        code: ErrorCode,
        /// The file, or the path of the member inside its container.
        filename: String,
        /// What is wrong and what to do, one sentence.
        detail: String,
        /// Facts for the problem's extensions (`limit`, `setting`, `allowed`, `seen`, `detected`).
        facts: JsonObject,
    },
    /// The OCR program or a language of it is missing.
    #[error("{detail}")]
    OcrUnavailable {
        /// What is missing and how to get it.
        detail: String,
    },
    /// OCR ran and failed on a page.
    #[error("ocr failed on page {page} of {filename}: {detail}")]
    OcrFailed {
        /// The file.
        filename: String,
        /// The page, from 1.
        page: u32,
        /// What the program said.
        detail: String,
    },
    /// The row has no such page.
    #[error("{filename} has {pages} pages, page {page} was asked for")]
    NoSuchPage {
        /// The file.
        filename: String,
        /// How many it has.
        pages: u32,
        /// The page asked for, from 1.
        page: u32,
    },
    /// The work was cancelled by whoever asked for it.
    #[error("reading was cancelled")]
    Cancelled,
    /// Something failed that is nobody's document's fault.
    #[error("reading failed: {detail}")]
    Internal {
        /// What failed.
        detail: String,
    },
}

impl Error {
    /// A file is refused for what it is.
    pub(crate) fn refused(
        code: ErrorCode,
        filename: impl Into<String>,
        detail: impl Into<String>,
    ) -> Self {
        Self::Refused {
            code,
            filename: filename.into(),
            detail: detail.into(),
            facts: JsonObject::new(),
        }
    }

    /// A file is over a limit. `seen` is what was counted when counting stopped.
    pub(crate) fn limit(filename: &str, limit: Limit, allowed: u64, seen: u64) -> Self {
        let mut facts = JsonObject::new();
        facts.insert("limit".into(), json!(limit.as_str()));
        facts.insert("setting".into(), json!(limit.setting()));
        facts.insert("allowed".into(), json!(allowed));
        facts.insert("seen".into(), json!(seen));
        Self::Refused {
            code: ErrorCode::LimitExceeded,
            filename: filename.to_owned(),
            detail: match limit {
                Limit::Time => format!(
                    "{filename} takes longer than {allowed} s to read ({})",
                    limit.setting()
                ),
                Limit::Memory => format!(
                    "{filename} needs more than {allowed} bytes of memory ({})",
                    limit.setting()
                ),
                _ => format!(
                    "{filename} has {seen} {}, {allowed} are allowed ({})",
                    limit.noun(),
                    limit.setting()
                ),
            },
            facts,
        }
    }

    /// A file has more bytes than are taken.
    pub(crate) fn too_large(filename: &str, allowed: u64, seen: u64) -> Self {
        let mut facts = JsonObject::new();
        facts.insert("limit_bytes".into(), json!(allowed));
        facts.insert("setting".into(), json!("FLYDOCS_MAX_BYTES"));
        facts.insert("allowed".into(), json!(allowed));
        facts.insert("seen".into(), json!(seen));
        Self::Refused {
            code: ErrorCode::FileTooLarge,
            filename: filename.to_owned(),
            detail: format!(
                "{filename} has {seen} bytes, {allowed} are allowed (FLYDOCS_MAX_BYTES)"
            ),
            facts,
        }
    }

    /// A file is of a kind that is not read.
    pub(crate) fn unsupported(filename: &str, detected: &str, why: &str) -> Self {
        let mut facts = JsonObject::new();
        facts.insert("detected".into(), json!(detected));
        Self::Refused {
            code: ErrorCode::UnsupportedFile,
            filename: filename.to_owned(),
            detail: format!("{filename} is {detected}, {why}"),
            facts,
        }
    }

    pub(crate) fn internal(detail: impl Into<String>) -> Self {
        Self::Internal {
            detail: detail.into(),
        }
    }

    /// The stable code of this failure.
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Refused { code, .. } => *code,
            Self::OcrUnavailable { .. } => ErrorCode::OcrUnavailable,
            Self::OcrFailed { .. } => ErrorCode::OcrFailed,
            Self::NoSuchPage { .. } | Self::Cancelled | Self::Internal { .. } => {
                ErrorCode::Internal
            }
        }
    }
}
