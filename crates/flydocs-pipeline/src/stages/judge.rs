//! judge: a second look at every leaf.

use std::{collections::HashMap, sync::Arc};

use flydocs_contract::{
    Field, FieldValue,
    request::DocumentTypeSpec,
    result::{ExtractedField, ExtractedFieldGroup, JudgeStatus, JudgeVerdict},
};
use flydocs_engines::{Engine, JudgeQuestion};
use futures::FutureExt;

use crate::{
    ask::{Subject, Topic, as_read, of_documents_with},
    error::Result,
    ledger::Answered,
    run::Run,
    scope::{Outcome, Scope},
    stage::Stage,
};

pub(crate) const STAGE: Stage = Stage {
    node: "judge",
    setting: Some("FLYDOCS_JUDGE_TIMEOUT_S"),
    ceiling: |options| options.judge_timeout,
    applies: |run| run.request.options.stages.judge && run.readable_tasks().next().is_some(),
    work: |run, scope| judge(run, scope).boxed(),
};

/// Verdicts by the path of the leaf.
pub(crate) type Verdicts = Vec<(String, JudgeVerdict)>;

async fn judge(run: &mut Run, scope: &Scope) -> Result<()> {
    let engine = match scope.engine(run.request.options.model.as_deref()) {
        Ok(engine) => engine,
        Err(failure) => {
            run.ledger.note(scope.node, failure);
            return Ok(());
        }
    };
    let places: Vec<_> = run.readable_tasks().collect();
    let outcomes = judge_tasks(run, scope, &engine, as_read(run, &places)).await?;
    for (place, outcome) in places.into_iter().zip(outcomes) {
        match outcome {
            Outcome::Done(answered) => {
                let verdicts = run.ledger.take(scope.node, answered);
                let Some(task) = run.tasks.get_mut(place) else {
                    continue;
                };
                if let Some(groups) = &mut task.groups {
                    run.tally += apply(&task.document_type, groups, verdicts);
                }
            }
            Outcome::Failed(failure) => run.ledger.note(scope.node, failure),
            Outcome::Late => {}
        }
    }
    Ok(())
}

/// Asks an engine for verdicts on what was read of tasks, in their order.
pub(crate) async fn judge_tasks(
    run: &Run,
    scope: &Scope,
    engine: &Arc<dyn Engine>,
    subjects: Vec<Subject>,
) -> Result<Vec<Outcome<Answered<Verdicts>>>> {
    of_documents_with(run, scope, engine, subjects, "judge", |engine, topic| {
        async move {
            let Topic {
                pages,
                images,
                document_type,
                groups,
                stop,
                ..
            } = topic;
            let question = JudgeQuestion {
                pages,
                images,
                document_type,
                field_groups: groups,
            };
            engine.judge(question, &stop).await
        }
        .boxed()
    })
    .await
}

/// Writes verdicts to the leaves they name, and counts those.
pub(crate) fn apply(
    document_type: &DocumentTypeSpec,
    groups: &mut [ExtractedFieldGroup],
    verdicts: Verdicts,
) -> Tally {
    let mut bench = Bench {
        verdicts: verdicts.into_iter().collect(),
        tally: Tally::default(),
    };
    for group in groups {
        let spec = document_type
            .field_groups
            .iter()
            .find(|g| g.name == group.name);
        let specs = spec.map(|g| g.fields.as_slice()).unwrap_or_default();
        bench.members(specs, &mut group.fields, &group.name);
    }
    bench.tally
}

struct Bench {
    verdicts: HashMap<String, JudgeVerdict>,
    tally: Tally,
}

impl Bench {
    fn members(&mut self, specs: &[Field], fields: &mut [ExtractedField], path: &str) {
        for field in fields {
            if let Some(spec) = specs.iter().find(|spec| spec.name == field.name) {
                let path = format!("{path}.{}", field.name);
                self.one(spec, field, &path);
            }
        }
    }

    fn one(&mut self, spec: &Field, field: &mut ExtractedField, path: &str) {
        match (&mut field.value, spec.items.as_deref(), &spec.fields) {
            (Some(FieldValue::Fields(rows)), Some(items), _) => {
                for (i, row) in rows.iter_mut().enumerate() {
                    self.one(items, row, &format!("{path}[{i}]"));
                }
            }
            (Some(FieldValue::Fields(fields)), None, Some(specs)) => {
                self.members(specs, fields, path);
            }
            _ => {
                if let Some(verdict) = self.verdicts.remove(path) {
                    self.tally.count(&verdict);
                    field.judge = JudgeVerdict {
                        confidence: crate::shape::confidence(verdict.confidence),
                        ..verdict
                    };
                }
            }
        }
    }
}

/// Of the judged leaves, how many fail or want a person's eye, over how many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Tally {
    pub(crate) failed: usize,
    pub(crate) judged: usize,
}

impl Tally {
    /// The share that fails; 0 when nothing was judged.
    pub(crate) fn rate(self) -> f64 {
        if self.judged == 0 {
            return 0.0;
        }
        self.failed as f64 / self.judged as f64
    }

    fn count(&mut self, verdict: &JudgeVerdict) {
        self.judged += 1;
        let is_failed = verdict.status == JudgeStatus::Fail || verdict.flag_for_review;
        self.failed += usize::from(is_failed);
    }
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.failed += other.failed;
        self.judged += other.judged;
    }
}
