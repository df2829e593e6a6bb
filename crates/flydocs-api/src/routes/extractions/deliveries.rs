//! The webhook log of an extraction, and one more attempt of an event.

use axum::{
    Json,
    extract::{OriginalUri, Path, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use flydocs_contract::ErrorCode;
use uuid::Uuid;

use super::id_of;
use crate::{
    context::CallContext,
    problem::{Answer, Refusal},
    refusals::store_refusal,
    state::Api,
    wire::{Delivery, DeliveryList},
};

/// What was delivered to the caller's own URL, and how it went.
#[utoipa::path(get, path = "/api/v1/extractions/{id}/deliveries", tag = "webhooks", operation_id = "deliveries",
    params(("id" = String, Path, description = "The extraction.")),
    responses(
        (status = 200, body = DeliveryList, description = "Every delivery with its attempts."),
        (status = 401, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "unauthorized"),
        (status = 404, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "not_found"),
        (status = 406, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "not_acceptable"),
        (status = 503, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "unavailable"),
    ))]
pub(crate) async fn deliveries(
    State(api): State<Api>,
    context: CallContext,
    Path(id): Path<String>,
) -> Answer<Json<DeliveryList>> {
    let id = id_of(&id)?;
    let found = api
        .ports
        .store
        .deliveries(id, context.scope())
        .await
        .map_err(|error| store_refusal(&error))?
        .ok_or_else(|| Refusal::no_extraction(&id.to_string()))?;
    Ok(Json(DeliveryList {
        items: found.into_iter().map(Delivery::from).collect(),
    }))
}

/// Takes the action after the colon apart from the id.
pub(crate) async fn act(
    State(api): State<Api>,
    OriginalUri(uri): OriginalUri,
    context: CallContext,
    Path(target): Path<String>,
) -> Answer<Response> {
    match target.rsplit_once(':') {
        Some((id, "redeliver")) => redeliver(&api, &context, id).await,
        _ => Err(Refusal::new(
            ErrorCode::NotFound,
            format!(
                "there is no route {}; a delivery knows :redeliver",
                uri.path()
            ),
        )),
    }
}

/// A new attempt of the same event: the same bytes, the same id.
#[utoipa::path(post, path = "/api/v1/deliveries/{id}:redeliver", tag = "webhooks", operation_id = "redeliver",
    params(("id" = String, Path, description = "The delivery, which is the event's id.")),
    responses(
        (status = 202, body = Delivery, description = "It is due at once."),
        (status = 401, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "unauthorized"),
        (status = 404, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "not_found"),
        (status = 406, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "not_acceptable"),
        (status = 503, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "unavailable"),
    ))]
pub(crate) async fn redeliver(api: &Api, context: &CallContext, id: &str) -> Answer<Response> {
    let none = || {
        let shown: String = id.chars().take(64).collect();
        Refusal::new(
            ErrorCode::NotFound,
            format!(
                "there is no delivery {shown}; GET /api/v1/extractions/<id>/deliveries lists them"
            ),
        )
        .with("delivery_id", shown)
    };
    let event_id: Uuid = id.parse().map_err(|_| none())?;
    let again = api
        .ports
        .store
        .redeliver(event_id, context.scope())
        .await
        .map_err(|error| store_refusal(&error))?
        .ok_or_else(none)?;
    Ok((StatusCode::ACCEPTED, Json(Delivery::from(again))).into_response())
}
