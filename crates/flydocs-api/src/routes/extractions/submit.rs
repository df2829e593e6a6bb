//! `POST /api/v1/extractions`: the files go to the blob store while they arrive; the row, its references and its
//! event are written in one transaction; then 202.

use std::time::Duration;

use axum::{
    Json,
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use flydocs_contract::{ErrorCode, ExtractRequest, Extraction};
use flydocs_store::{Correlation, NewExtraction, StoredFile, StoredRequest, Submitted};

use super::at;
use crate::{
    context::CallContext,
    decode::{self, Incoming},
    landing::InStore,
    problem::{Answer, Refusal},
    refusals::store_refusal,
    routes::{extract::refuse_invalid, text_header},
    state::Api,
};

const IDEMPOTENCY_KEY: &str = "idempotency-key";
const LONGEST_KEY: usize = 128;
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");
const LONGEST_WAIT: u64 = 300;

/// Accepts an extraction; a worker will do it.
#[utoipa::path(post, path = "/api/v1/extractions", tag = "extractions", operation_id = "submit",
    params(
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 128, description = "At most 128 characters: a later call with the same key and body gets the same extraction."),
        ("Prefer" = Option<String>, Header, description = "wait=N: hold the answer until it settled, at most N seconds.", example = "wait=10"),
        ("X-Tenant-Id" = Option<String>, Header, min_length = 1, max_length = 128, description = "Whose it is."),
        ("X-Correlation-Id" = Option<String>, Header, min_length = 1, max_length = 128, description = "Echoed, stored, and carried on every event and webhook."),
    ),
    request_body(content(
        (ExtractRequest = "application/json"),
        (crate::wire::MultipartBody = "multipart/form-data"))),
    responses(
        (status = 200, body = Extraction, description = "Prefer: wait was given and it settled in time."),
        (status = 202, body = Extraction, description = "Accepted, or accepted before under the same key.",
            headers(("Location" = String, description = "The extraction."), ("Idempotency-Replayed" = String, description = "true when the key was used before."))),
        (status = 401, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "unauthorized"),
        (status = 406, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "not_acceptable"),
        (status = 408, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "timeout: the body stopped arriving"),
        (status = 413, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "file_too_large, request_too_large"),
        (status = 415, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "unsupported_media_type"),
        (status = 422, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "invalid_base64, validation_failed, empty_file, idempotency_mismatch"),
                (status = 503, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "unavailable"),
    ))]
pub(crate) async fn submit(
    State(api): State<Api>,
    context: CallContext,
    request: Request,
) -> Answer<Response> {
    let key = idempotency_key(request.headers())?;
    let wait = preferred_wait(request.headers());
    let landing = InStore(std::sync::Arc::clone(&api.ports.store));
    let incoming = decode::read(request, &api.options.limits, &landing).await?;
    refuse_invalid(&api, &incoming.request)?;
    if let Some(empty) = incoming.files.iter().find(|file| file.bytes == 0) {
        return Err(Refusal::new(
            ErrorCode::EmptyFile,
            format!("{} has no bytes: export or fetch it again", empty.filename),
        )
        .with("filename", empty.filename.as_str()));
    }
    let new = new_extraction(&api, &context, key, incoming)?;
    let submitted = api
        .ports
        .store
        .submit(new)
        .await
        .map_err(|error| store_refusal(&error))?;
    let (row, replayed) = match submitted {
        Submitted::New(row) => (row, false),
        Submitted::Replayed(row) => (row, true),
        Submitted::Mismatch(row) => {
            return Err(Refusal::new(
                ErrorCode::IdempotencyMismatch,
                "this Idempotency-Key was used before with another body; use a new key",
            )
            .with("extraction_id", row.extraction.id.to_string()));
        }
        Submitted::TooMany { limit } => return Err(too_many(limit)),
    };
    let mut extraction = row.extraction;
    let mut status = StatusCode::ACCEPTED;
    if let Some(wait) = wait {
        extraction = settled_within(&api, &context, extraction, wait).await?;
        if extraction.status.is_terminal() {
            status = StatusCode::OK;
        }
    }
    let mut response = (
        status,
        [(header::LOCATION, at(extraction.id))],
        Json(extraction),
    )
        .into_response();
    if replayed {
        response
            .headers_mut()
            .insert(REPLAYED, HeaderValue::from_static("true"));
    }
    if let Some(wait) = wait
        && let Ok(applied) = HeaderValue::from_str(&format!("wait={}", wait.as_secs()))
    {
        response.headers_mut().insert(PREFERENCE_APPLIED, applied);
    }
    Ok(response)
}

fn idempotency_key(headers: &HeaderMap) -> Answer<Option<String>> {
    let Some(value) = headers.get(IDEMPOTENCY_KEY) else {
        return Ok(None);
    };
    let text = value.to_str().unwrap_or_default();
    if (1..=LONGEST_KEY).contains(&text.len()) {
        Ok(Some(text.to_owned()))
    } else {
        Err(Refusal::fault(
            "Idempotency-Key",
            format!("must be 1 to {LONGEST_KEY} visible ASCII characters"),
        ))
    }
}

fn preferred_wait(headers: &HeaderMap) -> Option<Duration> {
    let text = text_header(headers, "prefer")?;
    let seconds = text
        .split([',', ';'])
        .filter_map(|part| part.trim().strip_prefix("wait="))
        .find_map(|seconds| seconds.parse::<u64>().ok())?;
    Some(Duration::from_secs(seconds.min(LONGEST_WAIT)))
}

fn new_extraction(
    api: &Api,
    context: &CallContext,
    key: Option<String>,
    incoming: Incoming,
) -> Answer<NewExtraction> {
    let mut request = incoming.request;
    let callback_url = request.callback_url.take();
    let metadata = std::mem::take(&mut request.metadata);
    let files = incoming
        .files
        .into_iter()
        .map(|file| {
            let sha256 = file
                .sha256
                .parse()
                .map_err(|error: flydocs_store::blob::InvalidBlobId| Refusal::internal(&error))?;
            Ok(StoredFile {
                filename: file.filename,
                content_type: file.declared_media_type,
                expected_type: file.expected_type,
                sha256,
                bytes: file.bytes,
            })
        })
        .collect::<Answer<Vec<_>>>()?;
    Ok(NewExtraction {
        id: api.ports.mint.extraction_id(),
        tenant_id: context.tenant_id.clone(),
        idempotency_key: key,
        request_digest: incoming.digest,
        request: StoredRequest::new(request, files),
        callback_url,
        metadata,
        correlation: Correlation {
            correlation_id: Some(context.correlation_id.clone()),
            request_id: Some(context.request_id.clone()),
            traceparent: context.handed_on.clone().map(|trace| trace.traceparent),
            tracestate: context.handed_on.clone().and_then(|trace| trace.tracestate),
        },
    })
}

fn too_many(limit: u64) -> Refusal {
    Refusal::new(
        ErrorCode::TooManyRequests,
        format!("{limit} extractions are waiting already (FLYDOCS_MAX_QUEUED); ask again later"),
    )
    .with("setting", "FLYDOCS_MAX_QUEUED")
    .with("limit", limit)
    .header(header::RETRY_AFTER, HeaderValue::from_static("30"))
}

async fn settled_within(
    api: &Api,
    context: &CallContext,
    submitted: Extraction,
    wait: Duration,
) -> Answer<Extraction> {
    let deadline = tokio::time::Instant::now() + wait;
    let mut watch = api.ports.store.watch(submitted.id);
    let mut now = submitted;
    loop {
        let row = api
            .ports
            .store
            .get(now.id, context.scope())
            .await
            .map_err(|error| store_refusal(&error))?;
        match row {
            Some(row) => now = row.extraction,
            None => return Ok(now),
        }
        if now.status.is_terminal() {
            return Ok(now);
        }
        tokio::select! {
            () = watch.changed() => {}
            () = tokio::time::sleep_until(deadline) => return Ok(now),
            () = api.ports.shutdown.cancelled() => return Ok(now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preference_to_wait_is_read_among_others() {
        let wait = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("prefer", text.parse().unwrap());
            preferred_wait(&headers).map(|d| d.as_secs())
        };
        assert_eq!(wait("respond-async, wait=10"), Some(10));
        assert_eq!(wait("wait=100000"), Some(300));
        assert_eq!(wait("wait=soon"), None);
    }
}
