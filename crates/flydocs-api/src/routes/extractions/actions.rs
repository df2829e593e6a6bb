//! `POST /api/v1/extractions/{id}:cancel` and `:retry`.

use axum::{
    Json,
    extract::{OriginalUri, Path, State},
    http::{HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use flydocs_contract::{ErrorCode, Extraction};
use flydocs_store::{CancelRequested, Retried};

use super::{at, id_of};
use crate::{
    context::CallContext,
    problem::{Answer, Refusal},
    refusals::store_refusal,
    routes::not_known,
    state::Api,
};

/// Takes the action after the colon apart from the id.
pub(crate) async fn act(
    State(api): State<Api>,
    OriginalUri(uri): OriginalUri,
    context: CallContext,
    Path(target): Path<String>,
) -> Answer<Response> {
    match target.rsplit_once(':') {
        Some((id, "cancel")) => cancel(&api, &context, id).await,
        Some((id, "retry")) => retry(&api, &context, id).await,
        Some(_) => Err(Refusal::new(
            ErrorCode::NotFound,
            format!(
                "there is no route {}; an extraction knows :cancel and :retry",
                uri.path()
            ),
        )),
        None => Err(not_known(&Method::POST, uri.path())
            .header(header::ALLOW, HeaderValue::from_static("GET,HEAD,DELETE"))),
    }
}

/// Stops an extraction: a queued one at once, a running one as soon as its worker hears of it.
#[utoipa::path(post, path = "/api/v1/extractions/{id}:cancel", tag = "extractions", operation_id = "cancel",
    params(("id" = String, Path, description = "The extraction.")),
    responses(
        (status = 202, body = Extraction, description = "It is cancelled, or its worker is asked to stop."),
        (status = 401, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "unauthorized"),
        (status = 404, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "not_found"),
        (status = 406, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "not_acceptable"),
        (status = 409, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "not_cancellable; extensions are the Extraction"),
        (status = 503, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "unavailable"),
    ))]
pub(crate) async fn cancel(api: &Api, context: &CallContext, id: &str) -> Answer<Response> {
    let id = id_of(id)?;
    let asked = api
        .ports
        .store
        .request_cancel(id, context.scope())
        .await
        .map_err(|error| store_refusal(&error))?;
    match asked {
        CancelRequested::Cancelled(row) | CancelRequested::Requested(row) => {
            Ok((StatusCode::ACCEPTED, Json(row.extraction)).into_response())
        }
        CancelRequested::Refused(row) => Err(Refusal::conflict(
            ErrorCode::NotCancellable,
            format!("it is {} already", row.extraction.status),
            &row.extraction,
        )),
        CancelRequested::NotFound => Err(Refusal::no_extraction(&id.to_string())),
    }
}

/// Queues a failed or cancelled extraction again; its attempts start anew, its history is kept.
#[utoipa::path(post, path = "/api/v1/extractions/{id}:retry", tag = "extractions", operation_id = "retry",
    params(("id" = String, Path, description = "The extraction.")),
    responses(
        (status = 202, body = Extraction, description = "It is queued again.", headers(("Location" = String, description = "The extraction."))),
        (status = 401, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "unauthorized"),
        (status = 404, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "not_found"),
        (status = 406, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "not_acceptable"),
        (status = 409, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "not_retryable; extensions are the Extraction"),
        (status = 503, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "unavailable"),
    ))]
pub(crate) async fn retry(api: &Api, context: &CallContext, id: &str) -> Answer<Response> {
    let id = id_of(id)?;
    let retried = api
        .ports
        .store
        .retry(id, context.scope())
        .await
        .map_err(|error| store_refusal(&error))?;
    match retried {
        Retried::Queued(row) => Ok((
            StatusCode::ACCEPTED,
            [(header::LOCATION, at(id))],
            Json(row.extraction),
        )
            .into_response()),
        Retried::Refused(row) => Err(Refusal::conflict(
            ErrorCode::NotRetryable,
            format!(
                "only a failed or cancelled extraction can be retried and this one is {}",
                row.extraction.status
            ),
            &row.extraction,
        )),
        Retried::NotFound => Err(Refusal::no_extraction(&id.to_string())),
    }
}
