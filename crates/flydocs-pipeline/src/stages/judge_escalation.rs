//! judge_escalation: when the judge rejects too much, a stronger model reads again; the run that fails less stays.

use flydocs_contract::{
    request::EscalationSpec,
    result::{Escalation, ExtractedFieldGroup},
};
use futures::FutureExt;

use super::{
    bbox_refine, bbox_validation, extract, field_validation,
    judge::{self, Tally},
};
use crate::{
    error::Result,
    ledger::Answered,
    run::Run,
    scope::{Outcome, Scope},
    stage::Stage,
};

pub(crate) const STAGE: Stage = Stage {
    node: "judge_escalation",
    setting: Some("FLYDOCS_JUDGE_ESCALATION_TIMEOUT_S"),
    ceiling: |options| options.judge_escalation_timeout,
    applies: |run| {
        let stages = &run.request.options.stages;
        stages.judge
            && stages.judge_escalation
            && wanted(run).is_some_and(|e| e.threshold > 0.0)
            && run.readable_tasks().next().is_some()
    },
    work: |run, scope| escalate(run, scope).boxed(),
};

fn wanted(run: &Run) -> Option<&EscalationSpec> {
    run.request.options.escalation.as_ref()
}

async fn escalate(run: &mut Run, scope: &Scope) -> Result<()> {
    let Some(spec) = wanted(run).cloned() else {
        return Ok(());
    };
    let own = scope
        .services
        .engines
        .engine(run.request.options.model.as_deref());
    let primary_fail_rate = run.tally.rate();
    let mut record = Escalation {
        triggered: primary_fail_rate > spec.threshold,
        primary_model: own.map_or_else(|_| String::new(), |engine| engine.model().to_owned()),
        escalation_model: spec.model.clone(),
        primary_fail_rate,
        escalation_fail_rate: None,
        accepted: false,
    };
    run.escalation = Some(record.clone());
    if !record.triggered {
        return Ok(());
    }
    let Some((second, tally)) = read_again(run, scope, &spec.model).await? else {
        return Ok(());
    };
    record.escalation_fail_rate = Some(tally.rate());
    record.accepted = tally.rate() < primary_fail_rate;
    let is_accepted = record.accepted;
    run.escalation = Some(record);
    if !is_accepted {
        return Ok(());
    }
    run.tally = tally;
    for (place, groups) in second {
        if let Some(task) = run.tasks.get_mut(place) {
            task.groups = Some(groups);
        }
    }
    bbox_validation::validate(run, scope).await?;
    if run.request.options.stages.field_validation {
        field_validation::validate(run, scope).await?;
    }
    // Last, since it may use up what is left of the ceiling.
    if bbox_refine::is_inline(run) {
        bbox_refine::refine(run, scope).await?;
    }
    Ok(())
}

/// Reads and judges every task with another model; `None` when any part of that failed.
async fn read_again(
    run: &mut Run,
    scope: &Scope,
    model: &str,
) -> Result<Option<(Vec<(usize, Vec<ExtractedFieldGroup>)>, Tally)>> {
    let engine = match scope.engine(Some(model)) {
        Ok(engine) => engine,
        Err(failure) => {
            run.ledger.note(scope.node, failure);
            return Ok(None);
        }
    };
    let places: Vec<_> = run.readable_tasks().collect();
    let read = extract::read_tasks(run, scope, &engine, &places).await?;
    let Some(groups) = all_of(run, scope, read) else {
        return Ok(None);
    };
    let mut second: Vec<_> = places.into_iter().zip(groups).collect();
    let judged = judge::judge_tasks(run, scope, &engine, second.clone()).await?;
    let Some(verdicts) = all_of(run, scope, judged) else {
        return Ok(None);
    };
    let mut tally = Tally::default();
    for ((place, groups), verdicts) in second.iter_mut().zip(verdicts) {
        if let Some(task) = run.tasks.get(*place) {
            tally += judge::apply(&task.document_type, groups, verdicts);
        }
    }
    // A run that nobody judged has not failed less.
    Ok((tally.judged > 0).then_some((second, tally)))
}

/// Every answer, or none when one is missing; what was answered is paid for either way.
fn all_of<T>(run: &mut Run, scope: &Scope, outcomes: Vec<Outcome<Answered<T>>>) -> Option<Vec<T>> {
    let wanted = outcomes.len();
    let mut answers = Vec::new();
    for outcome in outcomes {
        match outcome {
            Outcome::Done(answered) => answers.push(run.ledger.take(scope.node, answered)),
            Outcome::Failed(failure) => run.ledger.note(scope.node, failure),
            Outcome::Late => {}
        }
    }
    (answers.len() == wanted).then_some(answers)
}
