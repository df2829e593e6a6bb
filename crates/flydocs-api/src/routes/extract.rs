//! `POST /api/v1/extract`: one request, one answer, within the synchronous ceiling.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Request, State},
};
use flydocs_contract::{
    ErrorCode, ExtractRequest,
    result::{ExtractionResult, ValidationResponse},
};
use flydocs_pages::Source;
use flydocs_pipeline::{Input, InputFile, Mode, Silent};
use tokio_util::sync::CancellationToken;

use crate::{
    decode::{self, InMemory, Incoming},
    problem::{Answer, Refusal},
    refusals::{pipeline_refusal, unknown_model},
    state::Api,
};

/// Extracts and answers with the result.
#[utoipa::path(post, path = "/api/v1/extract", tag = "extract", operation_id = "extract",
    request_body(content(
        (ExtractRequest = "application/json"),
        (crate::wire::MultipartBody = "multipart/form-data"))),
    responses(
        (status = 200, body = ExtractionResult, description = "The result, whole or partial."),
        (status = 401, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "unauthorized"),
        (status = 406, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "not_acceptable"),
        (status = 408, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "timeout"),
        (status = 413, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "file_too_large, request_too_large"),
        (status = 415, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "unsupported_file, unsupported_media_type"),
        (status = 422, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "invalid_base64, validation_failed, encrypted_pdf, corrupt_pdf, empty_file, limit_exceeded and the other refusals of a file"),
        (status = 503, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "An engine did not answer."),
    ))]
pub(crate) async fn extract(
    State(api): State<Api>,
    request: Request,
) -> Answer<Json<ExtractionResult>> {
    let incoming = decode::read(request, &api.options.limits, &InMemory).await?;
    refuse_invalid(&api, &incoming.request)?;
    let input = input(&api, incoming);
    let cancel = CancellationToken::new();
    // a caller that hangs up drops this future; the work on the blocking pool stops by the token
    let _stop = cancel.clone().drop_guard();
    let ceiling = api.options.sync_timeout;
    let run = async {
        let _slot = api
            .sync_slots
            .acquire()
            .await
            .map_err(|error| Refusal::internal(&error))?;
        api.ports
            .pipeline
            .run(input, Arc::new(Silent), &cancel)
            .await
            .map_err(|error| pipeline_refusal(&error))
    };
    match tokio::time::timeout(ceiling, run).await {
        Ok(result) => result.map(Json),
        Err(_) => Err(Refusal::new(
            ErrorCode::Timeout,
            format!(
                "the extraction took longer than {} s (FLYDOCS_SYNC_TIMEOUT_S); submit it to /api/v1/extractions instead",
                ceiling.as_secs_f64()
            ),
        )
        .with("timeout_s", ceiling.as_secs_f64())),
    }
}

/// What is refused before any work: semantic errors, a model nobody knows.
pub(super) fn refuse_invalid(api: &Api, request: &ExtractRequest) -> Answer<()> {
    let found: ValidationResponse = flydocs_pipeline::validate::request(request);
    if !found.ok {
        return Err(Refusal::validation_failed(&found));
    }
    let options = &request.options;
    if let Err(error) = api.ports.engines.engine(options.model.as_deref()) {
        return Err(unknown_model("options.model", &error));
    }
    if let Some(escalation) = &options.escalation
        && let Err(error) = api.ports.engines.engine(Some(&escalation.model))
    {
        return Err(unknown_model("options.escalation.model", &error));
    }
    Ok(())
}

fn input(api: &Api, incoming: Incoming) -> Input {
    let files = incoming
        .files
        .into_iter()
        .map(|file| InputFile {
            source: Source {
                filename: file.filename,
                content: file.content.unwrap_or_default(),
                declared_media_type: file.declared_media_type,
            },
            expected_type: file.expected_type,
        })
        .collect();
    Input {
        id: api.ports.mint.extraction_id(),
        request: (&incoming.request).into(),
        files,
        mode: Mode::Sync,
    }
}
