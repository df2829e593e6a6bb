//! extract: the values of each task's fields, read by the engine from the task's pages alone.

use std::sync::Arc;

use flydocs_contract::result::ExtractedFieldGroup;
use flydocs_engines::{Answer, Engine, ExtractQuestion};
use futures::FutureExt;

use crate::{
    ask::{Topic, of_documents_with},
    error::Result,
    ledger::Answered,
    run::Run,
    scope::{Outcome, Scope},
    shape,
    stage::Stage,
};

pub(crate) const STAGE: Stage = Stage {
    node: "extract",
    setting: Some("FLYDOCS_EXTRACT_TIMEOUT_S"),
    ceiling: |options| options.extract_timeout,
    applies: |run| !run.tasks.is_empty(),
    work: |run, scope| extract(run, scope).boxed(),
};

async fn extract(run: &mut Run, scope: &Scope) -> Result<()> {
    let engine = match scope.engine(run.request.options.model.as_deref()) {
        Ok(engine) => engine,
        Err(failure) => {
            run.ledger.note(scope.node, failure);
            return Ok(());
        }
    };
    let places: Vec<_> = (0..run.tasks.len()).collect();
    let outcomes = read_tasks(run, scope, &engine, &places).await?;
    for (place, outcome) in places.into_iter().zip(outcomes) {
        match outcome {
            Outcome::Done(answered) => {
                let groups = run.ledger.take(scope.node, answered);
                if let Some(task) = run.tasks.get_mut(place) {
                    task.groups = Some(groups);
                }
            }
            Outcome::Failed(failure) => run.ledger.note(scope.node, failure),
            Outcome::Late => {}
        }
    }
    Ok(())
}

/// Asks an engine for the groups of the tasks at `places`, in their order.
pub(crate) async fn read_tasks(
    run: &Run,
    scope: &Scope,
    engine: &Arc<dyn Engine>,
    places: &[usize],
) -> Result<Vec<Outcome<Answered<Vec<ExtractedFieldGroup>>>>> {
    let subjects = places.iter().map(|place| (*place, Vec::new())).collect();
    of_documents_with(run, scope, engine, subjects, "extract", |engine, topic| {
        async move {
            let Topic {
                pages,
                images,
                document_type,
                request,
                stop,
                ..
            } = topic;
            let numbers: Vec<_> = pages.iter().map(|page| page.page).collect();
            let question = ExtractQuestion {
                pages,
                images,
                document_type: Arc::clone(&document_type),
                intention: request.intention.clone(),
                language_hint: request.options.language_hint.clone(),
            };
            let answer = engine.extract(question, &stop).await?;
            Ok(Answer {
                value: shape::groups(&document_type, answer.value, &numbers),
                usage: answer.usage,
            })
        }
        .boxed()
    })
    .await
}
