//! What every service stands on: the store, the bus, and the metrics of the process.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use etcetera::BaseStrategy as _;
use flydocs_bus::{
    Bus,
    adapters::{memory::MemoryBus, postgres::PostgresBus, sqlite::SqliteBus},
    relay::RelayLock,
};
use flydocs_contract::ErrorCode;
use flydocs_store::Store;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

use super::broker;
use crate::{
    exit::Exit,
    failure::Failure,
    settings::{EdaAdapter, Settings},
};

/// Drain, claims and settlements need two or three connections however many handlers run.
const BUS_CONNECTIONS: u32 = 4;

/// Store, bus and metrics, open.
#[derive(Clone)]
pub(crate) struct Foundation {
    /// The tables.
    pub store: Arc<dyn Store>,
    /// The bus.
    pub bus: Arc<dyn Bus>,
    /// The metrics of the process.
    pub metrics: PrometheusHandle,
}

impl Foundation {
    /// Opens all of it, the schema up to date.
    pub(crate) async fn open(settings: &Settings) -> Result<Self, Failure> {
        let (store, bus) = store_and_bus(settings).await?;
        let woken = Arc::clone(&bus);
        store.on_published(Arc::new(move |destination| woken.wake(destination)));
        let metrics = PrometheusBuilder::new()
            .set_buckets(&[
                0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
                300.0,
            ])
            .and_then(PrometheusBuilder::install_recorder)
            .map_err(|error| anyhow::Error::new(error).context("the metrics cannot be kept"))?;
        Ok(Self {
            store,
            bus,
            metrics,
        })
    }
}

/// Opens the store, brings its schema up to date (the bus's with it), and opens the bus of the settings beside it.
async fn store_and_bus(settings: &Settings) -> Result<(Arc<dyn Store>, Arc<dyn Bus>), Failure> {
    let url = database_url(settings)?;
    if settings.on_postgres() {
        let store = store(settings).await?;
        let bus = postgres_bus(settings, &url, store.as_ref()).await?;
        return Ok((store, bus));
    }
    let database = flydocs_bus::sqlite::open(&embedded_path(&url)?)
        .await
        .map_err(|error| unreachable(&error))?;
    let store = flydocs_store::open_beside_bus(database.clone(), settings.store())
        .map_err(|error| store_failure(&error))?;
    store
        .migrate()
        .await
        .map_err(|error| store_failure(&error))?;
    let bus = embedded_bus(settings, database)?;
    Ok((store, bus))
}

/// The same with whatever schema is there, for an operator who only looks. Nothing is made.
pub(crate) async fn store_and_bus_as_they_are(
    settings: &Settings,
) -> Result<(Arc<dyn Store>, Arc<dyn Bus>), Failure> {
    let url = database_url(settings)?;
    if settings.on_postgres() {
        let store = flydocs_store::open(&url, settings.store())
            .await
            .map_err(|error| store_failure(&error))?;
        let bus = postgres_bus(settings, &url, store.as_ref()).await?;
        return Ok((store, bus));
    }
    let path = embedded_path(&url)?;
    if !path.is_file() {
        return Err(Failure::new(
            ErrorCode::Unavailable,
            format!(
                "{}: there is no database; name it with --database-url or FLYDOCS_DATABASE_URL",
                path.display()
            ),
            Exit::Unreachable,
        ));
    }
    let database = flydocs_bus::sqlite::open(&path)
        .await
        .map_err(|error| unreachable(&error))?;
    let store = flydocs_store::open_beside_bus(database.clone(), settings.store())
        .map_err(|error| store_failure(&error))?;
    let lock = RelayLock::sqlite(&database);
    let bus =
        SqliteBus::new(database, broker::options(settings)).map_err(|error| unreachable(&error))?;
    Ok((store, broker::around(settings, Arc::new(bus), lock)?))
}

fn embedded_path(url: &str) -> Result<PathBuf, Failure> {
    flydocs_store::sqlite_path(url).ok_or_else(|| {
        Failure::new(
            ErrorCode::InvalidSetting,
            "FLYDOCS_DATABASE_URL must be sqlite://path for this FLYDOCS_EDA_ADAPTER",
            Exit::Settings,
        )
    })
}

fn embedded_bus(
    settings: &Settings,
    database: flydocs_bus::sqlite::Database,
) -> Result<Arc<dyn Bus>, Failure> {
    let options = broker::options(settings);
    if settings.adapter() == EdaAdapter::Memory {
        let bus = MemoryBus::new(database, options).map_err(|error| unreachable(&error))?;
        return Ok(Arc::new(bus));
    }
    let lock = RelayLock::sqlite(&database);
    let bus = SqliteBus::new(database, options).map_err(|error| unreachable(&error))?;
    broker::around(settings, Arc::new(bus), lock)
}

/// Behind a pooler that keeps no sessions, which the store has found out, there is no LISTEN and no statement keeps
/// its name.
async fn postgres_bus(
    settings: &Settings,
    url: &str,
    store: &dyn Store,
) -> Result<Arc<dyn Bus>, Failure> {
    let direct: PgConnectOptions = url
        .parse()
        .map_err(|error: sqlx::Error| unreachable(&error))?;
    let health = store
        .health()
        .await
        .map_err(|error| store_failure(&error))?;
    let behind_pooler = !health.watches_workers;
    let connect = if behind_pooler {
        direct.clone().statement_cache_capacity(0)
    } else {
        direct.clone()
    };
    let pool = PgPoolOptions::new()
        .max_connections(BUS_CONNECTIONS)
        .connect_with(connect)
        .await
        .map_err(|error| unreachable(&error))?;
    let options = broker::options(settings);
    if behind_pooler {
        let bus = PostgresBus::behind_pooler(pool, None, options);
        return broker::around(settings, Arc::new(bus), RelayLock::behind_pooler());
    }
    let lock = RelayLock::postgres(direct.clone());
    let bus = PostgresBus::new(pool, Some(direct), options);
    broker::around(settings, Arc::new(bus), lock)
}

/// Opens the store and brings its schema up to date; several processes may do so at once.
pub(crate) async fn store(settings: &Settings) -> Result<Arc<dyn Store>, Failure> {
    let url = database_url(settings)?;
    let store = flydocs_store::open(&url, settings.store())
        .await
        .map_err(|error| store_failure(&error))?;
    store
        .migrate()
        .await
        .map_err(|error| store_failure(&error))?;
    Ok(store)
}

/// The database of the settings, else the file in the data directory, which is made.
fn database_url(settings: &Settings) -> Result<String, Failure> {
    if let Some(url) = &settings.database_url {
        in_a_folder(&url.0)?;
        return Ok(url.0.clone());
    }
    let dir = data_dir(settings)?;
    std::fs::create_dir_all(&dir).map_err(|error| {
        Failure::new(
            ErrorCode::InvalidSetting,
            format!(
                "{}: the data directory cannot be made: {error}; set FLYDOCS_DATA_DIR",
                dir.display()
            ),
            Exit::Settings,
        )
    })?;
    Ok(format!("sqlite://{}", dir.join("flydocs.db").display()))
}

/// A folder that somebody named is not made: a slip of the pen would become an empty database.
fn in_a_folder(url: &str) -> Result<(), Failure> {
    let path = flydocs_store::sqlite_path(url);
    let folder = path
        .as_deref()
        .and_then(Path::parent)
        .filter(|folder| !folder.as_os_str().is_empty());
    match folder {
        Some(folder) if !folder.is_dir() => Err(Failure::new(
            ErrorCode::InvalidSetting,
            format!(
                "{}: there is no such folder for the database; make it, or check FLYDOCS_DATABASE_URL (--database-url)",
                folder.display()
            ),
            Exit::Settings,
        )),
        _ => Ok(()),
    }
}

/// Where the embedded store lies.
fn data_dir(settings: &Settings) -> Result<PathBuf, Failure> {
    settings
        .data_dir
        .clone()
        .or_else(|| {
            Some(
                etcetera::choose_base_strategy()
                    .ok()?
                    .data_dir()
                    .join("flydocs"),
            )
        })
        .ok_or_else(|| {
            Failure::new(
                ErrorCode::InvalidSetting,
                "this user has no data directory; set FLYDOCS_DATA_DIR or FLYDOCS_DATABASE_URL",
                Exit::Settings,
            )
        })
}

/// A failure of the store in a sentence.
pub(crate) fn store_failure(error: &flydocs_store::Error) -> Failure {
    let (code, exit) = match error {
        flydocs_store::Error::NetworkFileSystem { .. } => {
            (ErrorCode::NetworkFileSystem, Exit::Settings)
        }
        flydocs_store::Error::UnsupportedUrl { .. } | flydocs_store::Error::Settings(_) => {
            (ErrorCode::InvalidSetting, Exit::Settings)
        }
        _ => (ErrorCode::Unavailable, Exit::Unreachable),
    };
    Failure::new(code, chain(error), exit)
}

/// What cannot be reached, in a sentence.
pub(crate) fn unreachable(error: &(dyn std::error::Error + 'static)) -> Failure {
    Failure::new(ErrorCode::Unavailable, chain(error), Exit::Unreachable)
}

/// An error and everything under it.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut under = error.source();
    while let Some(error) = under {
        text.push_str(": ");
        text.push_str(&error.to_string());
        under = error.source();
    }
    text
}
