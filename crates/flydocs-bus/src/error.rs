//! What can go wrong on the bus.

use std::path::PathBuf;

use crate::sqlite;

/// A failure of the bus.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The database refused or could not be reached.
    #[error("the bus could not {operation} ({subject})")]
    Database {
        /// What was tried, as a verb: `claim deliveries`.
        operation: &'static str,
        /// The group, the destination or the event it was about.
        subject: String,
        /// What the driver said.
        #[source]
        source: sqlx::Error,
    },
    /// The database file cannot be opened.
    #[error("cannot open the database file {}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the driver said.
        #[source]
        source: sqlx::Error,
    },
    /// A file beside the database cannot be used.
    #[error("cannot use the file {} of the bus", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The lock file of a group cannot be used.
    #[error("cannot use the lock file {}", path.display())]
    Lock {
        /// The file.
        path: PathBuf,
        /// What the lock said.
        #[source]
        source: lockfn::LockError,
    },
    /// A second process opened the `memory` bus of one database.
    #[error(
        "another process uses the memory bus of {}; set FLYDOCS_EDA_ADAPTER=sqlite to run more than one process",
        path.display()
    )]
    SecondProcess {
        /// The lock file that the other process holds.
        path: PathBuf,
    },
    /// A subscription that can never receive anything.
    #[error("the subscription of group {group} names no {missing}")]
    EmptySubscription {
        /// The group.
        group: String,
        /// `destination` or `event type`.
        missing: &'static str,
    },
    /// The schema of the bus is absent or of another version.
    #[error("the database has no usable bus schema ({detail}); run flydocs migrate")]
    Schema {
        /// What was found.
        detail: String,
    },
    /// The broker refused or could not be reached.
    #[error("the bus could not {operation} on {broker} ({subject})")]
    Broker {
        /// What was tried, as a verb: `claim deliveries`.
        operation: &'static str,
        /// The group, the destination or the event it was about.
        subject: String,
        /// `redis` or `kafka`.
        broker: &'static str,
        /// Whether the same call may succeed later.
        transient: bool,
        /// What the driver said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The address of the broker cannot be used.
    #[error("{setting} cannot be used: {detail}")]
    BrokerSetting {
        /// The setting.
        setting: &'static str,
        /// What is wrong with it; never the address itself, which may hold a password.
        detail: String,
    },
    /// A stored value does not have the shape that the bus wrote.
    #[error("the stored {what} of {subject} cannot be read")]
    Decode {
        /// The column.
        what: &'static str,
        /// The row.
        subject: String,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// A result whose failure is a failure of the bus.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// True when the same call may succeed later: the connection broke, the server restarts, the file is busy, the
    /// disk is full.
    pub fn is_transient(&self) -> bool {
        if let Self::Broker { transient, .. } = self {
            return *transient;
        }
        let Self::Database { source, .. } = self else {
            return false;
        };
        match source {
            sqlx::Error::Io(_)
            | sqlx::Error::Protocol(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::WorkerCrashed
            | sqlx::Error::Tls(_) => true,
            sqlx::Error::Database(database) => database.code().is_some_and(|code| {
                // PostgreSQL: connection (08), serialisation and deadlock (40), resources (53),
                // shutdown and start-up (57), time-outs (55); SQLite: see there.
                if code.len() == 5 {
                    ["08", "40", "53", "55", "57"]
                        .iter()
                        .any(|class| code.starts_with(class))
                } else {
                    code.parse().is_ok_and(sqlite::may_recover)
                }
            }),
            _ => false,
        }
    }
}

/// Gives a driver's failure the operation and the subject it was about.
pub(crate) fn while_doing<S: Into<String>>(
    operation: &'static str,
    subject: S,
) -> impl FnOnce(sqlx::Error) -> Error {
    let subject = subject.into();
    move |source| match schema_trouble(&source) {
        Some(detail) => Error::Schema { detail },
        None => Error::Database {
            operation,
            subject,
            source,
        },
    }
}

/// PostgreSQL: no such schema, table, function or column; SQLite says it in words.
fn schema_trouble(error: &sqlx::Error) -> Option<String> {
    let database = error.as_database_error()?;
    let code = database.code()?;
    let absent = matches!(code.as_ref(), "3F000" | "42P01" | "42883" | "42703")
        || (code == "1" && database.message().starts_with("no such table: bus_"));
    absent.then(|| database.message().to_owned())
}
