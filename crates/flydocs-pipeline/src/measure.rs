//! The figures of this room, one function each, so that every name and label stands in one place.

use flydocs_contract::result::{ExtractionResult, TraceEntry, TraceStatus};
use metrics::{counter, histogram};

/// A stage ended, or was passed over.
pub(crate) fn stage(entry: &TraceEntry) {
    let status = match entry.status {
        TraceStatus::Success => "success",
        TraceStatus::Failed => "failed",
        TraceStatus::Skipped => "skipped",
    };
    counter!("flydocs_pipeline_stages_total", "stage" => entry.node.clone(), "status" => status)
        .increment(1);
    if entry.status != TraceStatus::Skipped {
        histogram!("flydocs_pipeline_stage_seconds", "stage" => entry.node.clone())
            .record(entry.latency_ms / 1000.0);
    }
}

/// A run came to a result: its pages, and what the models took for it.
pub(crate) fn result(result: &ExtractionResult) {
    let pages: u64 = result
        .files
        .iter()
        .map(|file| u64::from(file.page_count))
        .sum();
    counter!("flydocs_pipeline_pages_total").increment(pages);
    let Some(usage) = &result.pipeline.usage else {
        return;
    };
    for (model, share) in &usage.by_model {
        for (direction, tokens) in [
            ("input", share.input_tokens),
            ("output", share.output_tokens),
        ] {
            counter!("flydocs_pipeline_tokens_total", "model" => model.clone(), "direction" => direction)
                .increment(tokens);
        }
        histogram!("flydocs_pipeline_cost_usd", "model" => model.clone()).record(share.cost_usd);
    }
}
