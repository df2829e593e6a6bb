//! What `extract --explain` hears: engines that keep, beside their answer, why it is what it is.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use flydocs_contract::result::ExtractedFieldGroup;
use flydocs_engines::{
    Answer, ClassifyAnswer, ClassifyQuestion, Engine, Error, Explanation, ExtractQuestion,
    LocalLayout, Result, Segment, SplitQuestion,
};
use flydocs_pipeline::EngineSource;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

/// Why a document was read as it was.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Testimony {
    /// The document's type.
    pub document_type: String,
    /// Its pages, by their numbers in the file.
    pub pages: Vec<u32>,
    /// Labels, candidates, choice.
    #[serde(flatten)]
    pub explanation: Explanation,
}

/// The engines of one extraction, overheard. An engine that cannot say why is passed on as it is.
#[derive(Debug)]
pub(crate) struct Witness {
    engines: Arc<dyn EngineSource>,
    heard: Arc<Mutex<Vec<Testimony>>>,
}

impl Witness {
    /// Listens to these engines.
    pub(crate) fn new(engines: Arc<dyn EngineSource>) -> Self {
        Self {
            engines,
            heard: Arc::default(),
        }
    }

    /// What was heard, by page.
    pub(crate) fn testimony(&self) -> Vec<Testimony> {
        let mut heard = self
            .heard
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        heard.sort_by(|a, b| (&a.pages, &a.document_type).cmp(&(&b.pages, &b.document_type)));
        heard
    }
}

impl EngineSource for Witness {
    fn engine(&self, model: Option<&str>) -> Result<Arc<dyn Engine>> {
        let engine = self.engines.engine(model)?;
        if engine.model() == LocalLayout.model() {
            return Ok(Arc::new(Overheard {
                heard: Arc::clone(&self.heard),
            }));
        }
        Ok(engine)
    }
}

/// `local:layout`, overheard.
#[derive(Debug)]
struct Overheard {
    heard: Arc<Mutex<Vec<Testimony>>>,
}

#[async_trait]
impl Engine for Overheard {
    fn model(&self) -> &'static str {
        "local:layout"
    }

    async fn classify(
        &self,
        question: ClassifyQuestion,
        cancel: &CancellationToken,
    ) -> Result<Answer<ClassifyAnswer>> {
        LocalLayout.classify(question, cancel).await
    }

    async fn split(
        &self,
        question: SplitQuestion,
        cancel: &CancellationToken,
    ) -> Result<Answer<Vec<Segment>>> {
        LocalLayout.split(question, cancel).await
    }

    async fn extract(
        &self,
        question: ExtractQuestion,
        cancel: &CancellationToken,
    ) -> Result<Answer<Vec<ExtractedFieldGroup>>> {
        let asked = question.clone();
        let explained = tokio::task::spawn_blocking(move || Testimony {
            document_type: asked.document_type.id.clone(),
            pages: asked.pages.iter().map(|page| page.page).collect(),
            explanation: LocalLayout.explain(&asked),
        });
        let answer = LocalLayout.extract(question, cancel).await?;
        let explained = explained.await.map_err(|error| Error::Permanent {
            model: self.model().to_owned(),
            detail: error.to_string(),
        })?;
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        // a document may be read again: what was said last stands
        heard.retain(|t| t.pages != explained.pages || t.document_type != explained.document_type);
        heard.push(explained);
        drop(heard);
        Ok(answer)
    }
}
