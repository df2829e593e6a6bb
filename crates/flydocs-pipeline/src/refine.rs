//! The bbox worker's half: the boxes of a stored result, grounded among the words of the request's files.
//!
//! Running it twice gives the same result: what is grounded stays, and its own trace and errors are written anew.

use std::{collections::HashMap, sync::Arc};

use flydocs_contract::{
    ErrorCode, Timestamp,
    result::{Document, ExtractionResult, PipelineError, ResultStatus, TraceStatus},
};
use tokio_util::sync::CancellationToken;

use crate::{
    error::{Error, Result},
    failure::Failure,
    grounding::{Grounded, Unit, ground_all},
    input::{RefineInput, Request},
    placement,
    ports::Progress,
    run::FileRow,
    scope::{Outcome, Scope, Services},
    stage::trace_entry,
    stages::{LOAD, bbox_refine::NODE, load},
    words::Sheets,
};

const SETTING: &str = "FLYDOCS_BBOX_REFINE_TIMEOUT_S";

/// Grounds every leaf of a result and judges every box again.
pub(crate) async fn result(
    services: &Arc<Services>,
    input: RefineInput,
    progress: Arc<dyn Progress>,
    cancel: &CancellationToken,
) -> Result<ExtractionResult> {
    if cancel.is_cancelled() {
        return Err(Error::Cancelled);
    }
    let started_at = services.clock.now();
    progress.stage_started(NODE);
    let options = &services.options;
    let loading = Scope::open(LOAD, options.load_timeout, services, &progress, cancel);
    let declared = input.request.options.declared_media_type.as_deref();
    let rows = load::rows(&loading, input.files, declared).await?;
    let places = placement::of(&input.result, &rows)?;
    let scope = Scope::open(
        NODE,
        options.bbox_refine_timeout,
        services,
        &progress,
        cancel,
    );
    let units = units(
        &scope,
        &input.result.documents,
        &rows,
        &places,
        &input.request,
    );
    let outcomes = ground_all(&scope, units).await?;
    if outcomes.iter().any(|o| matches!(o, Outcome::Late)) {
        let seconds = options.bbox_refine_timeout.as_secs();
        return Err(Error::RefineTimeout {
            seconds,
            setting: SETTING,
        });
    }
    let mut result = input.result;
    let failures = apply(&mut result, outcomes)?;
    write_down(&mut result, failures, started_at, services.clock.now());
    if let Some(entry) = result.pipeline.trace.iter().find(|e| e.node == NODE) {
        progress.stage_finished(entry);
    }
    Ok(result)
}

fn units(
    scope: &Scope,
    documents: &[Document],
    rows: &[FileRow],
    places: &[usize],
    request: &Request,
) -> Vec<Unit> {
    let types = request.document_types.iter();
    let types: HashMap<_, _> = types
        .map(|t| (t.id.as_str(), Arc::new(t.clone())))
        .collect();
    let language = request.options.language_hint.clone();
    let units = documents.iter().zip(places).filter_map(|(document, row)| {
        let file = rows.get(*row)?;
        Some(Unit {
            sheets: Sheets::new(
                scope,
                &file.row,
                document.pages.clone(),
                language.as_deref(),
            ),
            groups: document.field_groups.clone(),
            document_type: types.get(document.type_id.as_str()).map(Arc::clone),
            language: language.clone(),
        })
    });
    units.collect()
}

/// Puts the grounded groups into their documents; an error when none of the pages asked for could be read.
fn apply(result: &mut ExtractionResult, outcomes: Vec<Outcome<Grounded>>) -> Result<Vec<Failure>> {
    let mut failures = Vec::new();
    let mut pages_read = 0;
    for (document, outcome) in result.documents.iter_mut().zip(outcomes) {
        match outcome {
            Outcome::Done(grounded) => {
                document.field_groups = grounded.groups;
                pages_read += grounded.pages_read;
                failures.extend(grounded.failures);
            }
            Outcome::Failed(failure) => failures.push(failure),
            Outcome::Late => {}
        }
    }
    match failures.first() {
        Some(first) if pages_read == 0 => Err(match first.code {
            ErrorCode::EngineError | ErrorCode::Internal => Error::Internal { node: NODE },
            code => Error::Words {
                code,
                detail: first.message.clone(),
            },
        }),
        _ => Ok(failures),
    }
}

fn write_down(
    result: &mut ExtractionResult,
    failures: Vec<Failure>,
    started_at: Timestamp,
    ended_at: Timestamp,
) {
    let pipeline = &mut result.pipeline;
    pipeline.errors.retain(|e| e.node != NODE);
    let status = if failures.is_empty() {
        TraceStatus::Success
    } else {
        TraceStatus::Failed
    };
    for failure in failures {
        let error = PipelineError {
            node: NODE.to_owned(),
            code: failure.code.as_str().to_owned(),
            message: failure.message,
        };
        let is_known =
            |known: &PipelineError| known.message == error.message && known.code == error.code;
        if !pipeline.errors.iter().any(is_known) {
            pipeline.errors.push(error);
        }
    }
    let entry = trace_entry(NODE, started_at, ended_at, status);
    match pipeline.trace.iter_mut().find(|e| e.node == NODE) {
        Some(old) => *old = entry,
        None => pipeline.trace.push(entry),
    }
    result.status = if pipeline.errors.is_empty() {
        ResultStatus::Success
    } else {
        ResultStatus::Partial
    };
}
