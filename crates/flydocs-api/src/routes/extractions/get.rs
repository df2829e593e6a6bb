//! `GET /api/v1/extractions/{id}`.

use axum::{
    Json,
    extract::{Path, State},
    http::Method,
};
use flydocs_contract::Extraction;

use super::{id_of, no_action, row};
use crate::{context::CallContext, problem::Answer, state::Api};

/// One extraction as it stands, without its result.
#[utoipa::path(get, path = "/api/v1/extractions/{id}", tag = "extractions", operation_id = "get",
    params(("id" = String, Path, description = "The extraction.")),
    responses(
        (status = 200, body = Extraction, description = "As it stands."),
        (status = 401, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "unauthorized"),
        (status = 404, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "not_found"),
        (status = 406, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "not_acceptable"),
        (status = 503, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "unavailable"),
    ))]
pub(crate) async fn get(
    State(api): State<Api>,
    context: CallContext,
    Path(id): Path<String>,
) -> Answer<Json<Extraction>> {
    no_action(&Method::GET, &id)?;
    let id = id_of(&id)?;
    Ok(Json(row(&api, &context, id).await?.extraction))
}
