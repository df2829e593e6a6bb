//! One question to the engine of a request about each of some documents, with the document's words and images.

use std::sync::Arc;

use flydocs_contract::{PageWords, request::DocumentTypeSpec, result::ExtractedFieldGroup};
use flydocs_engines::{Answer, Engine, PageImages};
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::{
    error::Result,
    failure::Failure,
    input::Request,
    ledger::Answered,
    run::Run,
    scope::{Outcome, Scope},
    words::Sheets,
};

/// What a question about a document is made of.
pub(crate) struct Topic {
    pub(crate) pages: Vec<Arc<PageWords>>,
    pub(crate) images: Arc<dyn PageImages>,
    pub(crate) document_type: Arc<DocumentTypeSpec>,
    /// What was read of it so far; empty before extraction.
    pub(crate) groups: Vec<ExtractedFieldGroup>,
    pub(crate) request: Arc<Request>,
    pub(crate) stop: CancellationToken,
}

/// Asks the request's own engine about the tasks at `places`; outcomes in their order. Without an engine of that
/// name all of them fail with one voice.
pub(crate) async fn of_documents<T: Send + 'static>(
    run: &Run,
    scope: &Scope,
    places: &[usize],
    question: &'static str,
    ask: impl Fn(Arc<dyn Engine>, Topic) -> BoxFuture<'static, flydocs_engines::Result<Answer<T>>>
    + Send
    + Sync
    + Copy
    + 'static,
) -> Result<Vec<Outcome<Answered<T>>>> {
    match scope.engine(run.request.options.model.as_deref()) {
        Ok(engine) => {
            let subjects = as_read(run, places);
            of_documents_with(run, scope, &engine, subjects, question, ask).await
        }
        Err(failure) => {
            let failed = places.iter().map(|_| Outcome::Failed(failure.clone()));
            Ok(failed.collect())
        }
    }
}

/// The tasks at `places` with what was read of them so far.
pub(crate) fn as_read(run: &Run, places: &[usize]) -> Vec<Subject> {
    let subjects = places.iter().map(|place| {
        let task = run.tasks.get(*place);
        (
            *place,
            task.and_then(|t| t.groups.clone()).unwrap_or_default(),
        )
    });
    subjects.collect()
}

/// A task's position, and what was read of it.
pub(crate) type Subject = (usize, Vec<ExtractedFieldGroup>);

/// The same with a given engine, about what is given of each task.
pub(crate) async fn of_documents_with<T: Send + 'static>(
    run: &Run,
    scope: &Scope,
    engine: &Arc<dyn Engine>,
    subjects: Vec<Subject>,
    question: &'static str,
    ask: impl Fn(Arc<dyn Engine>, Topic) -> BoxFuture<'static, flydocs_engines::Result<Answer<T>>>
    + Send
    + Sync
    + Copy
    + 'static,
) -> Result<Vec<Outcome<Answered<T>>>> {
    let units: Vec<_> = subjects
        .into_iter()
        .filter_map(|(place, groups)| {
            let task = run.tasks.get(place)?;
            let file = run.rows.get(task.row)?;
            let hint = run.request.options.language_hint.as_deref();
            Some(Unit {
                sheets: Sheets::new(scope, &file.row, task.pages.clone(), hint),
                subject: run.subject(task.row, &task.pages),
                document_type: Arc::clone(&task.document_type),
                groups,
                request: Arc::clone(&run.request),
            })
        })
        .collect();
    scope
        .each(units, |unit| {
            let engine = Arc::clone(engine);
            async move {
                let words = unit.sheets.words().await?;
                let topic = Topic {
                    pages: words.pages,
                    images: unit.sheets.images(),
                    document_type: unit.document_type,
                    groups: unit.groups,
                    request: unit.request,
                    stop: unit.sheets.stop().clone(),
                };
                let answer = ask(Arc::clone(&engine), topic).await;
                let answer = answer.map_err(|e| Failure::of_engine(&e, &unit.subject))?;
                Ok(Answered {
                    value: answer.value,
                    question,
                    model: engine.model().to_owned(),
                    usage: answer.usage,
                    failures: words.failures,
                })
            }
        })
        .await
}

struct Unit {
    sheets: Sheets,
    subject: String,
    document_type: Arc<DocumentTypeSpec>,
    groups: Vec<ExtractedFieldGroup>,
    request: Arc<Request>,
}
