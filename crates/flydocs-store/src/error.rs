//! Everything that can go wrong in the store. A lost race is never an error: it is `None`.

use std::{io, path::PathBuf};

use flydocs_contract::ExtractionId;

use crate::blob::BlobId;

/// What a method of the store returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why the store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A statement failed.
    #[error("cannot {operation}")]
    Database {
        /// What was being done, in words.
        operation: &'static str,
        /// What the database said.
        #[source]
        source: sqlx::Error,
    },
    /// The event of a change could not be written with it, so the change was not made either.
    #[error("cannot write an event to the outbox")]
    Outbox {
        /// What the bus said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The schema could not be brought up to date.
    #[error("cannot migrate the database")]
    Migrate {
        /// What went wrong.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A file of the store could not be read or written.
    #[error("cannot {operation} {}", path.display())]
    File {
        /// What was being done, in words.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The bytes to store could not be read to their end; nothing was stored.
    #[error("cannot read the bytes to store")]
    Upload {
        /// What the source of the bytes said.
        #[source]
        source: io::Error,
    },
    /// The embedded store lies where file locks cannot be relied upon.
    #[error(
        "{} lies on a network file system ({filesystem}); the embedded store needs a local disk (FLYDOCS_DATABASE_URL)",
        path.display()
    )]
    NetworkFileSystem {
        /// The database file.
        path: PathBuf,
        /// The kind of file system.
        filesystem: String,
    },
    /// `FLYDOCS_DATABASE_URL` or `FLYDOCS_BLOB_URL` names something that is not supported.
    #[error("{setting} is {given:?}; supported are {supported}")]
    UnsupportedUrl {
        /// The setting.
        setting: &'static str,
        /// What it says, without a password.
        given: String,
        /// What it may say.
        supported: &'static str,
    },
    /// Two settings contradict each other.
    #[error("{0}")]
    Settings(String),
    /// A file of a submission is not in the blob store.
    #[error("blob {0} is not stored")]
    BlobMissing(BlobId),
    /// A result that is no JSON was to be stored.
    #[error("the result of {id} is not JSON")]
    ResultNotJson {
        /// The extraction.
        id: ExtractionId,
        /// Where it stops being JSON.
        #[source]
        source: serde_json::Error,
    },
    /// A row does not read as this version writes it.
    #[error("column {column} of {row} cannot be read")]
    Corrupt {
        /// The row's id.
        row: String,
        /// The column.
        column: &'static str,
        /// What is wrong with it.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl Error {
    /// What the bus could not do with its tables, which lie beside ours.
    pub(crate) fn of_bus(operation: &'static str, error: flydocs_bus::Error) -> Self {
        match error {
            flydocs_bus::Error::Database { source, .. } => Self::Database { operation, source },
            other => Self::Outbox {
                source: Box::new(other),
            },
        }
    }

    /// True when the database undid the transaction because another one was in the way.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Self::Database { source: sqlx::Error::Database(e), .. }
            if e.code().is_some_and(|code| matches!(code.as_ref(), "40001" | "40P01")))
    }

    /// True when the database could not be reached or did not answer: nothing was accepted, trying
    /// again may help.
    pub fn is_unavailable(&self) -> bool {
        let Self::Database { source, .. } = self else {
            return false;
        };
        match source {
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed => true,
            // PostgreSQL: connection, resources, shutdown; SQLite: see there
            sqlx::Error::Database(e) => e.code().is_some_and(|code| {
                if code.len() == 5 {
                    ["08", "53", "57P"]
                        .iter()
                        .any(|class| code.starts_with(class))
                } else {
                    code.parse().is_ok_and(flydocs_bus::sqlite::may_recover)
                }
            }),
            _ => false,
        }
    }
}

/// Names the operation a statement belonged to.
pub(crate) trait During<T> {
    /// Turns a database error into one that says what was being done.
    fn during(self, operation: &'static str) -> Result<T>;
}

impl<T> During<T> for std::result::Result<T, sqlx::Error> {
    fn during(self, operation: &'static str) -> Result<T> {
        self.map_err(|source| Error::Database { operation, source })
    }
}
