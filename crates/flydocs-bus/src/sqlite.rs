//! One SQLite database file as the store and the bus share it: one writer, many readers, WAL.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use sqlx::{
    Connection as _, Sqlite, SqliteConnection, SqlitePool, Transaction,
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
        .after_release(|connection, _| Box::pin(is_at_rest(connection)))
}

/// False when the connection still counts a transaction after its end: then it is closed and another one opened.
///
/// SQLite undoes a transaction by itself when the disk is full, on an i/o error, without memory and when a commit is
/// refused. The rollback that follows fails, as there is nothing to undo, so the driver counts on, and every later
/// transaction of the connection would be refused.
async fn is_at_rest(connection: &mut SqliteConnection) -> sqlx::Result<bool> {
    // After a commit there is nothing to ask; the rollback of a dropped transaction may still be on its way.
    if connection.is_in_transaction() {
        connection.ping().await?;
    }
    let at_rest = !connection.is_in_transaction();
    if !at_rest {
        tracing::warn!("SQLite undid a transaction by itself: its connection is opened anew");
    }
    Ok(at_rest)
}

/// True for the result codes of SQLite, extended or not, after which the same call may succeed: busy, locked, out of
/// memory, i/o error, disk full, file not to be opened. None of them has the five characters of an SQLSTATE.
pub const fn may_recover(code: i32) -> bool {
    matches!(code & 0xff, 5 | 6 | 7 | 10 | 13 | 14)
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
