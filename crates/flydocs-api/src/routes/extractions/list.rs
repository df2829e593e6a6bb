//! `GET /api/v1/extractions`: newest first, filtered; documents and results are never loaded.

use axum::{
    Json,
    extract::{RawQuery, State},
};
use flydocs_contract::{LegStatus, Status, status::ExtractionList};
use flydocs_store::Filter;

use super::query::Query;
use crate::{context::CallContext, problem::Answer, refusals::store_refusal, state::Api};

/// One page of the extractions that match every filter.
#[utoipa::path(get, path = "/api/v1/extractions", tag = "extractions", operation_id = "list",
    params(
        ("status" = Option<Vec<Status>>, Query, style = Form, explode = false, description = "Any of these, between commas."),
        ("post_processing_status" = Option<Vec<LegStatus>>, Query, style = Form, explode = false, description = "A bbox_refinement in any of these, between commas."),
        ("idempotency_key" = Option<String>, Query, description = "Exactly this key."),
        ("created_after" = Option<String>, Query, format = DateTime, description = "Submitted then or later."),
        ("created_before" = Option<String>, Query, format = DateTime, description = "Submitted then or earlier."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 500, description = "50 when absent."),
        ("offset" = Option<u64>, Query, minimum = 0, description = "How many to pass over; 0 when absent."),
    ),
    responses(
        (status = 200, body = ExtractionList, description = "The page, and how many match."),
        (status = 401, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "unauthorized"),
        (status = 406, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "not_acceptable"),
        (status = 503, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "unavailable"),
    ))]
pub(crate) async fn list(
    State(api): State<Api>,
    context: CallContext,
    RawQuery(query): RawQuery,
) -> Answer<Json<ExtractionList>> {
    let mut query = Query::new(query.as_deref());
    let limit = u32::try_from(query.number("limit", 50, 1, 500)).unwrap_or(50);
    let filter = Filter {
        tenant_id: context.bound_to.clone(),
        status: query.words("status"),
        post_processing_status: query.words("post_processing_status"),
        idempotency_key: query.text("idempotency_key"),
        created_after: query.time("created_after"),
        created_before: query.time("created_before"),
        limit,
        offset: query.number("offset", 0, 0, i64::MAX.unsigned_abs()),
    };
    query.finish()?;
    let listed = api
        .ports
        .store
        .list(&filter)
        .await
        .map_err(|error| store_refusal(&error))?;
    Ok(Json(ExtractionList {
        items: listed.items,
        total: listed.total,
        limit: filter.limit,
        offset: filter.offset,
    }))
}
