//! What makes one relay of many the active one: a lock that the death of its process frees at once.

use std::time::Duration;

use lockfn::{LockFile, LockGuard};
use sqlx::{
    Connection as _, PgConnection,
    postgres::{PgConnectOptions, PgPool},
};
use tokio::time::{sleep, timeout};

use super::RELAY_GROUP;
use crate::{
    adapters::sqlite::beside,
    error::{Error, Result, while_doing},
    group::group_lock_key,
    sqlite::Database,
};

/// Its key beside that of the relay's drain.
const NAME: &str = "flydocs-relay-active";
/// A holder whose server does not answer for this long has lost its lock.
const ANSWER_WITHIN: Duration = Duration::from_secs(1);

/// The lock of the relays of one outbox.
#[derive(Debug, Clone)]
pub struct RelayLock(Kind);

#[derive(Debug, Clone)]
enum Kind {
    File(LockFile),
    Session(Box<PgConnectOptions>),
    /// Behind a transaction-mode pooler there are no sessions. The claims alone keep relays apart.
    Claims,
}

impl RelayLock {
    /// A file beside the database.
    pub fn sqlite(database: &Database) -> Self {
        let name = lockfn::lock_file_name("bus-relay", None);
        let file = LockFile::at(beside(&database.path, &format!(".{name}"))).called("the relay");
        Self(Kind::File(file))
    }

    /// An advisory lock on a connection of its own, which must not go through a transaction-mode pooler.
    pub fn postgres(direct: PgConnectOptions) -> Self {
        Self(Kind::Session(Box::new(direct)))
    }

    /// The same with the address of a pool that reaches the server itself.
    pub fn of_pool(pool: &PgPool) -> Self {
        Self::postgres((*pool.connect_options()).clone())
    }

    /// None: several relays may be active at once, each with events of its own.
    pub fn behind_pooler() -> Self {
        Self(Kind::Claims)
    }

    /// Waits for the lock, asking every `look`.
    pub(super) async fn lock(&self, look: Duration) -> Result<Held> {
        match &self.0 {
            Kind::File(file) => loop {
                let guard = file.try_lock().map_err(|source| Error::Lock {
                    path: file.path().to_owned(),
                    source,
                })?;
                if let Some(guard) = guard {
                    return Ok(Held::File(guard));
                }
                sleep(look).await;
            },
            Kind::Session(options) => lock_session(options, look)
                .await
                .map_err(while_doing("lock the relay", RELAY_GROUP)),
            Kind::Claims => Ok(Held::Claims),
        }
    }
}

async fn lock_session(options: &PgConnectOptions, look: Duration) -> sqlx::Result<Held> {
    let mut session = PgConnection::connect_with(options).await?;
    loop {
        let locked: bool = sqlx::query_scalar("SELECT pg_try_advisory_lock($1)")
            .bind(group_lock_key(NAME))
            .fetch_one(&mut session)
            .await?;
        if locked {
            return Ok(Held::Session(Box::new(session)));
        }
        sleep(look).await;
    }
}

/// The lock in this process's hands; dropping it gives it back.
pub(super) enum Held {
    File(LockGuard),
    Session(Box<PgConnection>),
    Claims,
}

impl Held {
    /// Returns when the lock is lost, which a file never is.
    pub(super) async fn until_lost(self, look: Duration) {
        let mut session = match self {
            Self::Session(session) => session,
            Self::File(_guard) => return std::future::pending().await,
            Self::Claims => return std::future::pending().await,
        };
        while let Ok(Ok(())) = timeout(ANSWER_WITHIN, session.ping()).await {
            sleep(look).await;
        }
    }
}
