//! `DELETE /api/v1/extractions/{id}`: cancels what is queued, and nothing else.

use axum::{
    Json,
    extract::{Path, State},
    http::Method,
};
use flydocs_contract::{ErrorCode, Extraction};

use super::{id_of, no_action, row};
use crate::{
    context::CallContext,
    problem::{Answer, Refusal},
    refusals::store_refusal,
    state::Api,
};

/// Cancels an extraction that is still queued.
#[utoipa::path(delete, path = "/api/v1/extractions/{id}", tag = "extractions", operation_id = "delete",
    params(("id" = String, Path, description = "The extraction.")),
    responses(
        (status = 200, body = Extraction, description = "It is cancelled."),
        (status = 401, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "unauthorized"),
        (status = 404, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "not_found"),
        (status = 406, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "not_acceptable"),
        (status = 409, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "not_cancellable; extensions are the Extraction"),
        (status = 503, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "unavailable"),
    ))]
pub(crate) async fn delete(
    State(api): State<Api>,
    context: CallContext,
    Path(id): Path<String>,
) -> Answer<Json<Extraction>> {
    no_action(&Method::DELETE, &id)?;
    let id = id_of(&id)?;
    let cancelled = api
        .ports
        .store
        .mark_cancelled(id, context.scope())
        .await
        .map_err(|error| store_refusal(&error))?;
    if let Some(cancelled) = cancelled {
        return Ok(Json(cancelled.extraction));
    }
    let now = row(&api, &context, id).await?.extraction;
    Err(Refusal::conflict(
        ErrorCode::NotCancellable,
        format!(
            "only a queued extraction can be deleted and this one is {}; POST {}:cancel stops a running one",
            now.status,
            super::at(id)
        ),
        &now,
    ))
}
