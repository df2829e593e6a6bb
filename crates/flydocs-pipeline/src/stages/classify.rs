//! classify: segments without a type get one, or become unmatched.

use flydocs_contract::result::Classification;
use flydocs_engines::ClassifyQuestion;
use futures::FutureExt;

use crate::{
    error::Result,
    failure::Failure,
    ledger::Answered,
    run::Run,
    scope::{Outcome, Scope},
    stage::Stage,
    words::Sheets,
};

pub(crate) const STAGE: Stage = Stage {
    node: "classify",
    setting: Some("FLYDOCS_CLASSIFIER_TIMEOUT_S"),
    ceiling: |options| options.classifier_timeout,
    applies: |run| {
        run.request.options.stages.classifier && run.segments.iter().any(|s| s.type_id.is_none())
    },
    work: |run, scope| classify(run, scope).boxed(),
};

async fn classify(run: &mut Run, scope: &Scope) -> Result<()> {
    if let Some(only) = run.only_type().map(|t| t.id.clone()) {
        for segment in run.segments.iter_mut().filter(|s| s.type_id.is_none()) {
            segment.type_id = Some(only.clone());
            segment.pinned = true;
        }
        return Ok(());
    }
    let engine = match scope.engine(run.request.options.model.as_deref()) {
        Ok(engine) => engine,
        Err(failure) => {
            let why = failure.message.clone();
            run.ledger.note(scope.node, failure);
            for segment in run.segments.iter_mut().filter(|s| s.type_id.is_none()) {
                segment.notes = Some(format!("not classified: {why}"));
            }
            return Ok(());
        }
    };
    let segments = run.segments.iter().enumerate();
    let asked: Vec<_> = segments
        .filter(|(_, s)| s.type_id.is_none())
        .filter_map(|(i, segment)| {
            let file = run.rows.get(segment.row)?;
            let pages = segment.pages();
            let subject = run.subject(segment.row, &pages);
            let hint = run.request.options.language_hint.as_deref();
            Some((i, Sheets::new(scope, &file.row, pages, hint), subject))
        })
        .collect();
    let places: Vec<_> = asked.iter().map(|(i, ..)| *i).collect();
    let request = &run.request;
    let outcomes = scope
        .each(asked, |(_, sheets, subject)| {
            let (engine, request) = (engine.clone(), request.clone());
            async move {
                let words = sheets.words().await?;
                let question = ClassifyQuestion {
                    pages: words.pages,
                    images: sheets.images(),
                    document_types: request.document_types.clone(),
                    intention: request.intention.clone(),
                };
                let answer = engine.classify(question, sheets.stop()).await;
                let answer = answer.map_err(|error| Failure::of_engine(&error, &subject))?;
                Ok(Answered {
                    value: answer.value,
                    question: "classify",
                    model: engine.model().to_owned(),
                    usage: answer.usage,
                    failures: words.failures,
                })
            }
        })
        .await?;
    for (place, outcome) in places.into_iter().zip(outcomes) {
        let verdict = match outcome {
            Outcome::Done(answered) => Ok(run.ledger.take(scope.node, answered)),
            Outcome::Failed(failure) => {
                let why = failure.message.clone();
                run.ledger.note(scope.node, failure);
                Err(why)
            }
            Outcome::Late => Err("the classifier ran into its ceiling".to_owned()),
        };
        let verdict = verdict.map(|answer| Classification {
            matched: answer.matched
                && answer
                    .document_type
                    .as_deref()
                    .is_some_and(|id| run.declared(id).is_some()),
            document_type: answer.document_type,
            confidence: crate::shape::confidence(answer.confidence),
            description: answer.description,
            notes: answer.notes,
        });
        let Some(segment) = run.segments.get_mut(place) else {
            continue;
        };
        match verdict {
            Ok(classification) => {
                segment.type_id = classification
                    .document_type
                    .clone()
                    .filter(|_| classification.matched);
                segment.classification = Some(classification);
            }
            Err(why) => segment.notes = Some(format!("not classified: {why}")),
        }
    }
    Ok(())
}
