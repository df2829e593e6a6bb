//! The engine: answers the questions of the port on the blocking pool.

use std::sync::Arc;

use async_trait::async_trait;
use flydocs_contract::{PageWords, request::DocumentTypeSpec, result::ExtractedFieldGroup};
use tokio_util::sync::CancellationToken;

use super::{
    classify::classify,
    explain::{Explanation, explain},
    infer::propose,
    merge::merged,
    read::read,
    split::split,
};
use crate::{
    Answer, ClassifyAnswer, ClassifyQuestion, Engine, Error, ExtractQuestion, Result, Segment,
    SplitQuestion,
};

/// The name of the model.
const MODEL: &str = "local:layout";

/// Reads a page by its layout.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalLayout;

impl LocalLayout {
    /// The values of a type's fields, at once and on this thread.
    pub fn read(
        self,
        pages: &[Arc<PageWords>],
        document_type: &DocumentTypeSpec,
    ) -> Vec<ExtractedFieldGroup> {
        read(pages, document_type).groups
    }

    /// Why a question is answered as it is: labels, candidates, scores. At once and on this thread.
    pub fn explain(self, question: &ExtractQuestion) -> Explanation {
        explain(&read(&question.pages, &question.document_type))
    }

    /// Every value of a reading by its path, with the features its confidence is computed from: what
    /// `examples/calibrate` learns the weights of.
    pub fn calibration_features(
        self,
        pages: &[Arc<PageWords>],
        document_type: &DocumentTypeSpec,
    ) -> Vec<(String, Vec<(&'static str, f64)>)> {
        read(pages, document_type)
            .features
            .into_iter()
            .map(|(path, features)| (path, features.named().collect()))
            .collect()
    }

    /// A document type proposed from what stands on some pages, to be edited.
    pub fn propose_types(self, pages: &[Arc<PageWords>]) -> DocumentTypeSpec {
        propose(pages)
    }

    /// Types proposed from the pages of several files, one for each kind of document. A file of several documents
    /// counts as each of them.
    pub fn propose_for(self, files: &[Vec<Arc<PageWords>>]) -> Vec<DocumentTypeSpec> {
        let mut proposals = Vec::new();
        for pages in files {
            let segments = split(pages, &[]);
            if segments.is_empty() {
                proposals.push(propose(pages));
            }
            for segment in segments {
                let own: Vec<_> = pages
                    .iter()
                    .filter(|p| (segment.page_start..=segment.page_end).contains(&p.page))
                    .cloned()
                    .collect();
                proposals.push(propose(&own));
            }
        }
        merged(proposals)
    }
}

#[async_trait]
impl Engine for LocalLayout {
    fn model(&self) -> &str {
        MODEL
    }

    async fn classify(
        &self,
        question: ClassifyQuestion,
        cancel: &CancellationToken,
    ) -> Result<Answer<ClassifyAnswer>> {
        blocking(cancel, move || {
            classify(&question.pages, &question.document_types)
        })
        .await
    }

    async fn split(
        &self,
        question: SplitQuestion,
        cancel: &CancellationToken,
    ) -> Result<Answer<Vec<Segment>>> {
        blocking(cancel, move || {
            split(&question.pages, &question.document_types)
        })
        .await
    }

    async fn extract(
        &self,
        question: ExtractQuestion,
        cancel: &CancellationToken,
    ) -> Result<Answer<Vec<ExtractedFieldGroup>>> {
        blocking(cancel, move || {
            read(&question.pages, &question.document_type).groups
        })
        .await
    }
}

/// Runs work off the async runtime; a cancelled question does not wait for it.
async fn blocking<T: Send + 'static>(
    cancel: &CancellationToken,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<Answer<T>> {
    if cancel.is_cancelled() {
        return Err(Error::Cancelled);
    }
    tokio::select! {
        () = cancel.cancelled() => Err(Error::Cancelled),
        done = tokio::task::spawn_blocking(work) => done.map(Answer::free).map_err(|error| Error::Permanent {
            model: MODEL.to_owned(),
            detail: error.to_string(),
        }),
    }
}
