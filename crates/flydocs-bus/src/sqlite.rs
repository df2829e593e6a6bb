//! One SQLite database file as the store and the bus share it: one writer, many readers, WAL.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use sqlx::{
    Sqlite, SqlitePool, Transaction,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

use crate::error::{Error, Result};

/// How long a writer waits for another process's transaction.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);
const READERS: u32 = 4;

/// The open file. Clones share the pools.
#[derive(Debug, Clone)]
pub struct Database {
    /// One connection: writers of a process queue here, in order, instead of in SQLite's busy loop.
    pub writer: SqlitePool,
    /// Read-only connections.
    pub reader: SqlitePool,
    /// The file.
    pub path: PathBuf,
}

/// Opens the file, and makes it when it is absent.
///
/// `synchronous = FULL`: what was committed survives a power cut.
pub async fn open(path: &Path) -> Result<Database> {
    let failed = |source| Error::Open {
        path: path.to_owned(),
        source,
    };
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(BUSY_TIMEOUT);
    let writer = pool(1)
        .connect_with(options.clone())
        .await
        .map_err(failed)?;
    let reader = pool(READERS)
        .connect_with(options.create_if_missing(false).pragma("query_only", "on"))
        .await
        .map_err(failed)?;
    Ok(Database {
        writer,
        reader,
        path: path.to_owned(),
    })
}

/// The pool keeps its connections: opening one costs more than a transaction, and the last one to
/// close removes the write-ahead log under the others' wake-ups.
fn pool(connections: u32) -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .min_connections(1)
        .max_connections(connections)
        .acquire_timeout(BUSY_TIMEOUT)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
}

impl Database {
    /// A write transaction that takes the write lock at once, so that it cannot fail half-way as busy.
    pub async fn begin(&self) -> sqlx::Result<Transaction<'static, Sqlite>> {
        self.writer.begin_with("BEGIN IMMEDIATE").await
    }

    /// Closes every connection.
    pub async fn close(&self) {
        self.reader.close().await;
        self.writer.close().await;
    }
}
