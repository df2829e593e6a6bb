//! Why a file could not be read: always the file's own fault or a limit, with a stable code.

use flydocs_contract::{ErrorCode, JsonObject};

/// The result of reading.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a file or page could not be read.
#[derive(Debug, thiserror::Error)]
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
