//! What an operator can set of this room: a ceiling for each stage, how much runs at once, the grounding.

use std::{num::NonZeroUsize, time::Duration};

/// Settings of the pipeline, with the defaults of the contract.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// `FLYDOCS_STAGE_CONCURRENCY`: how many files, segments or tasks of a stage run at once (CPU count).
    pub stage_concurrency: NonZeroUsize,
    /// `FLYDOCS_LOAD_TIMEOUT_S`.
    pub load_timeout: Duration,
    /// `FLYDOCS_SPLITTER_TIMEOUT_S`.
    pub splitter_timeout: Duration,
    /// `FLYDOCS_CLASSIFIER_TIMEOUT_S`.
    pub classifier_timeout: Duration,
    /// `FLYDOCS_EXTRACT_TIMEOUT_S`.
    pub extract_timeout: Duration,
    /// `FLYDOCS_BBOX_REFINE_INLINE_TIMEOUT_S`.
    pub bbox_refine_inline_timeout: Duration,
    /// `FLYDOCS_BBOX_REFINE_TIMEOUT_S`: the ceiling of the bbox worker.
    pub bbox_refine_timeout: Duration,
    /// The ceiling of field_validation.
    pub field_validation_timeout: Duration,
    /// The ceiling of visual_authenticity, and of content_authenticity.
    pub authenticity_timeout: Duration,
    /// `FLYDOCS_JUDGE_TIMEOUT_S`.
    pub judge_timeout: Duration,
    /// `FLYDOCS_JUDGE_ESCALATION_TIMEOUT_S`.
    pub judge_escalation_timeout: Duration,
    /// `FLYDOCS_TRANSFORM_TIMEOUT_S`.
    pub transform_timeout: Duration,
    /// The ceiling of rules.
    pub rules_timeout: Duration,
    /// The ceiling of plan_tasks, bbox_validation and assemble, which only move what is there.
    pub light_stage_timeout: Duration,
    /// `FLYDOCS_BBOX_REFINE_THRESHOLD`: how well words must match a value, 0 to 1.
    pub bbox_refine_threshold: f64,
    /// How wide, in pixels, pages are drawn for engines that look at them.
    pub engine_image_width: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            stage_concurrency: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            load_timeout: Duration::from_mins(2),
            splitter_timeout: Duration::from_mins(3),
            classifier_timeout: Duration::from_mins(3),
            extract_timeout: Duration::from_mins(10),
            bbox_refine_inline_timeout: Duration::from_mins(5),
            bbox_refine_timeout: Duration::from_mins(10),
            field_validation_timeout: Duration::from_secs(30),
            authenticity_timeout: Duration::from_mins(3),
            judge_timeout: Duration::from_mins(5),
            judge_escalation_timeout: Duration::from_mins(10),
            transform_timeout: Duration::from_mins(10),
            rules_timeout: Duration::from_mins(3),
            light_stage_timeout: Duration::from_secs(5),
            bbox_refine_threshold: 0.85,
            engine_image_width: 1600,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stages::STAGES;

    #[test]
    fn stages_order_and_ceilings_are_those_of_the_contract() {
        let options = Options::default();
        let found: Vec<_> = STAGES
            .iter()
            .map(|stage| (stage.node, (stage.ceiling)(&options).as_secs()))
            .collect();
        assert_eq!(
            found,
            [
                ("load", 120),
                ("discover", 180),
                ("classify", 180),
                ("plan_tasks", 5),
                ("extract", 600),
                ("bbox_validation", 5),
                ("bbox_refine", 300),
                ("field_validation", 30),
                ("visual_authenticity", 180),
                ("content_authenticity", 180),
                ("judge", 300),
                ("judge_escalation", 600),
                ("transform", 600),
                ("rules", 180),
                ("assemble", 5),
            ]
        );
        assert_eq!(options.bbox_refine_timeout.as_secs(), 600);
    }
}
