//! `GET /api/v1/extractions/{id}/events`: server-sent events. `state` for every change (its id is the revision
//! of the row, so `Last-Event-ID` resumes), `progress` while a worker is at it, `settled` at the end.

use std::{collections::VecDeque, convert::Infallible, time::Duration};

use axum::{
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use flydocs_contract::ExtractionId;
use flydocs_store::{Progress, Watch};
use futures::stream;

use super::{id_of, row};
use crate::{
    context::CallContext,
    negotiate::accepts,
    problem::{Answer, Refusal},
    refusals::store_refusal,
    routes::text_header,
    state::Api,
    wire::{StageProgress, StateChange},
};

const QUIET: Duration = Duration::from_secs(15);

/// What happens to an extraction, while it happens.
#[utoipa::path(get, path = "/api/v1/extractions/{id}/events", tag = "extractions", operation_id = "events",
    params(
        ("id" = String, Path, description = "The extraction."),
        ("Last-Event-ID" = Option<u64>, Header, description = "Only what came after that event."),
    ),
    responses(
        (status = 200, body = String, content_type = "text/event-stream", description = "Events state (StateChange), progress (StageProgress) and, as the last, settled (Extraction)."),
        (status = 204, description = "It is settled and everything was told before."),
        (status = 401, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "unauthorized"),
        (status = 404, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "not_found"),
        (status = 406, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "not_acceptable"),
        (status = 503, body = flydocs_contract::Problem, content_type = "application/problem+json", description = "unavailable"),
    ))]
pub(crate) async fn events(
    State(api): State<Api>,
    context: CallContext,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Answer<Response> {
    accepts(&headers, &["text/event-stream"])?;
    let id = id_of(&id)?;
    let told = match text_header(&headers, "last-event-id") {
        None => 0,
        // a revision is a number of the database, which knows no larger ones
        Some(text) => text
            .trim()
            .parse()
            .ok()
            .filter(|id| *id <= i64::MAX.unsigned_abs())
            .ok_or_else(|| {
                Refusal::fault(
                    "Last-Event-ID",
                    "must be the id of an event of this extraction",
                )
            })?,
    };
    let watch = api.ports.store.watch(id);
    let now = row(&api, &context, id).await?;
    if now.is_settled() && told >= now.revision {
        // tells an EventSource not to come back
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let teller = Teller {
        api,
        context,
        id,
        watch,
        told,
        progress: None,
        waiting: VecDeque::new(),
        first: true,
        ended: false,
    };
    let events = stream::unfold(teller, |mut teller| async move {
        let event = teller.next().await?;
        Some((Ok::<_, Infallible>(event), teller))
    });
    Ok(Sse::new(events)
        .keep_alive(KeepAlive::new().interval(QUIET))
        .into_response())
}

struct Teller {
    api: Api,
    context: CallContext,
    id: ExtractionId,
    watch: Watch,
    told: u64,
    progress: Option<Progress>,
    waiting: VecDeque<Event>,
    first: bool,
    ended: bool,
}

impl Teller {
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(event);
            }
            if self.ended {
                return None;
            }
            if !std::mem::take(&mut self.first) {
                tokio::select! {
                    () = self.watch.changed() => {}
                    () = self.api.ports.shutdown.cancelled() => return None,
                }
            }
            if let Err(refusal) = self.look().await {
                // the stream began with 200: it can only end, and its reader come back
                tracing::debug!(code = refusal.code(), "a stream of events ends");
                return None;
            }
        }
    }

    async fn look(&mut self) -> Answer<()> {
        let now = row(&self.api, &self.context, self.id).await?;
        let moments = self
            .api
            .ports
            .store
            .history(self.id, self.context.scope(), self.told)
            .await
            .map_err(|error| store_refusal(&error))?;
        for moment in moments {
            self.told = self.told.max(moment.revision);
            let change = StateChange {
                status: moment.status,
                bbox_refinement: moment.leg_status,
                attempts: moment.attempts,
                at: moment.at,
                error: moment.error,
            };
            self.waiting
                .push_back(event("state", moment.revision, &change)?);
        }
        if now.progress != self.progress {
            self.progress.clone_from(&now.progress);
            if let Some(at) = now.progress.as_ref() {
                let progress = StageProgress {
                    stage: at.stage.clone(),
                    pages_done: at.pages_done,
                    pages_total: at.pages_total,
                };
                self.waiting
                    .push_back(event("progress", self.told, &progress)?);
            }
        }
        if now.is_settled() {
            self.told = self.told.max(now.revision);
            self.waiting
                .push_back(event("settled", self.told, &now.extraction)?);
            self.ended = true;
        }
        Ok(())
    }
}

fn event<T: serde::Serialize>(name: &str, id: u64, data: &T) -> Answer<Event> {
    Event::default()
        .event(name)
        .id(id.to_string())
        .json_data(data)
        .map_err(|error| Refusal::internal(&error))
}
