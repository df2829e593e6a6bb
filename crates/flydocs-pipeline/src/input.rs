//! What goes in: a request whose files came apart from it, and the files.

use std::sync::Arc;

use flydocs_contract::{
    ExtractRequest, ExtractionId,
    request::{DocumentTypeSpec, ExtractionOptions, RuleSpec},
    result::ExtractionResult,
};
use flydocs_pages::Source;

/// A request without its files: what is wanted, of which documents.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// What the extraction is for, in words.
    pub intention: String,
    /// The declared types.
    pub document_types: Arc<[DocumentTypeSpec]>,
    /// Rules over the fields.
    pub rules: Vec<RuleSpec>,
    /// What to do and how.
    pub options: ExtractionOptions,
}

impl Request {
    /// True when the asynchronous path owes the result grounded boxes (the bbox_refinement leg).
    pub const fn wants_bbox_refinement(&self) -> bool {
        self.options.stages.bbox_refine && self.options.return_bboxes
    }
}

impl From<&ExtractRequest> for Request {
    fn from(request: &ExtractRequest) -> Self {
        Self {
            intention: request.intention.clone(),
            document_types: request.document_types.clone().into(),
            rules: request.rules.clone(),
            options: request.options.clone(),
        }
    }
}

/// One file of a request, with the type it is pinned to.
#[derive(Debug, Clone)]
pub struct InputFile {
    /// Its name and bytes.
    pub source: Source,
    /// The id of a declared type, when the caller knows.
    pub expected_type: Option<String>,
}

/// Who waits for the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A caller holds the line: boxes are grounded before the answer.
    Sync,
    /// Nobody does: boxes are left to the bbox worker.
    Async,
}

/// One extraction.
#[derive(Debug, Clone)]
pub struct Input {
    /// Its id.
    pub id: ExtractionId,
    /// What is wanted.
    pub request: Request,
    /// The files, in the caller's order.
    pub files: Vec<InputFile>,
    /// Who waits.
    pub mode: Mode,
}

/// One result whose boxes are to be grounded.
#[derive(Debug, Clone)]
pub struct RefineInput {
    /// The stored result.
    pub result: ExtractionResult,
    /// The request it answers.
    pub request: Request,
    /// The request's files, in the caller's order.
    pub files: Vec<InputFile>,
}
