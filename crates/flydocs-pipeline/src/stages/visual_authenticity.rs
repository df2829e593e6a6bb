//! visual_authenticity: the visual checks of each task's type, one result a check.

use std::{collections::HashMap, sync::Arc};

use flydocs_contract::{ErrorCode, request::VisualCheck, result::VisualCheckResult};
use flydocs_engines::VisualQuestion;
use futures::FutureExt;

use crate::{
    ask::{Topic, of_documents},
    error::Result,
    failure::Failure,
    run::Run,
    scope::{Outcome, Scope},
    stage::Stage,
};

pub(crate) const STAGE: Stage = Stage {
    node: "visual_authenticity",
    setting: None,
    ceiling: |options| options.authenticity_timeout,
    applies: |run| {
        let has_checks = |task: usize| {
            let task = run.tasks.get(task);
            task.is_some_and(|t| !t.document_type.visual_checks.is_empty())
        };
        run.request.options.stages.visual_authenticity && run.readable_tasks().any(has_checks)
    },
    work: |run, scope| check(run, scope).boxed(),
};

async fn check(run: &mut Run, scope: &Scope) -> Result<()> {
    let places: Vec<_> = run
        .readable_tasks()
        .filter(|place| {
            let task = run.tasks.get(*place);
            task.is_some_and(|t| !t.document_type.visual_checks.is_empty())
        })
        .collect();
    let outcomes = of_documents(run, scope, &places, "check_visually", |engine, topic| {
        async move {
            let Topic {
                pages,
                images,
                document_type,
                stop,
                ..
            } = topic;
            let checks = document_type.visual_checks.clone();
            let question = VisualQuestion {
                pages,
                images,
                checks,
            };
            engine.check_visually(question, &stop).await
        }
        .boxed()
    })
    .await?;
    for (place, outcome) in places.into_iter().zip(outcomes) {
        match outcome {
            Outcome::Done(answered) => {
                let found = run.ledger.take(scope.node, answered);
                let Some(task) = run.tasks.get_mut(place) else {
                    continue;
                };
                let document_type = Arc::clone(&task.document_type);
                let (results, missing) = in_order(&document_type.visual_checks, found);
                task.visual = results;
                if !missing.is_empty() {
                    let message = format!(
                        "no answer to the visual checks {} of {}",
                        missing.join(", "),
                        document_type.id
                    );
                    run.ledger.note(
                        scope.node,
                        Failure::transient(ErrorCode::EngineError, message),
                    );
                }
            }
            Outcome::Failed(failure) => run.ledger.note(scope.node, failure),
            Outcome::Late => {}
        }
    }
    Ok(())
}

/// One result a check in the type's order, and the names of those left out (which count as not passed).
fn in_order(
    checks: &[VisualCheck],
    found: Vec<VisualCheckResult>,
) -> (Vec<VisualCheckResult>, Vec<String>) {
    let mut by_name: HashMap<_, _> = found.into_iter().map(|r| (r.name.clone(), r)).collect();
    let mut missing = Vec::new();
    let results = checks.iter().map(|check| {
        if let Some(result) = by_name.remove(&check.name) {
            return VisualCheckResult {
                confidence: crate::shape::confidence(result.confidence),
                ..result
            };
        }
        missing.push(check.name.clone());
        VisualCheckResult {
            name: check.name.clone(),
            passed: false,
            confidence: 0.0,
            notes: Some("the engine gave no answer".to_owned()),
        }
    });
    let results = results.collect();
    (results, missing)
}
