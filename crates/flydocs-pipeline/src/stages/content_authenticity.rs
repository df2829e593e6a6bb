//! content_authenticity: whether the content of each document agrees with itself.

use flydocs_engines::VisualQuestion;
use futures::FutureExt;

use crate::{
    ask::{Topic, of_documents},
    error::Result,
    run::Run,
    scope::{Outcome, Scope},
    stage::Stage,
};

pub(crate) const STAGE: Stage = Stage {
    node: "content_authenticity",
    setting: None,
    ceiling: |options| options.authenticity_timeout,
    applies: |run| {
        run.request.options.stages.content_authenticity && run.readable_tasks().next().is_some()
    },
    work: |run, scope| check(run, scope).boxed(),
};

async fn check(run: &mut Run, scope: &Scope) -> Result<()> {
    let places: Vec<_> = run.readable_tasks().collect();
    let outcomes = of_documents(run, scope, &places, "check_content", |engine, topic| {
        async move {
            let Topic {
                pages,
                images,
                stop,
                ..
            } = topic;
            let question = VisualQuestion {
                pages,
                images,
                checks: Vec::new(),
            };
            engine.check_content(question, &stop).await
        }
        .boxed()
    })
    .await?;
    for (place, outcome) in places.into_iter().zip(outcomes) {
        match outcome {
            Outcome::Done(answered) => {
                let content = run.ledger.take(scope.node, answered);
                if let Some(task) = run.tasks.get_mut(place) {
                    task.content = Some(content);
                }
            }
            Outcome::Failed(failure) => run.ledger.note(scope.node, failure),
            Outcome::Late => {}
        }
    }
    Ok(())
}
