//! bbox_validation: how plausible each box is by its shape.

use futures::FutureExt;

use crate::{error::Result, rewrite, run::Run, scope::Scope, stage::Stage};

pub(crate) const STAGE: Stage = Stage {
    node: "bbox_validation",
    setting: None,
    ceiling: |options| options.light_stage_timeout,
    applies: |run| run.readable_tasks().next().is_some(),
    work: |run, scope| validate(run, scope).boxed(),
};

/// Judges the boxes of every task.
pub(crate) async fn validate(run: &mut Run, scope: &Scope) -> Result<()> {
    rewrite::groups(run, scope, |_, groups, _| {
        flydocs_grounding::quality::judge(groups);
    })
    .await
}
