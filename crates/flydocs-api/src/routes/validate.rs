//! `POST /api/v1/extract:validate`: a dry run. No engine is asked, no row is written.

use async_trait::async_trait;
use axum::{
    Json,
    extract::{Request, State},
};
use bytes::Bytes;
use flydocs_contract::{ExtractRequest, result::ValidationResponse};

use crate::{
    decode::{self, Landing, Upload},
    problem::Answer,
    state::Api,
};

/// Says what is wrong with a request, without doing it.
#[utoipa::path(post, path = "/api/v1/extract:validate", tag = "extract", operation_id = "validate",
    request_body(content(
        (ExtractRequest = "application/json"),
        (crate::wire::MultipartBody = "multipart/form-data"))),
    responses(
        (status = 200, body = ValidationResponse, description = "The body parses; ok says whether it would be taken."),
        (status = 401, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "unauthorized"),
        (status = 406, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "not_acceptable"),
        (status = 408, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "timeout: the body stopped arriving"),
        (status = 413, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "file_too_large, request_too_large"),
        (status = 415, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "unsupported_media_type"),
        (status = 422, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "invalid_base64"),
    ))]
pub(crate) async fn validate(
    State(api): State<Api>,
    request: Request,
) -> Answer<Json<ValidationResponse>> {
    let incoming = decode::read(request, &api.options.limits, &Nowhere).await?;
    Ok(Json(flydocs_pipeline::validate::request(&incoming.request)))
}

/// Files are counted and limited, and not kept.
#[derive(Debug)]
struct Nowhere;

#[async_trait]
impl Landing for Nowhere {
    async fn open(&self) -> Answer<Box<dyn Upload>> {
        Ok(Box::new(Self))
    }
}

#[async_trait]
impl Upload for Nowhere {
    async fn write(&mut self, _chunk: Bytes) -> Answer<()> {
        Ok(())
    }

    async fn finish(self: Box<Self>, _sha256: &str, _bytes: u64) -> Answer<Option<Bytes>> {
        Ok(None)
    }
}
