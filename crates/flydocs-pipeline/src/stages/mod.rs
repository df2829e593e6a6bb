//! The stages, one file each, and their order. The order is the contract's; nothing else decides it.

pub(crate) mod assemble;
pub(crate) mod bbox_refine;
pub(crate) mod bbox_validation;
pub(crate) mod classify;
pub(crate) mod content_authenticity;
pub(crate) mod discover;
pub(crate) mod extract;
pub(crate) mod field_validation;
pub(crate) mod judge;
pub(crate) mod judge_escalation;
pub(crate) mod load;
pub(crate) mod plan_tasks;
pub(crate) mod rules;
pub(crate) mod transform;
pub(crate) mod visual_authenticity;

use crate::stage::Stage;

/// The stage without which there is nothing to do: its failures end the run.
pub(crate) const LOAD: &str = "load";

/// Every stage, in the order they run.
pub(crate) const STAGES: [&Stage; 15] = [
    &load::STAGE,
    &discover::STAGE,
    &classify::STAGE,
    &plan_tasks::STAGE,
    &extract::STAGE,
    &bbox_validation::STAGE,
    &bbox_refine::STAGE,
    &field_validation::STAGE,
    &visual_authenticity::STAGE,
    &content_authenticity::STAGE,
    &judge::STAGE,
    &judge_escalation::STAGE,
    &transform::STAGE,
    &rules::STAGE,
    &assemble::STAGE,
];
