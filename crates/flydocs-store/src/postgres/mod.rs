//! PostgreSQL: many processes over one database, directly or through a pooler that keeps no sessions.

mod changes;
mod liveness;
mod migrations;
mod pooler;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use chrono::{Duration as Span, DurationRound as _};
use flydocs_bus::{NewEvent, Published};
use flydocs_contract::{ExtractionId, Timestamp};
use sqlx::{
    AssertSqlSafe, PgPool, Postgres, Transaction,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use crate::{
    WorkerLiveness,
    change::Changes,
    dialect::{Arg, Bound, Dialect, FromAnyRow, Sql},
    error::{During as _, Result},
    options::Options,
};

/// One PostgreSQL database. Clones share the connections.
#[derive(Debug, Clone)]
pub(crate) struct PostgresDatabase {
    pool: PgPool,
    connect: PgConnectOptions,
    /// A pooler hands out another session for each transaction: no session locks, no LISTEN.
    pooled: bool,
    /// How many broken connections the pool may hold after a restart of the server.
    connections: u32,
    watcher: Arc<changes::Watcher>,
}

impl PostgresDatabase {
    pub(crate) async fn open(url: &str, options: &Options, changes: Changes) -> Result<Self> {
        let connect: PgConnectOptions = url.parse().during("read the database URL")?;
        let connect = connect.application_name("flydocs");
        let pooled = pooler::hands_out_sessions(&connect, options.acquire_timeout)
            .await
            .during("connect to the database")?;
        let connect = if pooled {
            connect.statement_cache_capacity(0)
        } else {
            connect
        };
        let pool = PgPoolOptions::new()
            .max_connections(options.max_connections)
            .acquire_timeout(options.acquire_timeout)
            // A ping before each use costs more than a retry after a restart.
            .test_before_acquire(false)
            .connect_with(connect.clone())
            .await
            .during("connect to the database")?;
        let watcher = changes::Watcher::start(pool.clone(), connect.clone(), pooled, changes);
        Ok(Self {
            pool,
            connect,
            pooled,
            connections: options.max_connections,
            watcher: Arc::new(watcher),
        })
    }

    /// A transaction on a connection that works: those a restart broke are thrown away.
    async fn working_transaction(&self) -> sqlx::Result<PgTx> {
        let mut broken = 0;
        loop {
            match self.pool.begin().await {
                Err(error) if is_broken(&error) && broken < self.connections => broken += 1,
                begun => {
                    return Ok(PgTx {
                        inner: begun?,
                        named: !self.pooled,
                    });
                }
            }
        }
    }
}

/// An open transaction, and whether the server may keep its statements by name.
pub(crate) struct PgTx {
    inner: Transaction<'static, Postgres>,
    /// Behind a pooler the next transaction meets another session, where a name means nothing.
    named: bool,
}

/// The connection is gone; nothing was done with it.
fn is_broken(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) => true,
        sqlx::Error::Database(e) => e
            .code()
            .is_some_and(|code| matches!(code.as_ref(), "57P01" | "57P02" | "08006")),
        _ => false,
    }
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
impl Dialect for PostgresDatabase {
    const NAME: &'static str = "postgres";
    const TIME_CAST: &'static str = "::timestamptz";
    const CHAINS: bool = true;
    const KEEPS_TOTALS: bool = true;

    type Tx = PgTx;

    fn text(sql: &Sql) -> &'static str {
        sql.postgres
    }

    async fn begin(&self) -> sqlx::Result<Self::Tx> {
        self.working_transaction().await
    }

    async fn commit(tx: Self::Tx) -> sqlx::Result<()> {
        tx.inner.commit().await
    }

    async fn rows<T: FromAnyRow>(
        tx: &mut Self::Tx,
        sql: &Sql,
        args: Vec<Arg>,
    ) -> sqlx::Result<Vec<T>> {
        bound!(
            sqlx::query_as::<_, T>(sql.postgres).persistent(tx.named),
            args
        )
        .fetch_all(&mut *tx.inner)
        .await
    }

    async fn row<T: FromAnyRow>(
        tx: &mut Self::Tx,
        sql: &Sql,
        args: Vec<Arg>,
    ) -> sqlx::Result<Option<T>> {
        bound!(
            sqlx::query_as::<_, T>(sql.postgres).persistent(tx.named),
            args
        )
        .fetch_optional(&mut *tx.inner)
        .await
    }

    async fn execute(tx: &mut Self::Tx, sql: &Sql, args: Vec<Arg>) -> sqlx::Result<u64> {
        let done = bound!(sqlx::query(sql.postgres).persistent(tx.named), args)
            .execute(&mut *tx.inner)
            .await?;
        Ok(done.rows_affected())
    }

    async fn read<T: FromAnyRow>(&self, sql: &Sql, args: Vec<Arg>) -> sqlx::Result<Vec<T>> {
        if self.pooled {
            // Parse and execute must meet the same session.
            let mut tx = self.working_transaction().await?;
            let rows = Self::rows(&mut tx, sql, args).await?;
            tx.inner.commit().await?;
            return Ok(rows);
        }
        let mut broken = 0;
        loop {
            let query = bound!(sqlx::query_as::<_, T>(sql.postgres), args.clone());
            match query.fetch_all(&self.pool).await {
                Err(error) if is_broken(&error) && broken < self.connections => broken += 1,
                rows => return rows,
            }
        }
    }

    async fn read_built<T: FromAnyRow>(&self, sql: String, args: Vec<Arg>) -> sqlx::Result<Vec<T>> {
        let mut tx = self.working_transaction().await?;
        let query = bound!(
            sqlx::query_as::<_, T>(AssertSqlSafe(sql)).persistent(tx.named),
            args
        );
        let rows = query.fetch_all(&mut *tx.inner).await?;
        tx.inner.commit().await?;
        Ok(rows)
    }

    async fn publish(tx: &mut Self::Tx, event: &NewEvent) -> flydocs_bus::Result<Published> {
        if tx.named {
            flydocs_bus::outbox::postgres::publish(&mut tx.inner, event).await
        } else {
            flydocs_bus::outbox::postgres::publish_behind_pooler(&mut tx.inner, event).await
        }
    }

    async fn bury_dead_workers(&self, instance: Option<&str>) -> Result<Vec<String>> {
        self.bury(instance).await
    }

    fn hint(&self, id: ExtractionId) {
        self.watcher.hint(id);
    }
    fn hint_deliveries(&self) {
        self.watcher.hint_deliveries();
    }

    async fn migrate(&self) -> Result<()> {
        migrations::run(&self.pool, self.pooled).await
    }

    async fn version(&self) -> sqlx::Result<String> {
        const VERSION: Sql = Sql {
            sqlite: "",
            postgres: "SELECT 'PostgreSQL ' || current_setting('server_version')",
        };
        let rows: Vec<(String,)> = self.read(&VERSION, Vec::new()).await?;
        rows.into_iter()
            .next()
            .map(|(version,)| version)
            .ok_or(sqlx::Error::RowNotFound)
    }

    async fn register_worker(&self, name: &str) -> Result<WorkerLiveness> {
        self.register(name).await
    }

    /// Its lock went with its connection.
    async fn clear_after(&self, _instance: &str) {}

    fn watches_workers(&self) -> bool {
        !self.pooled
    }

    async fn close(&self) {
        self.watcher.stop();
        self.pool.close().await;
    }

    /// Stored times are whole microseconds.
    fn time(time: Timestamp, bound: Bound) -> String {
        let microsecond = Span::microseconds(1);
        let rounded = match bound {
            Bound::Last => time.duration_trunc(microsecond),
            Bound::First => time.duration_round_up(microsecond),
        };
        rounded
            .unwrap_or(time)
            .format("%Y-%m-%dT%H:%M:%S%.6fZ")
            .to_string()
    }
}

/// How long anything may take that only asks for a sign of life.
const SIGN_OF_LIFE: Duration = Duration::from_secs(3);
