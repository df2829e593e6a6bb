//! The two processes of this room: which services each bundles.

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::{
    bbox::BboxWorker,
    error::Result,
    extraction::ExtractionWorker,
    health::{HealthServer, Render},
    options::Options,
    ports::Services,
    reaper::Reaper,
    retention::Retention,
    siblings::Siblings,
    webhooks::Deliverer,
};

/// `flydocs worker`: extraction worker, ExtractionReaper, webhook deliverer, retention and, with a listener, the
/// health server. Returns when `shutdown` fired and all have ended, or with the error of the first that failed.
pub async fn worker(
    services: Services,
    options: Options,
    health: Option<(TcpListener, Render)>,
    shutdown: CancellationToken,
) -> Result<()> {
    let worker = ExtractionWorker::new(services.clone(), options.clone());
    let reaper = Reaper::of_extractions(services.store.clone(), options.clone());
    let retention = Retention::new(
        services.store.clone(),
        services.bus.clone(),
        options.clone(),
    );
    let siblings = Siblings::new()
        .with("extraction worker", |end| worker.run(end))
        .with("extraction reaper", |end| reaper.run(end))
        .with("retention", |end| retention.run(end));
    beside(siblings, services, options, health)?
        .run(shutdown)
        .await
}

/// `flydocs bbox-worker`: bbox worker, BboxReaper, webhook deliverer and, with a listener, the health server.
pub async fn bbox_worker(
    services: Services,
    options: Options,
    health: Option<(TcpListener, Render)>,
    shutdown: CancellationToken,
) -> Result<()> {
    let worker = BboxWorker::new(services.clone(), options.clone());
    let reaper = Reaper::of_bboxes(services.store.clone(), options.clone());
    let siblings = Siblings::new()
        .with("bbox worker", |end| worker.run(end))
        .with("bbox reaper", |end| reaper.run(end));
    beside(siblings, services, options, health)?
        .run(shutdown)
        .await
}

/// What every worker process has beside its own work.
fn beside(
    siblings: Siblings,
    services: Services,
    options: Options,
    health: Option<(TcpListener, Render)>,
) -> Result<Siblings> {
    let server = health.map(|(listener, render)| {
        let server = HealthServer::new(services.store.clone(), services.bus.clone(), render);
        (server, listener)
    });
    let deliverer = Deliverer::new(services, options)?;
    let siblings = siblings.with("webhook deliverer", |end| deliverer.run(end));
    Ok(match server {
        Some((server, listener)) => siblings.with("health server", |end| server.run(listener, end)),
        None => siblings,
    })
}
