//! `up`, `serve`, `worker`, `bbox-worker`, `migrate`: the services, put together by role.

use std::{sync::Arc, time::Duration};

use flydocs_api::{Api, Ports, SystemMint};
use flydocs_contract::ErrorCode;
use flydocs_pipeline::SystemClock;
use flydocs_workers::{Render, Services, Siblings, SystemChance, SystemResolver};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::{
    Outcome,
    exit::Exit,
    failure::Failure,
    output::{Out, Say},
    roles::{self, Foundation, Role, shutdown},
    settings::{EdaAdapter, Settings},
};

/// How often the metrics forget what is over its time.
const UPKEEP: Duration = Duration::from_secs(5);

/// Runs a role until a signal.
pub(super) async fn run(role: Role, settings: Settings, say: Say, mut out: Out) -> Outcome {
    let shutdown = shutdown::token();
    if role == Role::Migrate {
        let store = roles::store(&settings).await?;
        store.close().await;
        out.line("the schema is up to date")?;
        return Ok(Exit::Done);
    }
    if settings.adapter() == EdaAdapter::Memory && role != Role::Up {
        return Err(Failure::new(
            ErrorCode::InvalidSetting,
            "FLYDOCS_EDA_ADAPTER=memory holds events in one process, so it goes with `flydocs up` alone",
            Exit::Settings,
        ));
    }
    let ground = Foundation::open(&settings).await?;
    let mut siblings = Siblings::new().with("metrics upkeep", {
        let metrics = ground.metrics.clone();
        move |end| async move {
            while end
                .run_until_cancelled(tokio::time::sleep(UPKEEP))
                .await
                .is_some()
            {
                metrics.run_upkeep();
            }
            Ok(())
        }
    });
    if let Some(relay) = ground.bus.relay() {
        siblings = siblings.with("relay", move |end| async move {
            let ended = relay.run(end).await;
            ended.map_err(|source| flydocs_workers::Error::Relay { source })
        });
    }
    if matches!(role, Role::Up | Role::Serve) {
        let listener = listen(&settings).await?;
        let address = listener
            .local_addr()
            .map_err(|error| anyhow::Error::new(error).context("the listener has no address"))?;
        siblings = with_api(siblings, &settings, &ground, listener, &shutdown).await?;
        out.line(&format!("http://{address}"))?;
        say.note(&format!(
            "flydocs is up at http://{address} (documentation at /docs)"
        ));
    }
    if matches!(role, Role::Up | Role::Worker) {
        siblings = with_worker(siblings, &settings, &ground, role).await?;
    }
    if matches!(role, Role::Up | Role::BboxWorker) {
        siblings = with_bbox_worker(siblings, &settings, &ground, role).await?;
    }
    let ended = siblings.run(shutdown).await;
    ground.store.close().await;
    match ended {
        Ok(()) => Ok(Exit::Done),
        Err(error) => Err(anyhow::Error::new(error).into()),
    }
}

async fn listen(settings: &Settings) -> Result<TcpListener, Failure> {
    let (host, port) = (settings.host.as_str(), settings.port);
    TcpListener::bind((host, port)).await.map_err(|error| {
        let what = if error.kind() == std::io::ErrorKind::AddrInUse {
            "another process listens there; choose another FLYDOCS_PORT (--port), or 0 for any free one".to_owned()
        } else {
            format!("{error}; see FLYDOCS_HOST and FLYDOCS_PORT")
        };
        Failure::new(
            ErrorCode::InvalidSetting,
            format!("cannot listen on {host}:{port}: {what}"),
            Exit::Settings,
        )
    })
}

async fn with_api(
    siblings: Siblings,
    settings: &Settings,
    ground: &Foundation,
    listener: TcpListener,
    shutdown: &CancellationToken,
) -> Result<Siblings, Failure> {
    let reader = roles::reader(settings);
    let engines = roles::engines(settings);
    let metrics = ground.metrics.clone();
    let ports = Ports {
        store: Arc::clone(&ground.store),
        bus: Arc::clone(&ground.bus),
        pipeline: roles::pipeline_on(Arc::clone(&reader), Arc::clone(&engines), settings),
        engines,
        reader,
        mint: Arc::new(SystemMint),
        metrics: Arc::new(move || metrics.render()),
        shutdown: shutdown.clone(),
    };
    let keys = roles::keys::keys(settings).await?;
    let api = Api::new(ports, settings.api(keys)?);
    let routes = flydocs_api::router(api.clone());
    let grace = settings.shutdown_grace;
    let siblings = siblings.with("http api", move |end| async move {
        flydocs_api::serve(listener, routes, end, grace).await;
        Ok(())
    });
    let settings = settings.clone();
    Ok(siblings.with("keys of callers", move |end| async move {
        roles::keys::follow(api, settings, end).await;
        Ok(())
    }))
}

async fn with_worker(
    siblings: Siblings,
    settings: &Settings,
    ground: &Foundation,
    role: Role,
) -> Result<Siblings, Failure> {
    let services = services(settings, ground);
    let options = settings.workers("worker");
    let health = health(settings, ground, role).await?;
    Ok(siblings.with("worker", move |end| {
        flydocs_workers::worker(services, options, health, end)
    }))
}

async fn with_bbox_worker(
    siblings: Siblings,
    settings: &Settings,
    ground: &Foundation,
    role: Role,
) -> Result<Siblings, Failure> {
    let services = services(settings, ground);
    let options = settings.workers("bbox-worker");
    let health = health(settings, ground, role).await?;
    Ok(siblings.with("bbox worker", move |end| {
        flydocs_workers::bbox_worker(services, options, health, end)
    }))
}

fn services(settings: &Settings, ground: &Foundation) -> Services {
    Services {
        store: Arc::clone(&ground.store),
        bus: Arc::clone(&ground.bus),
        work: Arc::new(roles::pipeline(settings)),
        clock: Arc::new(SystemClock),
        chance: Arc::new(SystemChance),
        resolver: Arc::new(SystemResolver),
    }
}

/// The health server of a worker process; in `up` the API answers for all.
async fn health(
    settings: &Settings,
    ground: &Foundation,
    role: Role,
) -> Result<Option<(TcpListener, Render)>, Failure> {
    let Some(address) = settings
        .health_address
        .as_deref()
        .filter(|_| role != Role::Up)
    else {
        return Ok(None);
    };
    let listener = TcpListener::bind(address).await.map_err(|error| {
        Failure::new(
            ErrorCode::InvalidSetting,
            format!("cannot listen on FLYDOCS_HEALTH_ADDRESS ({address}): {error}"),
            Exit::Settings,
        )
    })?;
    let metrics = ground.metrics.clone();
    Ok(Some((listener, Render::new(move || metrics.render()))))
}
