//! What a submission brings, and what becomes of it.

use flydocs_contract::{
    ExtractionId, JsonObject,
    request::{DocumentTypeSpec, ExtractRequest, ExtractionOptions, RuleSpec},
};
use serde::{Deserialize, Serialize};

use crate::{blob::BlobId, row::Stored};

/// The request as it is stored: everything but the bytes, which lie in the blob store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredRequest {
    /// What the extraction is for, in words.
    pub intention: String,
    /// The types to look for.
    pub document_types: Vec<DocumentTypeSpec>,
    /// Rules over the fields.
    pub rules: Vec<RuleSpec>,
    /// What to do and how.
    pub options: ExtractionOptions,
    /// The files, in the order of the request.
    pub files: Vec<StoredFile>,
}

impl StoredRequest {
    /// Takes the request apart: `files` stand for the bytes, which are in the blob store already.
    pub fn new(request: ExtractRequest, files: Vec<StoredFile>) -> Self {
        Self {
            intention: request.intention,
            document_types: request.document_types,
            rules: request.rules,
            options: request.options,
            files,
        }
    }
}

/// One file of a stored request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredFile {
    /// Its name.
    pub filename: String,
    /// What the caller takes it for; `None` = sniffed.
    pub content_type: Option<String>,
    /// The id of a declared type it is pinned to.
    pub expected_type: Option<String>,
    /// Its bytes.
    pub sha256: BlobId,
    /// How many bytes.
    pub bytes: u64,
}

/// What ties the logs, events and webhooks of one request together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Correlation {
    /// `X-Correlation-Id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    /// `X-Request-Id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// W3C `traceparent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// W3C `tracestate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracestate: Option<String>,
}

/// A submission. Every blob it names must be stored already.
#[derive(Debug, Clone)]
pub struct NewExtraction {
    /// The id it gets when it is new.
    pub id: ExtractionId,
    /// `X-Tenant-Id`; keys and look-ups are scoped by it.
    pub tenant_id: Option<String>,
    /// `Idempotency-Key`.
    pub idempotency_key: Option<String>,
    /// A digest of the body, to tell a repeated call from another one with the same key.
    pub request_digest: String,
    /// What to do.
    pub request: StoredRequest,
    /// Where webhooks go.
    pub callback_url: Option<String>,
    /// Echoed on events and webhooks, verbatim.
    pub metadata: JsonObject,
    /// What ties it to the caller's own traces.
    pub correlation: Correlation,
}

/// What became of a submission.
#[derive(Debug, Clone)]
pub enum Submitted {
    /// A row was inserted and its event written.
    New(Box<Stored>),
    /// The key was used before with the same body: the row as it stands now.
    Replayed(Box<Stored>),
    /// The key was used before with another body: the row that has it.
    Mismatch(Box<Stored>),
    /// The backlog is full (`FLYDOCS_MAX_QUEUED`); nothing was written.
    TooMany {
        /// The limit.
        limit: u64,
    },
}
