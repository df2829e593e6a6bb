//! Rewrites the groups of every document that was read, each alone, on the blocking pool.

use std::sync::Arc;

use flydocs_contract::{request::DocumentTypeSpec, result::ExtractedFieldGroup};
use tokio_util::sync::CancellationToken;

use crate::{
    error::Result,
    run::Run,
    scope::{Outcome, Scope},
};

/// A document whose rewriting is lost keeps what it had.
pub(crate) async fn groups(
    run: &mut Run,
    scope: &Scope,
    rewrite: impl Fn(&DocumentTypeSpec, &mut [ExtractedFieldGroup], &CancellationToken)
    + Send
    + Sync
    + 'static,
) -> Result<()> {
    let places: Vec<_> = run.readable_tasks().collect();
    let tasks = places.iter().filter_map(|place| run.tasks.get(*place));
    let units: Vec<_> = tasks
        .filter_map(|t| Some((Arc::clone(&t.document_type), t.groups.clone()?)))
        .collect();
    let outcomes = scope
        .each_blocking(units, move |(document_type, mut groups), stop| {
            rewrite(&document_type, &mut groups, stop);
            groups
        })
        .await?;
    for (place, outcome) in places.into_iter().zip(outcomes) {
        match (outcome, run.tasks.get_mut(place)) {
            (Outcome::Done(groups), Some(task)) => task.groups = Some(groups),
            (Outcome::Failed(failure), _) => run.ledger.note(scope.node, failure),
            (Outcome::Done(_) | Outcome::Late, _) => {}
        }
    }
    Ok(())
}
