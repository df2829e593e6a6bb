//! plan_tasks: segments with a type become tasks, the others discovered documents.

use std::{collections::HashMap, sync::Arc};

use futures::FutureExt;

use crate::{
    run::{Run, SegmentState, Task},
    stage::Stage,
};

pub(crate) const STAGE: Stage = Stage {
    node: "plan_tasks",
    setting: None,
    ceiling: |options| options.light_stage_timeout,
    applies: |_| true,
    work: |run, _| {
        async move {
            plan(run);
            Ok(())
        }
        .boxed()
    },
};

fn plan(run: &mut Run) {
    let types = run.request.document_types.iter();
    let types: HashMap<_, _> = types
        .map(|t| (t.id.as_str(), Arc::new(t.clone())))
        .collect();
    let mut tasks = Vec::new();
    let mut unmatched = Vec::new();
    for segment in &run.segments {
        let type_id = segment
            .type_id
            .as_deref()
            .or_else(|| provisional(run, segment));
        match type_id.and_then(|id| types.get(id)) {
            Some(document_type) => tasks.push(Task {
                row: segment.row,
                pages: segment.pages(),
                document_type: Arc::clone(document_type),
                confidence: segment.confidence().unwrap_or(0.0),
                description: segment
                    .description()
                    .or_else(|| document_type.description.clone()),
                notes: segment.notes(),
                groups: None,
                visual: Vec::new(),
                content: None,
            }),
            None => unmatched.push(SegmentState {
                notes: segment.notes().or_else(|| Some(why_untyped(run))),
                ..segment.clone()
            }),
        }
    }
    (run.tasks, run.unmatched) = (tasks, unmatched);
}

/// The splitter's word counts where no classifier is asked.
fn provisional<'a>(run: &Run, segment: &'a SegmentState) -> Option<&'a str> {
    if run.request.options.stages.classifier {
        return None;
    }
    segment.split.as_ref()?.provisional_type.as_deref()
}

fn why_untyped(run: &Run) -> String {
    if run.request.options.stages.classifier {
        "it looks like none of the declared types".to_owned()
    } else {
        "the classifier is off and the file has no expected_type".to_owned()
    }
}
