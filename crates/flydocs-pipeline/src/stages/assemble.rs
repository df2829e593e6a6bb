//! assemble: what the stages made becomes the result; a run without a usable task has none.

use flydocs_contract::result::{
    Authenticity, Document, ExtractedField, ExtractedFieldGroup, ExtractionResult, FileSummary,
    PipelineSummary, ResultStatus,
};
use flydocs_contract::{FieldValue, result::TraceEntry};
use futures::FutureExt;

use crate::{
    error::{Error, Result},
    run::{Run, SegmentState, Task},
    stage::{Stage, latency_ms},
};

/// The type of a document that is of no declared type.
const UNMATCHED: &str = "unmatched";

pub(crate) const STAGE: Stage = Stage {
    node: "assemble",
    setting: None,
    ceiling: |options| options.light_stage_timeout,
    applies: |_| true,
    work: |run, _| async move { assemble(run) }.boxed(),
};

fn assemble(run: &mut Run) -> Result<()> {
    if run.readable_tasks().next().is_none() {
        return Err(nothing(run));
    }
    let mut documents: Vec<_> = run.tasks.iter().map(|task| document(run, task)).collect();
    let mut request_transformations = run.request_transformations.clone();
    if !run.request.options.return_bboxes {
        let groups = documents.iter_mut().flat_map(|d| &mut d.field_groups);
        strip_boxes(groups.chain(&mut request_transformations));
    }
    run.result = Some(ExtractionResult {
        id: run.id,
        status: ResultStatus::Success,
        files: files(run),
        documents,
        discovered_documents: run.unmatched.iter().map(|s| discovered(run, s)).collect(),
        rule_results: run.rule_results.clone(),
        request_transformations,
        pipeline: PipelineSummary {
            model: String::new(),
            latency_ms: 0.0,
            trace: Vec::new(),
            errors: Vec::new(),
            escalation: run.escalation.clone(),
            usage: None,
        },
    });
    Ok(())
}

/// Why there is nothing to assemble: what failed, or else what the documents are not.
fn nothing(run: &Run) -> Error {
    let errors = run.ledger.errors();
    let failed = errors.first().map(|e| format!("{}: {}", e.node, e.message));
    let untyped = || match run.unmatched.first() {
        Some(segment) => {
            let subject = run.subject(segment.row, &segment.pages());
            format!("{subject}: {}", segment.notes().unwrap_or_default())
        }
        None => "there is no file".to_owned(),
    };
    Error::NothingExtracted {
        detail: failed.unwrap_or_else(untyped),
        permanent: !run.ledger.may_pass(),
        retry_after: run.ledger.retry_after(),
        errors,
    }
}

/// Closes the books: trace, errors and figures, once the last stage has ended.
pub(crate) fn finish(run: Run) -> Result<ExtractionResult> {
    let Some(mut result) = run.result else {
        return Err(Error::Internal { node: STAGE.node });
    };
    let ended_at = run.trace.last().map(|e: &TraceEntry| e.completed_at);
    let errors = run.ledger.errors();
    result.status = if errors.is_empty() {
        ResultStatus::Success
    } else {
        ResultStatus::Partial
    };
    result.pipeline = PipelineSummary {
        model: run.ledger.model(),
        latency_ms: ended_at.map_or(0.0, |end| latency_ms(run.started_at, end)),
        trace: run.trace,
        errors,
        escalation: result.pipeline.escalation,
        usage: run.ledger.usage(),
    };
    crate::measure::result(&result);
    Ok(result)
}

fn files(run: &Run) -> Vec<FileSummary> {
    let files = run.rows.iter().enumerate().map(|(i, file)| {
        let task = run.tasks.iter().find(|t| t.row == i);
        let verdicts = || {
            let segments = run.segments.iter().filter(|s| s.row == i);
            segments.filter_map(|s| s.classification.as_ref())
        };
        FileSummary {
            filename: file.row.filename.clone(),
            media_type: file.row.media_type.clone(),
            page_count: file.row.page_count,
            bytes: file.row.bytes,
            matched_type: task.map(|t| t.document_type.id.clone()),
            classification: verdicts()
                .find(|c| c.matched)
                .or_else(|| verdicts().next())
                .cloned(),
        }
    });
    files.collect()
}

fn document(run: &Run, task: &Task) -> Document {
    Document {
        type_id: task.document_type.id.clone(),
        source_file: filename(run, task.row),
        missing: false,
        pages: task.pages.clone(),
        confidence: task.confidence,
        description: task.description.clone(),
        notes: with_warnings(run, task.row, task.notes.clone()),
        field_groups: task.groups.clone().unwrap_or_default(),
        authenticity: Authenticity {
            visual: task.visual.clone(),
            content: task.content.clone(),
        },
    }
}

fn discovered(run: &Run, segment: &SegmentState) -> Document {
    Document {
        type_id: UNMATCHED.to_owned(),
        source_file: filename(run, segment.row),
        missing: false,
        pages: segment.pages(),
        confidence: segment.confidence().unwrap_or(0.0),
        description: segment.description(),
        notes: with_warnings(run, segment.row, segment.notes()),
        field_groups: Vec::new(),
        authenticity: Authenticity::default(),
    }
}

fn filename(run: &Run, row: usize) -> String {
    let file = run.rows.get(row);
    file.map_or_else(String::new, |f| f.row.filename.clone())
}

/// What the reader found worth saying of a file stands with the notes of its documents.
fn with_warnings(run: &Run, row: usize, notes: Option<String>) -> Option<String> {
    let warnings = run.rows.get(row).map(|f| f.row.warnings.as_slice());
    let warnings = warnings.unwrap_or_default().iter().cloned();
    let all: Vec<_> = notes.into_iter().chain(warnings).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

fn strip_boxes<'a>(groups: impl Iterator<Item = &'a mut ExtractedFieldGroup>) {
    fn strip(fields: &mut [ExtractedField]) {
        for field in fields {
            field.bbox = None;
            if let Some(FieldValue::Fields(members)) = &mut field.value {
                strip(members);
            }
        }
    }
    for group in groups {
        strip(&mut group.fields);
    }
}
