//! transform: the request's transformations, one after the other, each on what the one before left.

use std::sync::Arc;

use flydocs_contract::{
    ErrorCode,
    request::{DocumentTypeSpec, Transformation, TransformationScope},
    result::ExtractedFieldGroup,
};
use flydocs_engines::TransformQuestion;
use futures::FutureExt;

use crate::{
    error::Result,
    failure::Failure,
    ledger::Answered,
    run::Run,
    scope::{Outcome, Scope},
    shape,
    stage::Stage,
    transformations::{
        Plan,
        entities::{Identity, resolve},
        first_array, gathered, put, schema_of,
    },
};

pub(crate) const STAGE: Stage = Stage {
    node: "transform",
    setting: Some("FLYDOCS_TRANSFORM_TIMEOUT_S"),
    ceiling: |options| options.transform_timeout,
    applies: |run| {
        run.request.options.stages.transform
            && !run.request.options.transformations.is_empty()
            && run.readable_tasks().next().is_some()
    },
    work: |run, scope| transform(run, scope).boxed(),
};

async fn transform(run: &mut Run, scope: &Scope) -> Result<()> {
    let request = Arc::clone(&run.request);
    for transformation in &request.options.transformations {
        let plan = Plan::of(transformation);
        let mut targets = targets(run, &plan);
        if targets.is_empty() {
            let message = format!(
                "{}: no document has a group {:?}",
                plan.subject(),
                plan.target
            );
            let failure = Failure::permanent(ErrorCode::TransformTargetUnknown, message);
            run.ledger.note(scope.node, failure);
            continue;
        }
        if plan.scope == TransformationScope::Request {
            targets = together(targets);
        }
        let places: Vec<_> = targets.iter().map(|target| target.place).collect();
        let outcomes = match transformation {
            Transformation::EntityResolution {
                match_by,
                min_shared_tokens,
                ..
            } => resolve_all(scope, &plan, targets, match_by, (*min_shared_tokens).into()).await?,
            Transformation::Llm { intention, .. } => {
                ask_all(run, scope, &plan, targets, intention).await?
            }
        };
        for (place, outcome) in places.into_iter().zip(outcomes) {
            match outcome {
                Outcome::Done(group) => keep(run, &plan, place, group),
                Outcome::Failed(failure) => run.ledger.note(scope.node, failure),
                Outcome::Late => {}
            }
        }
    }
    Ok(())
}

/// A group to be transformed, with the task it stands in (the first of several for the whole request).
struct Target {
    place: usize,
    group: ExtractedFieldGroup,
    document_type: Arc<DocumentTypeSpec>,
}

fn targets(run: &Run, plan: &Plan<'_>) -> Vec<Target> {
    let tasks = run.tasks.iter().enumerate();
    tasks
        .filter_map(|(place, task)| {
            let groups = task.groups.as_ref()?;
            Some(Target {
                place,
                group: groups.iter().find(|g| g.name == plan.target)?.clone(),
                document_type: Arc::clone(&task.document_type),
            })
        })
        .collect()
}

fn together(targets: Vec<Target>) -> Vec<Target> {
    let Some((place, document_type)) = targets
        .first()
        .map(|t| (t.place, Arc::clone(&t.document_type)))
    else {
        return Vec::new();
    };
    let group = gathered(targets.into_iter().map(|t| t.group).collect());
    let target = group.map(|group| Target {
        place,
        group,
        document_type,
    });
    target.into_iter().collect()
}

fn keep(run: &mut Run, plan: &Plan<'_>, place: usize, group: ExtractedFieldGroup) {
    let group = ExtractedFieldGroup {
        name: plan.output_name().to_owned(),
        ..group
    };
    match plan.scope {
        TransformationScope::Request => run.request_transformations.push(group),
        TransformationScope::Task => {
            let task = run.tasks.get_mut(place);
            if let Some(groups) = task.and_then(|t| t.groups.as_mut()) {
                put(groups, group);
            }
        }
    }
}

async fn resolve_all(
    scope: &Scope,
    plan: &Plan<'_>,
    targets: Vec<Target>,
    match_by: &[String],
    min_shared_tokens: u32,
) -> Result<Vec<Outcome<ExtractedFieldGroup>>> {
    let (match_by, subject) = (match_by.to_vec(), plan.subject());
    let resolved = scope
        .each_blocking(targets, move |target, _| {
            let mut group = target.group;
            let schema = schema_of(&target.document_type, &group);
            let Some(array) = schema.and_then(first_array) else {
                let message = format!("{subject}: the group {:?} has no array", group.name);
                return Err(Failure::permanent(
                    ErrorCode::TransformTargetUnknown,
                    message,
                ));
            };
            let identity = Identity::new(&match_by, min_shared_tokens);
            resolve(&mut group, array, &identity);
            Ok(group)
        })
        .await?;
    let outcomes = resolved.into_iter().map(|outcome| match outcome {
        Outcome::Done(Ok(group)) => Outcome::Done(group),
        Outcome::Done(Err(failure)) | Outcome::Failed(failure) => Outcome::Failed(failure),
        Outcome::Late => Outcome::Late,
    });
    Ok(outcomes.collect())
}

async fn ask_all(
    run: &mut Run,
    scope: &Scope,
    plan: &Plan<'_>,
    targets: Vec<Target>,
    intention: &str,
) -> Result<Vec<Outcome<ExtractedFieldGroup>>> {
    let engine = match scope.engine(run.request.options.model.as_deref()) {
        Ok(engine) => engine,
        Err(failure) => return Ok(vec![Outcome::Failed(failure)]),
    };
    let outcomes = scope
        .each(targets, |target| {
            let (engine, stop) = (Arc::clone(&engine), scope.stop());
            let (subject, intention) = (plan.subject(), intention.to_owned());
            async move {
                let pages = pages_of(&target.group);
                let schema = schema_of(&target.document_type, &target.group).cloned();
                let question = TransformQuestion {
                    group: target.group,
                    document_type: target.document_type,
                    intention,
                };
                let answer = engine.transform(question, &stop).await;
                let answer = answer.map_err(|error| Failure::of_engine(&error, &subject))?;
                Ok(Answered {
                    value: match schema {
                        Some(schema) => shape::group(&schema, answer.value.fields, &pages),
                        None => answer.value,
                    },
                    question: "transform",
                    model: engine.model().to_owned(),
                    usage: answer.usage,
                    failures: Vec::new(),
                })
            }
        })
        .await?;
    let outcomes = outcomes.into_iter().map(|outcome| match outcome {
        Outcome::Done(answered) => Outcome::Done(run.ledger.take(scope.node, answered)),
        Outcome::Failed(failure) => Outcome::Failed(failure),
        Outcome::Late => Outcome::Late,
    });
    Ok(outcomes.collect())
}

/// The pages anything in the group was read from.
fn pages_of(group: &ExtractedFieldGroup) -> Vec<u32> {
    fn walk(fields: &[flydocs_contract::ExtractedField], pages: &mut Vec<u32>) {
        for field in fields {
            pages.extend(&field.pages);
            if let Some(flydocs_contract::FieldValue::Fields(below)) = &field.value {
                walk(below, pages);
            }
        }
    }
    let mut pages = Vec::new();
    walk(&group.fields, &mut pages);
    pages.sort_unstable();
    pages.dedup();
    pages
}
