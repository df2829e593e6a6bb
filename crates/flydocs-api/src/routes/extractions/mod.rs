//! Everything under `/api/v1/extractions`, and what every one of its routes needs.

pub(crate) mod actions;
pub(crate) mod delete;
pub(crate) mod deliveries;
pub(crate) mod events;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod pages;
pub(crate) mod query;
pub(crate) mod result;
pub(crate) mod submit;

use axum::http::{HeaderValue, Method, header};
use flydocs_contract::ExtractionId;
use flydocs_store::Stored;

use crate::{
    context::CallContext,
    problem::{Answer, Refusal},
    refusals::store_refusal,
    routes::{is_action, not_known},
    state::Api,
};

/// 405 for an action that is asked for with another method than POST.
fn no_action(method: &Method, target: &str) -> Answer<()> {
    if is_action(target) {
        return Err(not_known(method, &format!("/api/v1/extractions/{target}"))
            .header(header::ALLOW, HeaderValue::from_static("POST")));
    }
    Ok(())
}

/// An id of the path; what is none is an extraction that is not there.
fn id_of(text: &str) -> Answer<ExtractionId> {
    text.parse().map_err(|_| Refusal::no_extraction(text))
}

/// The row as it stands, when it is there for this caller.
async fn row(api: &Api, context: &CallContext, id: ExtractionId) -> Answer<Stored> {
    api.ports
        .store
        .get(id, context.scope())
        .await
        .map_err(|error| store_refusal(&error))?
        .ok_or_else(|| Refusal::no_extraction(&id.to_string()))
}

fn at(id: ExtractionId) -> String {
    format!("/api/v1/extractions/{id}")
}
