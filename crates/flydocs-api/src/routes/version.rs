//! `GET /api/v1/version`.

use axum::{Json, extract::State};

use crate::{state::Api, wire::Version};

/// What runs here.
#[utoipa::path(get, path = "/api/v1/version", tag = "service", operation_id = "version",
    responses((status = 200, body = Version, description = "What runs here.")))]
pub(crate) async fn version(State(api): State<Api>) -> Json<Version> {
    let options = &api.options;
    Json(Version {
        service: "flydocs",
        version: options.version.clone(),
        model: options.model.clone(),
        fallback_model: options.fallback_model.clone(),
        eda_adapter: options.eda_adapter.clone(),
    })
}
