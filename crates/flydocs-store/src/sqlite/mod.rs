//! The embedded store: one SQLite file, one writer a process, several processes on one host.

mod changes;
mod liveness;
mod migrations;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use chrono::{Duration as Span, DurationRound as _, SubsecRound as _};
use flydocs_bus::{NewEvent, Published, sqlite::Database};
use flydocs_contract::{ExtractionId, Timestamp};
use sqlx::{AssertSqlSafe, Sqlite, Transaction};

use crate::{
    WorkerLiveness,
    change::Changes,
    dialect::{Arg, Bound, Dialect, FromAnyRow, Sql},
    error::{Error, Result},
};

/// One SQLite file. Clones share the connections.
#[derive(Debug, Clone)]
pub(crate) struct SqliteDatabase {
    file: Database,
    /// One lock file a worker, beside the database.
    workers: PathBuf,
    /// Looks for other processes' changes, for those who wait; ends with the last clone.
    watcher: Arc<changes::Watcher>,
}

impl SqliteDatabase {
    pub(crate) async fn open(path: &Path, changes: Changes) -> Result<Self> {
        refuse_network(path)?;
        if let Some(directory) = path.parent().filter(|d| !d.as_os_str().is_empty()) {
            tokio::fs::create_dir_all(directory)
                .await
                .map_err(failed("create", directory))?;
        }
        let file = flydocs_bus::sqlite::open(path)
            .await
            .map_err(|error| match error {
                flydocs_bus::Error::Open { source, .. } => Error::Database {
                    operation: "open the database file",
                    source,
                },
                other => Error::Outbox {
                    source: Box::new(other),
                },
            })?;
        Self::on(file, changes)
    }

    pub(crate) fn on(file: Database, changes: Changes) -> Result<Self> {
        refuse_network(&file.path)?;
        let watcher = changes::Watcher::start(file.reader.clone(), changes);
        Ok(Self {
            workers: beside(&file.path, ".workers"),
            file,
            watcher: Arc::new(watcher),
        })
    }
}

/// Over a network file system the locks of two hosts may not see each other.
fn refuse_network(path: &Path) -> Result<()> {
    match lockfn::network_filesystem(path).map_err(failed("look at", path))? {
        None => Ok(()),
        Some(filesystem) => Err(Error::NetworkFileSystem {
            path: path.to_owned(),
            filesystem: filesystem.to_owned(),
        }),
    }
}

fn failed(operation: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Error + use<> {
    let path = path.to_owned();
    move |source| Error::File {
        operation,
        path,
        source,
    }
}

/// `/data/flydocs.db` -> `/data/flydocs.db.workers`
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

macro_rules! bound {
    ($query:expr, $args:expr) => {{
        let mut query = $query;
        for arg in $args {
            query = match arg {
                Arg::Text(text) => query.bind(text),
                Arg::Int(n) => query.bind(n),
                Arg::OptionalInt(n) => query.bind(n),
                Arg::Real(n) => query.bind(n),
                Arg::Bytes(bytes) => query.bind(bytes),
            };
        }
        query
    }};
}

#[async_trait]
impl Dialect for SqliteDatabase {
    const NAME: &'static str = "sqlite";
    const TIME_CAST: &'static str = "";
    const CHAINS: bool = false;
    const KEEPS_TOTALS: bool = false;

    type Tx = Transaction<'static, Sqlite>;

    fn text(sql: &Sql) -> &'static str {
        sql.sqlite
    }

    async fn begin(&self) -> sqlx::Result<Self::Tx> {
        self.file.begin().await
    }

    async fn commit(tx: Self::Tx) -> sqlx::Result<()> {
        tx.commit().await
    }

    async fn rows<T: FromAnyRow>(
        tx: &mut Self::Tx,
        sql: &Sql,
        args: Vec<Arg>,
    ) -> sqlx::Result<Vec<T>> {
        bound!(sqlx::query_as::<_, T>(sql.sqlite), args)
            .fetch_all(&mut **tx)
            .await
    }

    async fn row<T: FromAnyRow>(
        tx: &mut Self::Tx,
        sql: &Sql,
        args: Vec<Arg>,
    ) -> sqlx::Result<Option<T>> {
        // To its end: an UPDATE .. RETURNING that is not stepped through is not done.
        Ok(Self::rows(tx, sql, args).await?.into_iter().next())
    }

    async fn execute(tx: &mut Self::Tx, sql: &Sql, args: Vec<Arg>) -> sqlx::Result<u64> {
        let done = bound!(sqlx::query(sql.sqlite), args)
            .execute(&mut **tx)
            .await?;
        Ok(done.rows_affected())
    }

    async fn read<T: FromAnyRow>(&self, sql: &Sql, args: Vec<Arg>) -> sqlx::Result<Vec<T>> {
        bound!(sqlx::query_as::<_, T>(sql.sqlite), args)
            .fetch_all(&self.file.reader)
            .await
    }

    async fn read_built<T: FromAnyRow>(&self, sql: String, args: Vec<Arg>) -> sqlx::Result<Vec<T>> {
        bound!(sqlx::query_as::<_, T>(AssertSqlSafe(sql)), args)
            .fetch_all(&self.file.reader)
            .await
    }

    async fn publish(tx: &mut Self::Tx, event: &NewEvent) -> flydocs_bus::Result<Published> {
        flydocs_bus::outbox::sqlite::publish(tx, event).await
    }

    async fn bury_dead_workers(&self, instance: Option<&str>) -> Result<Vec<String>> {
        self.bury(instance).await
    }

    /// Other processes see the commit itself.
    fn hint(&self, _id: ExtractionId) {}

    /// Other processes see the commit itself.
    fn hint_deliveries(&self) {}

    async fn migrate(&self) -> Result<()> {
        migrations::run(&self.file).await
    }

    async fn version(&self) -> sqlx::Result<String> {
        let (version,): (String,) = sqlx::query_as("SELECT 'SQLite ' || sqlite_version()")
            .fetch_one(&self.file.reader)
            .await?;
        Ok(version)
    }

    async fn register_worker(&self, name: &str) -> Result<WorkerLiveness> {
        self.register(name).await
    }

    async fn clear_after(&self, instance: &str) {
        self.remove_lock(instance).await;
    }

    fn watches_workers(&self) -> bool {
        true
    }

    async fn close(&self) {
        self.watcher.stop();
        self.file.close().await;
    }

    /// Stored times are whole milliseconds.
    fn time(time: Timestamp, bound: Bound) -> String {
        let millisecond = Span::milliseconds(1);
        let rounded = match bound {
            Bound::Last => time.duration_trunc(millisecond),
            Bound::First => time.duration_round_up(millisecond),
        };
        let rounded = rounded.unwrap_or_else(|_| time.trunc_subsecs(3));
        rounded.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
    }
}
