//! The port of this room: the questions a pipeline asks, and what comes back.

use std::{fmt::Debug, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use flydocs_contract::{
    PageWords,
    request::{DocumentTypeSpec, RuleSpec, VisualCheck},
    result::{
        ContentAuthenticity, ExtractedFieldGroup, JudgeVerdict, RuleResult, VisualCheckResult,
    },
};
use tokio_util::sync::CancellationToken;

use crate::error::{Error, Result};

/// Draws pages for engines that look at images.
#[async_trait]
pub trait PageImages: Debug + Send + Sync {
    /// A JPEG of a page (the page's number in its file, from 1).
    async fn jpeg(&self, page: u32, cancel: &CancellationToken) -> Result<Bytes>;
}

/// What a metered call used.
#[derive(Debug, Clone, PartialEq)]
pub struct CallUsage {
    /// The model that answered.
    pub model: String,
    /// Tokens sent.
    pub input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// Tokens written to the provider's cache.
    pub cache_creation_tokens: u64,
    /// Tokens read from it.
    pub cache_read_tokens: u64,
    /// In US dollars.
    pub cost_usd: f64,
    /// The call's time in milliseconds.
    pub latency_ms: f64,
}

/// An answer and what it used; `usage` is empty when nothing is metered.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer<T> {
    /// The answer.
    pub value: T,
    /// One entry a metered call.
    pub usage: Vec<CallUsage>,
}

impl<T> Answer<T> {
    /// An answer that cost nothing.
    pub const fn free(value: T) -> Self {
        Self {
            value,
            usage: Vec::new(),
        }
    }
}

/// Which of the declared types is this document?
#[derive(Debug, Clone)]
pub struct ClassifyQuestion {
    /// The document's pages.
    pub pages: Vec<Arc<PageWords>>,
    /// Their images.
    pub images: Arc<dyn PageImages>,
    /// The declared types.
    pub document_types: Arc<[DocumentTypeSpec]>,
    /// What the request is for.
    pub intention: String,
}

/// What the document is.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassifyAnswer {
    /// The type it looks like; may be undeclared.
    pub document_type: Option<String>,
    /// Whether that is one of the declared.
    pub matched: bool,
    /// 0 to 1.
    pub confidence: f64,
    /// What it is, in words.
    pub description: Option<String>,
    /// Why.
    pub notes: Option<String>,
}

/// Which documents does this file hold?
#[derive(Debug, Clone)]
pub struct SplitQuestion {
    /// The file's pages.
    pub pages: Vec<Arc<PageWords>>,
    /// Their images.
    pub images: Arc<dyn PageImages>,
    /// The declared types.
    pub document_types: Arc<[DocumentTypeSpec]>,
    /// What the request is for.
    pub intention: String,
}

/// One document inside a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    /// First page, from 1.
    pub page_start: u32,
    /// Last page, inclusive.
    pub page_end: u32,
    /// The type it looks like.
    pub provisional_type: Option<String>,
    /// What it is, in words.
    pub description: Option<String>,
    /// 0 to 1.
    pub confidence: f64,
}

/// What are the values of the type's fields?
#[derive(Debug, Clone)]
pub struct ExtractQuestion {
    /// The document's pages; `page` is the number in the file.
    pub pages: Vec<Arc<PageWords>>,
    /// Their images.
    pub images: Arc<dyn PageImages>,
    /// The type.
    pub document_type: Arc<DocumentTypeSpec>,
    /// What the request is for.
    pub intention: String,
    /// The language the caller named.
    pub language_hint: Option<String>,
}

/// Does the document say what was read?
#[derive(Debug, Clone)]
pub struct JudgeQuestion {
    /// The document's pages.
    pub pages: Vec<Arc<PageWords>>,
    /// Their images.
    pub images: Arc<dyn PageImages>,
    /// The type.
    pub document_type: Arc<DocumentTypeSpec>,
    /// What was read.
    pub field_groups: Vec<ExtractedFieldGroup>,
}

/// Can these things be seen on the document, and does its content agree with itself?
#[derive(Debug, Clone)]
pub struct VisualQuestion {
    /// The document's pages.
    pub pages: Vec<Arc<PageWords>>,
    /// Their images.
    pub images: Arc<dyn PageImages>,
    /// What should be seen; empty when only the content is asked about.
    pub checks: Vec<VisualCheck>,
}

/// What do these rules say?
#[derive(Debug, Clone)]
pub struct RulesQuestion {
    /// The rules of one level.
    pub rules: Vec<RuleSpec>,
    /// The parents' values, as JSON, by rule id.
    pub contexts: Vec<(String, serde_json::Value)>,
}

/// What becomes of this group's rows?
#[derive(Debug, Clone)]
pub struct TransformQuestion {
    /// The group as it is.
    pub group: ExtractedFieldGroup,
    /// The group's schema.
    pub document_type: Arc<DocumentTypeSpec>,
    /// What should be done, in words.
    pub intention: String,
}

/// Something that reads documents. Every question may be asked twice; an engine keeps nothing between them.
#[async_trait]
pub trait Engine: Debug + Send + Sync {
    /// `<provider>:<name>`.
    fn model(&self) -> &str;

    /// Which of the declared types is this document?
    async fn classify(
        &self,
        question: ClassifyQuestion,
        cancel: &CancellationToken,
    ) -> Result<Answer<ClassifyAnswer>>;

    /// Which documents does this file hold? Empty = one.
    async fn split(
        &self,
        question: SplitQuestion,
        cancel: &CancellationToken,
    ) -> Result<Answer<Vec<Segment>>>;

    /// What are the values of the type's fields? Groups and fields in the type's order, all of them.
    async fn extract(
        &self,
        question: ExtractQuestion,
        cancel: &CancellationToken,
    ) -> Result<Answer<Vec<ExtractedFieldGroup>>>;

    /// A verdict for every leaf, by its path (`group.field`, `group.rows[0].member`).
    async fn judge(
        &self,
        _question: JudgeQuestion,
        _cancel: &CancellationToken,
    ) -> Result<Answer<Vec<(String, JudgeVerdict)>>> {
        Err(unsupported(self.model(), "judge"))
    }

    /// One result a check.
    async fn check_visually(
        &self,
        _question: VisualQuestion,
        _cancel: &CancellationToken,
    ) -> Result<Answer<Vec<VisualCheckResult>>> {
        Err(unsupported(self.model(), "check visually"))
    }

    /// Whether the content agrees with itself.
    async fn check_content(
        &self,
        _question: VisualQuestion,
        _cancel: &CancellationToken,
    ) -> Result<Answer<ContentAuthenticity>> {
        Err(unsupported(self.model(), "check content"))
    }

    /// One result a rule.
    async fn evaluate_rules(
        &self,
        _question: RulesQuestion,
        _cancel: &CancellationToken,
    ) -> Result<Answer<Vec<RuleResult>>> {
        Err(unsupported(self.model(), "evaluate rules"))
    }

    /// The group after the transformation.
    async fn transform(
        &self,
        _question: TransformQuestion,
        _cancel: &CancellationToken,
    ) -> Result<Answer<ExtractedFieldGroup>> {
        Err(unsupported(self.model(), "transform"))
    }
}

fn unsupported(model: &str, question: &'static str) -> Error {
    Error::Unsupported {
        model: model.to_owned(),
        question,
    }
}
