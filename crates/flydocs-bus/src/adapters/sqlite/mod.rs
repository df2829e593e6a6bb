//! The bus in a SQLite file: several processes on one host.
//!
//! A group's drain is guarded by a file lock beside the database (`lockfn`, skip); wake-ups between processes
//! travel through a watched file ([`bell`]).

mod bell;
pub(super) mod groups;
pub(super) mod keep;
mod ledger;
mod sql;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use lockfn::LockFile;
use tokio_util::task::AbortOnDropHandle;
use uuid::Uuid;

use self::{bell::Bell, ledger::SqliteLedger};
use crate::{
    bus::{Bus, Consumer, Subscription},
    error::{Result, while_doing},
    event::{DeadLetter, NewEvent, Published},
    measure,
    member::Member,
    options::Options,
    outbox,
    signal::Signal,
    sqlite::Database,
    status::{BusStatus, Health, Pruned},
};

/// The adapter `sqlite`.
#[derive(Debug)]
pub struct SqliteBus {
    database: Database,
    options: Options,
    signal: Signal,
    bell: Arc<Bell>,
    /// Passes the rings of other processes on; started by the first subscription.
    listener: Mutex<Option<AbortOnDropHandle<()>>>,
}

impl SqliteBus {
    /// A bus in an open database whose schema is in place ([`crate::migrations::sqlite`]).
    pub fn new(database: Database, options: Options) -> Result<Self> {
        let bell = Arc::new(Bell::at(beside(&database.path, ".bus-bell"))?);
        Ok(Self {
            database,
            options,
            signal: Signal::new(),
            bell,
            listener: Mutex::default(),
        })
    }

    /// The lock of a group's drain: whoever holds this file stops new events from being handed to the group.
    pub fn drain_lock(&self, group: &str) -> LockFile {
        drain_lock(&self.database.path, group)
    }

    fn listen(&self) {
        let mut listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner);
        listener.get_or_insert_with(|| self.bell.listen(self.signal.clone()));
    }
}

#[async_trait]
impl Bus for SqliteBus {
    fn adapter(&self) -> &'static str {
        "sqlite"
    }

    async fn publish(&self, event: &NewEvent) -> Result<Published> {
        let failed = || while_doing("publish an event", &event.destination);
        let mut tx = self.database.begin().await.map_err(failed())?;
        let published = outbox::sqlite::publish(&mut tx, event).await?;
        tx.commit().await.map_err(failed())?;
        self.wake(&event.destination);
        Ok(published)
    }

    fn wake(&self, _destination: &str) {
        self.signal.ring();
        self.bell.ring();
    }

    async fn subscribe(&self, subscription: Subscription) -> Result<Arc<dyn Consumer>> {
        subscription.check()?;
        groups::register(&self.database, &subscription, None)
            .await
            .map_err(while_doing("register a group", &subscription.group))?;
        self.listen();
        let ledger = SqliteLedger {
            database: self.database.clone(),
            group: subscription.group.clone(),
            claimed_by: format!("{}#{}", subscription.consumer, Uuid::new_v4().simple()),
            event_types: serde_json::Value::from(subscription.event_types).to_string(),
            lock: self.drain_lock(&subscription.group),
            bell: Arc::clone(&self.bell),
            signal: self.signal.clone(),
            options: self.options.clone(),
        };
        Ok(Arc::new(Member::new(
            subscription.group,
            subscription.consumer,
            Arc::new(ledger),
            self.signal.clone(),
            self.options.clone(),
        )))
    }

    async fn health(&self) -> Health {
        let answer = sqlx::query("SELECT 1 FROM bus_offsets LIMIT 1")
            .execute(&self.database.reader)
            .await;
        Health {
            up: answer.is_ok(),
            wakes_by: "notifications",
            detail: answer
                .err()
                .map(|error| format!("the database file does not answer: {error}")),
        }
    }

    async fn status(&self) -> Result<BusStatus> {
        let holder = |group: &str| {
            self.drain_lock(group)
                .holder()
                .map(|holder| holder.to_string())
        };
        let (outbox, groups) = groups::status(&self.database, holder)
            .await
            .map_err(while_doing("read the status", "all groups"))?;
        let status = BusStatus {
            adapter: self.adapter(),
            outbox,
            groups,
        };
        measure::status(&status);
        Ok(status)
    }

    async fn dead_letters(&self, group: Option<&str>, limit: u32) -> Result<Vec<DeadLetter>> {
        keep::letters(&self.database, group, limit)
            .await
            .map_err(while_doing(
                "list dead letters",
                group.unwrap_or("all groups"),
            ))
    }

    async fn requeue(&self, dead_letter: i64) -> Result<bool> {
        let back = keep::requeue(&self.database, dead_letter)
            .await
            .map_err(while_doing(
                "send a dead letter back",
                dead_letter.to_string(),
            ))?;
        self.wake("");
        Ok(back)
    }

    async fn prune(&self) -> Result<Pruned> {
        keep::prune(&self.database, &self.options)
            .await
            .map_err(while_doing("prune", "the outbox"))
    }

    async fn forget_group(&self, group: &str) -> Result<u64> {
        groups::forget(&self.database, group)
            .await
            .map_err(while_doing("forget a group", group))
    }
}

fn drain_lock(database: &Path, group: &str) -> LockFile {
    let name = lockfn::lock_file_name("bus-drain", Some(group));
    LockFile::at(beside(database, &format!(".{name}"))).called(format!("drain of {group}"))
}

/// `name.db` -> `name.db<suffix>`, in the same directory.
pub(crate) fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut path = OsString::from(database);
    path.push(suffix);
    path.into()
}
