//! rules: level by level; what the deterministic form decides needs no model, the rest of a level is one question.

use std::{collections::HashMap, sync::Arc};

use flydocs_contract::{
    ErrorCode,
    request::RuleSpec,
    result::{RuleResult, VisualCheckResult},
};
use flydocs_engines::{Engine, RulesQuestion};
use futures::FutureExt;
use serde_json::json;

use crate::{
    error::Result,
    failure::Failure,
    ledger::Answered,
    rules::{
        answer, decide,
        facts::{Facts, Sheet},
        levels,
    },
    run::{Run, Task},
    scope::{Outcome, Scope},
    stage::Stage,
};

pub(crate) const STAGE: Stage = Stage {
    node: "rules",
    setting: None,
    ceiling: |options| options.rules_timeout,
    applies: |run| {
        run.request.options.stages.rule_engine
            && !run.request.rules.is_empty()
            && run.readable_tasks().next().is_some()
    },
    work: |run, scope| evaluate(run, scope).boxed(),
};

type Answers = HashMap<String, RuleResult>;

async fn evaluate(run: &mut Run, scope: &Scope) -> Result<()> {
    let request = Arc::clone(&run.request);
    let mut answers = Arc::new(Answers::new());
    let tasks: Arc<Vec<Task>> = Arc::new(run.tasks.clone());
    let levels = levels::of(&request.rules);
    let in_levels: usize = levels.iter().map(Vec::len).sum();
    if in_levels < request.rules.len() {
        let message = "some rules wait for each other and were not evaluated".to_owned();
        let failure = Failure::permanent(ErrorCode::RuleNotEvaluated, message);
        run.ledger.note(scope.node, failure);
    }
    for level in levels {
        let rules: Vec<_> = level
            .iter()
            .filter_map(|i| request.rules.get(*i))
            .cloned()
            .collect();
        let Some((decided, open)) = decide_level(run, scope, rules, &tasks, &answers).await? else {
            break;
        };
        let mut known = Answers::clone(&answers);
        known.extend(decided.into_iter().map(|r| (r.rule_id.clone(), r)));
        let answered = ask(run, scope, open).await?;
        known.extend(answered.into_iter().map(|r| (r.rule_id.clone(), r)));
        answers = Arc::new(known);
    }
    run.rule_results = request
        .rules
        .iter()
        .filter_map(|rule| answers.get(&rule.id).cloned())
        .collect();
    Ok(())
}

/// The rules of a level that need no model, and the others with what an engine needs to know.
type Level = (Vec<RuleResult>, Vec<(RuleSpec, serde_json::Value)>);

async fn decide_level(
    run: &mut Run,
    scope: &Scope,
    rules: Vec<RuleSpec>,
    tasks: &Arc<Vec<Task>>,
    answers: &Arc<Answers>,
) -> Result<Option<Level>> {
    let unit = (rules, Arc::clone(tasks), Arc::clone(answers));
    let mut outcomes = scope
        .each_blocking([unit], |(rules, tasks, answers), _| {
            let facts = Facts::new(tasks.iter().filter_map(sheet), &answers);
            let (mut decided, mut open) = (Vec::new(), Vec::new());
            for rule in rules {
                if let Some(result) = decide::rule(&rule, &facts) {
                    decided.push(result);
                } else {
                    let context = facts.context(&rule);
                    open.push((rule, context));
                }
            }
            (decided, open)
        })
        .await?;
    Ok(match outcomes.pop() {
        Some(Outcome::Done(level)) => Some(level),
        Some(Outcome::Failed(failure)) => {
            run.ledger.note(scope.node, failure);
            None
        }
        Some(Outcome::Late) | None => None,
    })
}

fn sheet(task: &Task) -> Option<Sheet<'_>> {
    let visual: &[VisualCheckResult] = &task.visual;
    Some(Sheet {
        document_type: &task.document_type,
        groups: task.groups.as_deref()?,
        visual,
    })
}

/// Asks an engine about the rules of a level, and once more about those it answered out of shape.
async fn ask(
    run: &mut Run,
    scope: &Scope,
    open: Vec<(RuleSpec, serde_json::Value)>,
) -> Result<Vec<RuleResult>> {
    if open.is_empty() {
        return Ok(Vec::new());
    }
    let engine = match scope.engine(run.request.options.model.as_deref()) {
        Ok(engine) => engine,
        Err(failure) => {
            note_unanswered(run, scope, &open, &failure);
            return Ok(Vec::new());
        }
    };
    let Some(first) = question(run, scope, &engine, &open).await? else {
        return Ok(Vec::new());
    };
    let mut results = Vec::new();
    let mut wrong = Vec::new();
    for (rule, context) in open {
        match first.get(&rule.id) {
            None => results.push(left_out(run, scope, &rule)),
            // It cannot be told, and the engine says what a person should look at.
            Some(result) if result.output.is_none() && result.human_revision.is_some() => {
                results.push(RuleResult {
                    predicate: rule.predicate,
                    ..result.clone()
                });
            }
            Some(result) => match answer::conformed(&rule, &output_of(result)) {
                Ok(output) => results.push(kept(&rule, result, output)),
                Err(why) => wrong.push((rule, repair(context, result, &why), result.clone(), why)),
            },
        }
    }
    if wrong.is_empty() {
        return Ok(results);
    }
    let again: Vec<_> = wrong
        .iter()
        .map(|(rule, context, ..)| (rule.clone(), context.clone()))
        .collect();
    let second = question(run, scope, &engine, &again)
        .await?
        .unwrap_or_default();
    for (rule, _, first, why) in wrong {
        let repaired = second.get(&rule.id);
        let fitted = repaired.map(|r| (r, answer::conformed(&rule, &output_of(r))));
        results.push(match fitted {
            Some((result, Ok(output))) => kept(&rule, result, output),
            Some((result, Err(why))) => refused(run, scope, &rule, result, &why),
            None => refused(run, scope, &rule, &first, &why),
        });
    }
    Ok(results)
}

/// One question about several rules; `None` when the engine gave no answer at all.
async fn question(
    run: &mut Run,
    scope: &Scope,
    engine: &Arc<dyn Engine>,
    open: &[(RuleSpec, serde_json::Value)],
) -> Result<Option<Answers>> {
    let question = RulesQuestion {
        rules: open.iter().map(|(rule, _)| rule.clone()).collect(),
        contexts: open
            .iter()
            .map(|(rule, context)| (rule.id.clone(), context.clone()))
            .collect(),
    };
    let mut outcomes = scope
        .each([question], |question| {
            let (engine, stop) = (Arc::clone(engine), scope.stop());
            async move {
                let answer = engine.evaluate_rules(question, &stop).await;
                let answer = answer.map_err(|error| Failure::of_engine(&error, "rules"))?;
                Ok(Answered {
                    value: answer.value,
                    question: "evaluate_rules",
                    model: engine.model().to_owned(),
                    usage: answer.usage,
                    failures: Vec::new(),
                })
            }
        })
        .await?;
    Ok(match outcomes.pop() {
        Some(Outcome::Done(answered)) => {
            let results = run.ledger.take(scope.node, answered);
            let mut answers = Answers::new();
            for result in results {
                answers.entry(result.rule_id.clone()).or_insert(result);
            }
            Some(answers)
        }
        Some(Outcome::Failed(failure)) => {
            note_unanswered(run, scope, open, &failure);
            None
        }
        Some(Outcome::Late) | None => None,
    })
}

fn note_unanswered(
    run: &mut Run,
    scope: &Scope,
    open: &[(RuleSpec, serde_json::Value)],
    failure: &Failure,
) {
    let ids: Vec<_> = open.iter().map(|(rule, _)| rule.id.as_str()).collect();
    let message = format!(
        "{} (rules without a result: {})",
        failure.message,
        ids.join(", ")
    );
    run.ledger.note(
        scope.node,
        Failure {
            message,
            ..failure.clone()
        },
    );
}

fn output_of(result: &RuleResult) -> serde_json::Value {
    result.output.clone().unwrap_or_default()
}

/// The context of a second try: what was answered, and what is wrong with it.
fn repair(context: serde_json::Value, result: &RuleResult, why: &str) -> serde_json::Value {
    let mut context = context;
    if let Some(parts) = context.as_object_mut() {
        let repair = json!({"previous_output": result.output, "problem": why});
        parts.insert("repair".to_owned(), repair);
    }
    context
}

fn kept(rule: &RuleSpec, result: &RuleResult, output: serde_json::Value) -> RuleResult {
    RuleResult {
        rule_id: rule.id.clone(),
        predicate: rule.predicate.clone(),
        output: Some(output),
        ..result.clone()
    }
}

fn refused(
    run: &mut Run,
    scope: &Scope,
    rule: &RuleSpec,
    result: &RuleResult,
    why: &str,
) -> RuleResult {
    let message = format!("rule {:?}: {why}, also when asked again", rule.id);
    run.ledger.note(
        scope.node,
        Failure::transient(ErrorCode::RuleNotEvaluated, message),
    );
    RuleResult {
        rule_id: rule.id.clone(),
        predicate: rule.predicate.clone(),
        output: None,
        human_revision: Some(format!("{why}, also when asked again")),
        ..result.clone()
    }
}

fn left_out(run: &mut Run, scope: &Scope, rule: &RuleSpec) -> RuleResult {
    let message = format!("rule {:?} was left out by the engine", rule.id);
    run.ledger.note(
        scope.node,
        Failure::transient(ErrorCode::RuleNotEvaluated, message),
    );
    RuleResult {
        rule_id: rule.id.clone(),
        predicate: rule.predicate.clone(),
        output: None,
        summary: None,
        notes: Vec::new(),
        human_revision: Some("the engine gave no answer to this rule".to_owned()),
    }
}
