//! bbox_refine: boxes grounded before the answer, for a caller that waits. Otherwise the bbox worker does it.

use std::sync::Arc;

use futures::FutureExt;

use crate::{
    error::Result,
    grounding::{Unit, ground_all},
    input::Mode,
    run::Run,
    scope::{Outcome, Scope},
    stage::Stage,
    words::Sheets,
};

/// The stage's name, also in what the bbox worker writes.
pub(crate) const NODE: &str = "bbox_refine";

pub(crate) const STAGE: Stage = Stage {
    node: NODE,
    setting: Some("FLYDOCS_BBOX_REFINE_INLINE_TIMEOUT_S"),
    ceiling: |options| options.bbox_refine_inline_timeout,
    applies: |run| is_inline(run) && run.readable_tasks().next().is_some(),
    work: |run, scope| refine(run, scope).boxed(),
};

/// True when this run grounds boxes itself.
pub(crate) fn is_inline(run: &Run) -> bool {
    run.request.wants_bbox_refinement() && run.mode == Mode::Sync
}

/// Grounds the boxes of every task.
pub(crate) async fn refine(run: &mut Run, scope: &Scope) -> Result<()> {
    let places: Vec<_> = run.readable_tasks().collect();
    let language = run.request.options.language_hint.clone();
    let units: Vec<_> = places
        .iter()
        .filter_map(|place| {
            let task = run.tasks.get(*place)?;
            let file = run.rows.get(task.row)?;
            Some(Unit {
                sheets: Sheets::new(scope, &file.row, task.pages.clone(), language.as_deref()),
                groups: task.groups.clone()?,
                document_type: Some(Arc::clone(&task.document_type)),
                language: language.clone(),
            })
        })
        .collect();
    let outcomes = ground_all(scope, units).await?;
    for (place, outcome) in places.into_iter().zip(outcomes) {
        match outcome {
            Outcome::Done(grounded) => {
                for failure in grounded.failures {
                    run.ledger.note(scope.node, failure);
                }
                if let Some(task) = run.tasks.get_mut(place) {
                    task.groups = Some(grounded.groups);
                }
            }
            Outcome::Failed(failure) => run.ledger.note(scope.node, failure),
            Outcome::Late => {}
        }
    }
    Ok(())
}
