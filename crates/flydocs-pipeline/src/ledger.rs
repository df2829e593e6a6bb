//! What a run writes down as it goes: failures that did not stop it, the models that answered, what they cost.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use flydocs_contract::result::{PipelineError, Usage, UsageShare};
use flydocs_engines::CallUsage;

use crate::failure::Failure;

/// An answer of an engine with everything the ledger wants to know of it.
#[derive(Debug, Clone)]
pub(crate) struct Answered<T> {
    pub(crate) value: T,
    /// The question, as a verb ("extract").
    pub(crate) question: &'static str,
    pub(crate) model: String,
    pub(crate) usage: Vec<CallUsage>,
    /// What went wrong on the way without taking the answer away.
    pub(crate) failures: Vec<Failure>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Ledger {
    failures: Vec<(&'static str, Failure)>,
    models: BTreeSet<String>,
    calls: Vec<(&'static str, CallUsage)>,
}

impl Ledger {
    /// Writes a failure down, each once.
    pub(crate) fn note(&mut self, node: &'static str, failure: Failure) {
        // A missing OCR program is one finding, whichever stage meets it.
        let known = self.failures.iter().any(|(n, f)| {
            f.code == failure.code
                && f.message == failure.message
                && (*n == node || f.code == flydocs_contract::ErrorCode::OcrUnavailable)
        });
        if !known {
            tracing::warn!(stage.name = node, error.code = %failure.code, "a stage went on without a part: {}", failure.code);
            self.failures.push((node, failure));
        }
    }

    /// Takes an answer's value, writing the rest down.
    pub(crate) fn take<T>(&mut self, node: &'static str, answered: Answered<T>) -> T {
        if answered.usage.is_empty() {
            self.models.insert(answered.model);
        } else {
            let models = answered.usage.iter().map(|call| call.model.clone());
            self.models.extend(models);
        }
        let calls = answered.usage.into_iter();
        self.calls
            .extend(calls.map(|call| (answered.question, call)));
        for failure in answered.failures {
            self.note(node, failure);
        }
        answered.value
    }

    pub(crate) fn has_failures_of(&self, node: &str) -> bool {
        self.failures.iter().any(|(n, _)| *n == node)
    }

    /// True when some failure may pass by itself.
    pub(crate) fn may_pass(&self) -> bool {
        self.failures.iter().any(|(_, f)| f.transient)
    }

    /// The longest that a provider wants not to be asked.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        self.failures
            .iter()
            .filter_map(|(_, f)| f.retry_after)
            .max()
    }

    pub(crate) fn errors(&self) -> Vec<PipelineError> {
        let errors = self.failures.iter().map(|(node, failure)| PipelineError {
            node: (*node).to_owned(),
            code: failure.code.as_str().to_owned(),
            message: failure.message.clone(),
        });
        errors.collect()
    }

    /// The models really used, sorted, joined by commas.
    pub(crate) fn model(&self) -> String {
        let models: Vec<_> = self.models.iter().map(String::as_str).collect();
        models.join(",")
    }

    /// What metered calls cost; `None` when there was none.
    pub(crate) fn usage(&self) -> Option<Usage> {
        if self.calls.is_empty() {
            return None;
        }
        let mut usage = Usage::default();
        for (question, call) in &self.calls {
            usage.total_input_tokens += call.input_tokens;
            usage.total_output_tokens += call.output_tokens;
            usage.total_cost_usd += call.cost_usd;
            usage.total_latency_ms += call.latency_ms;
            usage.cache_creation_tokens += call.cache_creation_tokens;
            usage.cache_read_tokens += call.cache_read_tokens;
            add(&mut usage.by_agent, question, call);
            add(&mut usage.by_model, &call.model, call);
        }
        usage.total_tokens = usage.total_input_tokens + usage.total_output_tokens;
        usage.total_requests = self.calls.len() as u64;
        usage.record_count = self.calls.len() as u64;
        usage.total_latency_ms = crate::stage::two_decimals(usage.total_latency_ms);
        Some(usage)
    }
}

fn add(shares: &mut BTreeMap<String, UsageShare>, name: &str, call: &CallUsage) {
    let share = shares.entry(name.to_owned()).or_default();
    share.input_tokens += call.input_tokens;
    share.output_tokens += call.output_tokens;
    share.total_tokens += call.input_tokens + call.output_tokens;
    share.cost_usd += call.cost_usd;
}
