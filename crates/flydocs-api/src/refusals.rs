//! The one place where failures of the rooms below become answers.

use axum::http::{HeaderValue, header};
use flydocs_contract::ErrorCode;

use crate::problem::Refusal;

/// A failure of the store.
pub(crate) fn store_refusal(error: &flydocs_store::Error) -> Refusal {
    if error.is_unavailable() {
        Refusal::unavailable(&Chain(error))
    } else {
        Refusal::internal(&Chain(error))
    }
}

/// A failure of the reader.
pub(crate) fn reader_refusal(error: &flydocs_pages::Error) -> Refusal {
    match error {
        flydocs_pages::Error::Refused {
            code,
            filename,
            detail,
            facts,
        } => Refusal::new(*code, detail.clone())
            .with("filename", filename.as_str())
            .with_all(facts.clone())
            .for_http(true),
        flydocs_pages::Error::NoSuchPage { pages, page, .. } => {
            Refusal::new(ErrorCode::NotFound, error.to_string())
                .with("pages", *pages)
                .with("page", *page)
        }
        flydocs_pages::Error::OcrUnavailable { .. } | flydocs_pages::Error::OcrFailed { .. } => {
            Refusal::new(error.code(), error.to_string()).for_http(true)
        }
        other => Refusal::internal(&Chain(other)),
    }
}

/// A failure of the pipeline.
pub(crate) fn pipeline_refusal(error: &flydocs_pipeline::Error) -> Refusal {
    match error {
        flydocs_pipeline::Error::Load { source } => reader_refusal(source),
        flydocs_pipeline::Error::Model { source } => unknown_model("options.model", source),
        flydocs_pipeline::Error::Cancelled | flydocs_pipeline::Error::Internal { .. } => {
            Refusal::internal(&Chain(error))
        }
        other => {
            let refusal = Refusal::new(other.code(), other.to_string()).with_all(other.facts());
            if other.code() == ErrorCode::Internal {
                Refusal::internal(&Chain(other))
            } else if other.is_permanent() {
                refusal.for_http(true)
            } else {
                refusal
                    .for_http(false)
                    .header(header::RETRY_AFTER, HeaderValue::from_static("5"))
            }
        }
    }
}

/// A model nobody knows is a fault of the request.
pub(crate) fn unknown_model(path: &str, error: &flydocs_engines::Error) -> Refusal {
    Refusal::fault(path, error.to_string())
}

/// An error with everything under it, for the log.
struct Chain<'a>(&'a (dyn std::error::Error + 'static));

impl std::fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)?;
        let mut under = self.0.source();
        while let Some(error) = under {
            write!(f, ": {error}")?;
            under = error.source();
        }
        Ok(())
    }
}
