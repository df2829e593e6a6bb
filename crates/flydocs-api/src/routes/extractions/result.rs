//! `GET /api/v1/extractions/{id}/result`: the stored result; on request, held until its boxes are settled.

use std::time::Duration;

use axum::{
    extract::{Path, RawQuery, State},
    http::header,
    response::{IntoResponse, Response},
};
use flydocs_contract::{ErrorCode, LegStatus, Status, result::ExtractionResultEnvelope};
use flydocs_store::Stored;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::{id_of, query::Query, row};
use crate::{
    context::CallContext,
    problem::{Answer, Refusal},
    refusals::store_refusal,
    state::Api,
};

/// How long before the caller's own time-out an answer leaves.
const MARGIN: Duration = Duration::from_secs(1);

/// The result, as soon as there is one.
#[utoipa::path(get, path = "/api/v1/extractions/{id}/result", tag = "extractions", operation_id = "result",
    params(
        ("id" = String, Path, description = "The extraction."),
        ("wait_for_bboxes" = Option<bool>, Query, description = "Hold the answer until the bbox_refinement settled."),
        ("wait_for_post_processing" = Option<bool>, Query, description = "The same by its other name."),
        ("timeout" = Option<f64>, Query, minimum = 0, maximum = 300, description = "At most so many seconds; 60 when absent."),
    ),
    responses(
        (status = 200, body = ExtractionResultEnvelope, description = "The result as it is stored."),
        (status = 401, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "unauthorized"),
        (status = 404, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "not_found"),
        (status = 406, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "not_acceptable"),
        (status = 409, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "not_ready; extensions are the Extraction"),
        (status = 503, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "unavailable"),
    ))]
pub(crate) async fn result(
    State(api): State<Api>,
    context: CallContext,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Answer<Response> {
    let id = id_of(&id)?;
    let mut query = Query::new(query.as_deref());
    let (bboxes, post_processing) = (
        query.flag("wait_for_bboxes"),
        query.flag("wait_for_post_processing"),
    );
    let timeout = query.seconds("timeout", 60, 300);
    query.finish()?;
    // the watch comes before the look, so that a change between the two is not missed
    let mut watch = (bboxes || post_processing).then(|| api.ports.store.watch(id));
    let deadline = Instant::now() + timeout.saturating_sub(MARGIN);
    loop {
        let now = row(&api, &context, id).await?;
        if now.extraction.status != Status::Succeeded {
            return Err(not_ready(&now));
        }
        let open = now.leg_status().is_some_and(|leg| !leg.is_terminal());
        if let Some(watch) = watch.as_mut().filter(|_| open) {
            tokio::select! {
                () = watch.changed() => continue,
                () = tokio::time::sleep_until(deadline) => {}
                () = api.ports.shutdown.cancelled() => {}
            }
        }
        break;
    }
    let text = api
        .ports
        .store
        .result(id, context.scope())
        .await
        .map_err(|error| store_refusal(&error))?
        .ok_or_else(|| Refusal::no_extraction(&id.to_string()))?;
    let envelope = Envelope {
        id,
        result: RawValue::from_string(text).map_err(|error| Refusal::internal(&error))?,
    };
    let body = serde_json::to_vec(&envelope).map_err(|error| Refusal::internal(&error))?;
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

/// `ExtractionResultEnvelope` around the stored text, which is not parsed to be sent.
#[derive(Serialize)]
struct Envelope {
    id: flydocs_contract::ExtractionId,
    result: Box<RawValue>,
}

fn not_ready(now: &Stored) -> Refusal {
    let extraction = &now.extraction;
    let detail = match extraction.status {
        Status::Queued | Status::Running => format!("it is {}; ask again later", extraction.status),
        Status::Failed => "it failed, so there will be no result; error says why".to_owned(),
        Status::Cancelled => "it was cancelled, so there will be no result".to_owned(),
        Status::Succeeded => match now.leg_status() {
            Some(LegStatus::Pending | LegStatus::Running) => "its boxes are not settled".to_owned(),
            _ => "its result is not stored".to_owned(),
        },
    };
    Refusal::conflict(ErrorCode::NotReady, detail, extraction)
}
