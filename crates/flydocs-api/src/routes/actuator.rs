//! Probes and metrics. Liveness asks nobody: an outage of the database must not restart every process.

use std::{collections::BTreeMap, time::Duration};

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use flydocs_contract::JsonObject;
use serde_json::json;

use crate::{
    state::Api,
    wire::{Component, Health, Up},
};

/// A component that does not answer in this time is down.
const PATIENCE: Duration = Duration::from_secs(3);

/// Everything.
#[utoipa::path(get, path = "/actuator/health", tag = "service", operation_id = "health", security(()),
    responses((status = 200, body = Health, description = "Every component is UP."),
        (status = 503, body = Health, description = "A component is DOWN.")))]
pub(crate) async fn health(State(api): State<Api>) -> Response {
    components(&api).await
}

/// Whether this process should go on living.
#[utoipa::path(get, path = "/actuator/health/liveness", tag = "service", operation_id = "liveness", security(()),
    responses((status = 200, body = Health, description = "The process answers.")))]
pub(crate) async fn liveness() -> Json<Health> {
    Json(Health {
        status: Up::Up,
        components: BTreeMap::new(),
    })
}

/// Whether this process should get requests.
#[utoipa::path(get, path = "/actuator/health/readiness", tag = "service", operation_id = "readiness", security(()),
    responses((status = 200, body = Health, description = "Database and bus answer."),
        (status = 503, body = Health, description = "Database or bus do not answer, or the process is ending.")))]
pub(crate) async fn readiness(State(api): State<Api>) -> Response {
    components(&api).await
}

/// Prometheus text.
#[utoipa::path(get, path = "/actuator/metrics", tag = "service", operation_id = "metrics", security(()),
    responses((status = 200, body = String, content_type = "text/plain", description = "Prometheus text.")))]
pub(crate) async fn metrics(State(api): State<Api>) -> Response {
    if let Ok(Ok(counts)) = tokio::time::timeout(PATIENCE, api.ports.store.counts()).await {
        for (name, value) in [
            ("flydocs_store_extractions_queued", counts.queued),
            ("flydocs_store_extractions_running", counts.running),
            ("flydocs_store_legs_pending", counts.legs_pending),
            ("flydocs_store_legs_running", counts.legs_running),
            (
                "flydocs_store_deliveries_pending",
                counts.deliveries_pending,
            ),
            (
                "flydocs_store_oldest_queued_seconds",
                counts.oldest_queued_s,
            ),
            ("flydocs_store_workers", counts.workers),
        ] {
            metrics::gauge!(name).set(value as f64);
        }
    }
    let text = (api.ports.metrics)();
    (
        [(
            header::CONTENT_TYPE,
            "text/plain; version=0.0.4; charset=utf-8",
        )],
        text,
    )
        .into_response()
}

async fn components(api: &Api) -> Response {
    let (database, eda) = tokio::join!(database(api), eda(api));
    let ending = api.ports.shutdown.is_cancelled();
    let all_up = database.status == Up::Up && eda.status == Up::Up && !ending;
    let mut components =
        BTreeMap::from([("database".to_owned(), database), ("eda".to_owned(), eda)]);
    if ending {
        let details = object(json!({"detail": "the process is ending"}));
        components.insert(
            "process".to_owned(),
            Component {
                status: Up::Down,
                details,
            },
        );
    }
    let (code, status) = if all_up {
        (StatusCode::OK, Up::Up)
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, Up::Down)
    };
    (code, Json(Health { status, components })).into_response()
}

async fn database(api: &Api) -> Component {
    match tokio::time::timeout(PATIENCE, api.ports.store.health()).await {
        Ok(Ok(health)) => {
            let mut details = object(json!({
                "adapter": health.database,
                "version": health.version,
                "watches_workers": health.watches_workers,
            }));
            for (key, value) in health.details {
                details.insert(key, value.into());
            }
            Component {
                status: Up::Up,
                details,
            }
        }
        Ok(Err(error)) => {
            tracing::warn!(%error, "the database is down");
            down("the database does not answer")
        }
        Err(_) => down("the database did not answer in time"),
    }
}

async fn eda(api: &Api) -> Component {
    let adapter = api.ports.bus.adapter();
    let Ok(health) = tokio::time::timeout(PATIENCE, api.ports.bus.health()).await else {
        let mut component = down("the bus did not answer in time");
        component
            .details
            .insert("adapter".to_owned(), adapter.into());
        return component;
    };
    let mut details = object(json!({"adapter": adapter, "wakes_by": health.wakes_by}));
    if let Some(detail) = health.detail {
        details.insert("detail".to_owned(), detail.into());
    }
    Component {
        status: if health.up { Up::Up } else { Up::Down },
        details,
    }
}

fn down(detail: &str) -> Component {
    Component {
        status: Up::Down,
        details: object(json!({"detail": detail})),
    }
}

fn object(value: serde_json::Value) -> JsonObject {
    match value {
        serde_json::Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}
