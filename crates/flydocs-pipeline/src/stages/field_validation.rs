//! field_validation: every value against the rules of its field.

use futures::FutureExt;

use crate::{checks, error::Result, rewrite, run::Run, scope::Scope, stage::Stage};

pub(crate) const STAGE: Stage = Stage {
    node: "field_validation",
    setting: None,
    ceiling: |options| options.field_validation_timeout,
    applies: |run| {
        run.request.options.stages.field_validation && run.readable_tasks().next().is_some()
    },
    work: |run, scope| validate(run, scope).boxed(),
};

/// Validates the groups of every task.
pub(crate) async fn validate(run: &mut Run, scope: &Scope) -> Result<()> {
    rewrite::groups(run, scope, checks::groups).await
}
