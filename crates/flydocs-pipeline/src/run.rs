//! The state of one run: what the stages hand each other. Everything is found by position, nothing by name.

use std::sync::Arc;

use flydocs_contract::{
    ExtractionId, Timestamp,
    request::DocumentTypeSpec,
    result::{
        Classification, ContentAuthenticity, Escalation, ExtractedFieldGroup, ExtractionResult,
        RuleResult, TraceEntry, VisualCheckResult,
    },
};
use flydocs_pages::Row;
use tokio_util::sync::CancellationToken;

use crate::{
    input::{Input, InputFile, Mode, Request},
    ledger::Ledger,
    ports::Progress,
    scope::Services,
    stages::judge::Tally,
};

/// A readable file. Its identity is its position in [`Run::rows`].
#[derive(Debug, Clone)]
pub(crate) struct FileRow {
    pub(crate) row: Arc<Row>,
    /// The type the caller expects of it.
    pub(crate) expected_type: Option<String>,
    /// The type it is taken for without asking.
    pub(crate) pin: Option<String>,
}

/// A run of pages of one file that is one document.
#[derive(Debug, Clone)]
pub(crate) struct SegmentState {
    /// Position of its file in [`Run::rows`].
    pub(crate) row: usize,
    pub(crate) page_start: u32,
    pub(crate) page_end: u32,
    /// The type it has, once it has one.
    pub(crate) type_id: Option<String>,
    /// True when the type was given, not found.
    pub(crate) pinned: bool,
    /// What the splitter said.
    pub(crate) split: Option<flydocs_engines::Segment>,
    /// What the classifier said.
    pub(crate) classification: Option<Classification>,
    /// Why it has no type.
    pub(crate) notes: Option<String>,
}

impl SegmentState {
    pub(crate) fn whole(row: usize, file: &FileRow) -> Self {
        Self {
            row,
            page_start: 1,
            page_end: file.row.page_count.max(1),
            type_id: file.pin.clone(),
            pinned: file.pin.is_some(),
            split: None,
            classification: None,
            notes: None,
        }
    }

    pub(crate) fn pages(&self) -> Vec<u32> {
        (self.page_start..=self.page_end).collect()
    }

    pub(crate) fn description(&self) -> Option<String> {
        let classifier = self.classification.as_ref();
        classifier
            .and_then(|c| c.description.clone())
            .or_else(|| self.split.as_ref().and_then(|s| s.description.clone()))
    }

    pub(crate) fn confidence(&self) -> Option<f64> {
        let classifier = self.classification.as_ref().map(|c| c.confidence);
        classifier
            .or_else(|| self.pinned.then_some(1.0))
            .or_else(|| self.split.as_ref().map(|s| s.confidence))
    }

    pub(crate) fn notes(&self) -> Option<String> {
        let classifier = self.classification.as_ref();
        self.notes
            .clone()
            .or_else(|| classifier.and_then(|c| c.notes.clone()))
    }
}

/// A document of a known type, to be worked on.
#[derive(Debug, Clone)]
pub(crate) struct Task {
    /// Position of its file in [`Run::rows`].
    pub(crate) row: usize,
    pub(crate) pages: Vec<u32>,
    pub(crate) document_type: Arc<DocumentTypeSpec>,
    pub(crate) confidence: f64,
    pub(crate) description: Option<String>,
    pub(crate) notes: Option<String>,
    /// What was read; `None` until extraction, and when it failed.
    pub(crate) groups: Option<Vec<ExtractedFieldGroup>>,
    pub(crate) visual: Vec<VisualCheckResult>,
    pub(crate) content: Option<ContentAuthenticity>,
}

pub(crate) struct Run {
    pub(crate) services: Arc<Services>,
    pub(crate) progress: Arc<dyn Progress>,
    pub(crate) cancel: CancellationToken,
    pub(crate) id: ExtractionId,
    pub(crate) mode: Mode,
    pub(crate) request: Arc<Request>,
    /// The files as they came; load takes them.
    pub(crate) files: Vec<InputFile>,
    pub(crate) started_at: Timestamp,
    pub(crate) rows: Vec<FileRow>,
    pub(crate) segments: Vec<SegmentState>,
    pub(crate) tasks: Vec<Task>,
    pub(crate) unmatched: Vec<SegmentState>,
    pub(crate) rule_results: Vec<RuleResult>,
    pub(crate) request_transformations: Vec<ExtractedFieldGroup>,
    /// What the judge found over all tasks.
    pub(crate) tally: Tally,
    pub(crate) escalation: Option<Escalation>,
    pub(crate) ledger: Ledger,
    pub(crate) trace: Vec<TraceEntry>,
    pub(crate) result: Option<ExtractionResult>,
}

impl Run {
    pub(crate) fn new(
        services: &Arc<Services>,
        input: Input,
        progress: Arc<dyn Progress>,
        cancel: &CancellationToken,
    ) -> Self {
        Self {
            started_at: services.clock.now(),
            services: Arc::clone(services),
            progress,
            cancel: cancel.clone(),
            id: input.id,
            mode: input.mode,
            request: Arc::new(input.request),
            files: input.files,
            rows: Vec::new(),
            segments: Vec::new(),
            tasks: Vec::new(),
            unmatched: Vec::new(),
            rule_results: Vec::new(),
            request_transformations: Vec::new(),
            tally: Tally::default(),
            escalation: None,
            ledger: Ledger::default(),
            trace: Vec::new(),
            result: None,
        }
    }

    /// Puts a stage's end into the trace.
    pub(crate) fn close(&mut self, entry: TraceEntry) {
        self.progress.stage_finished(&entry);
        crate::measure::stage(&entry);
        self.trace.push(entry);
    }

    /// The declared type of an id.
    pub(crate) fn declared(&self, id: &str) -> Option<&DocumentTypeSpec> {
        self.request.document_types.iter().find(|t| t.id == id)
    }

    /// The only declared type, when there is one.
    pub(crate) fn only_type(&self) -> Option<&DocumentTypeSpec> {
        match &*self.request.document_types {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Positions of the tasks that were read.
    pub(crate) fn readable_tasks(&self) -> impl Iterator<Item = usize> {
        let tasks = self.tasks.iter().enumerate();
        tasks.filter(|(_, t)| t.groups.is_some()).map(|(i, _)| i)
    }

    /// A task in the words of an error message.
    pub(crate) fn subject(&self, row: usize, pages: &[u32]) -> String {
        let name = self
            .rows
            .get(row)
            .map_or("a file", |f| f.row.filename.as_str());
        match (pages.first(), pages.last()) {
            (Some(first), Some(last)) if first == last => format!("{name}, page {first}"),
            (Some(first), Some(last)) => format!("{name}, pages {first}-{last}"),
            _ => name.to_owned(),
        }
    }
}
