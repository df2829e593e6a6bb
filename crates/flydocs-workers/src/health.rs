//! The health server of a worker: liveness without the database, readiness with it, metrics as text.
//!
//! Liveness never depends on database or bus: an outage must not restart every worker.

use std::{fmt, sync::Arc, time::Duration};

use axum::{
    Json, Router,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use flydocs_bus::Bus;
use flydocs_store::Store;
use serde_json::{Value, json};
use tokio::{net::TcpListener, time::timeout};
use tokio_util::sync::CancellationToken;

use crate::error::{Error, Result};

/// How long a component may take to answer before it counts as down.
const ANSWER_WITHIN: Duration = Duration::from_secs(3);

/// Renders the metrics of the process as Prometheus text.
#[derive(Clone)]
pub struct Render(Arc<dyn Fn() -> String + Send + Sync>);

impl Render {
    /// From whatever holds the metrics.
    pub fn new(render: impl Fn() -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(render))
    }
}

impl fmt::Debug for Render {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Render(..)")
    }
}

/// Answers the probes under `/actuator`.
#[derive(Debug, Clone)]
pub struct HealthServer {
    store: Arc<dyn Store>,
    bus: Arc<dyn Bus>,
    render: Render,
}

impl HealthServer {
    /// A server that does not listen yet.
    pub fn new(store: Arc<dyn Store>, bus: Arc<dyn Bus>, render: Render) -> Self {
        Self { store, bus, render }
    }

    /// Answers on the listener until `shutdown` fires.
    pub async fn run(self, listener: TcpListener, shutdown: CancellationToken) -> Result<()> {
        let routes = Router::new()
            .route("/actuator/health", get(readiness))
            .route("/actuator/health/readiness", get(readiness))
            .route("/actuator/health/liveness", get(liveness))
            .route("/actuator/metrics", get(metrics))
            .with_state(self);
        axum::serve(listener, routes)
            .with_graceful_shutdown(async move { shutdown.cancelled().await })
            .await
            .map_err(|source| Error::HealthServer { source })
    }

    async fn database(&self) -> (bool, Value) {
        match timeout(ANSWER_WITHIN, self.store.health()).await {
            Ok(Ok(health)) => {
                let details = json!({
                    "database": health.database,
                    "version": health.version,
                    "watches_workers": health.watches_workers,
                    "more": health.details,
                });
                (true, details)
            }
            Ok(Err(error)) => (false, json!({"error": error.to_string()})),
            Err(_late) => (false, json!({"error": "no answer"})),
        }
    }

    async fn eda(&self) -> (bool, Value) {
        let adapter = self.bus.adapter();
        match timeout(ANSWER_WITHIN, self.bus.health()).await {
            Ok(health) => {
                let details = json!({
                    "adapter": adapter,
                    "wakes_by": health.wakes_by,
                    "detail": health.detail,
                });
                (health.up, details)
            }
            Err(_late) => (false, json!({"adapter": adapter, "error": "no answer"})),
        }
    }
}

async fn liveness() -> Json<Value> {
    Json(json!({"status": "UP", "components": {}}))
}

async fn readiness(State(server): State<HealthServer>) -> Response {
    let ((database_up, database), (eda_up, eda)) = tokio::join!(server.database(), server.eda());
    let is_up = database_up && eda_up;
    let word = |up| if up { "UP" } else { "DOWN" };
    let body = json!({
        "status": word(is_up),
        "components": {
            "database": {"status": word(database_up), "details": database},
            "eda": {"status": word(eda_up), "details": eda},
        },
    });
    let status = if is_up {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    (status, Json(body)).into_response()
}

async fn metrics(State(server): State<HealthServer>) -> Response {
    let text = (server.render.0)();
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
}
