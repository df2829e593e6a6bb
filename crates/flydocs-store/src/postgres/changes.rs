//! Changes made by other processes, for those who wait for a row: told by NOTIFY, made sure of by a look.
//!
//! A process tells its changes after the commit, in a transaction of its own and many at a time: NOTIFY takes a lock on
//! the whole database while it commits.

use std::{
    collections::{BTreeSet, HashMap},
    time::Duration,
};

use flydocs_contract::ExtractionId;
use sqlx::{
    PgPool,
    postgres::{PgConnectOptions, PgListener, PgPoolOptions},
};
use tokio::{
    sync::mpsc::{self, UnboundedReceiver, UnboundedSender},
    task::JoinHandle,
    time::MissedTickBehavior,
};

use crate::change::{Changes, Seen};

const CHANNEL: &str = "flydocs_changes";
/// What is told in the place of an id when a webhook delivery is due.
const DELIVERIES: &str = "deliveries";
/// How long changes are collected before they are told.
const COLLECT: Duration = Duration::from_millis(20);
/// How many ids fit into one notification (8000 bytes).
const TOLD_AT_ONCE: usize = 200;
/// How often watched rows are looked at: the guarantee behind the hint.
const TICK: Duration = Duration::from_secs(1);
/// The same when there is no hint.
const TICK_WITHOUT_HINTS: Duration = Duration::from_millis(250);
/// How long to wait when the database cannot be asked.
const PAUSE: Duration = Duration::from_secs(1);

const REVISIONS: &str = "SELECT id, revision FROM extractions WHERE id = ANY ($1)";

/// What other processes are told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Hint {
    Deliveries,
    Row(ExtractionId),
}

/// The tasks that tell, listen and look.
#[derive(Debug)]
pub(super) struct Watcher {
    hints: UnboundedSender<Hint>,
    tasks: Vec<JoinHandle<()>>,
}

impl Watcher {
    pub(super) fn start(
        pool: PgPool,
        connect: PgConnectOptions,
        pooled: bool,
        changes: Changes,
    ) -> Self {
        let (hints, told) = mpsc::unbounded_channel();
        let tick = if pooled { TICK_WITHOUT_HINTS } else { TICK };
        let mut tasks = vec![
            tokio::spawn(tell(pool.clone(), told)),
            tokio::spawn(look(pool, tick, changes.clone())),
        ];
        if !pooled {
            tasks.push(tokio::spawn(listen(connect, changes)));
        }
        Self { hints, tasks }
    }

    pub(super) fn hint(&self, id: ExtractionId) {
        self.send(Hint::Row(id));
    }

    pub(super) fn hint_deliveries(&self) {
        self.send(Hint::Deliveries);
    }

    fn send(&self, hint: Hint) {
        if self.hints.send(hint).is_err() {
            tracing::debug!("the store is closed, nobody is told of a change");
        }
    }

    pub(super) fn stop(&self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Tells other processes what changed here.
async fn tell(pool: PgPool, mut told: UnboundedReceiver<Hint>) {
    while let Some(first) = told.recv().await {
        tokio::time::sleep(COLLECT).await;
        let mut hints = BTreeSet::from([first]);
        while let Ok(next) = told.try_recv() {
            hints.insert(next);
        }
        let ids: Vec<String> = hints
            .iter()
            .map(|hint| match hint {
                Hint::Deliveries => DELIVERIES.to_owned(),
                Hint::Row(id) => id.to_string(),
            })
            .collect();
        for ids in ids.chunks(TOLD_AT_ONCE) {
            let notified = async {
                let mut tx = pool.begin().await?;
                sqlx::query("SELECT pg_notify($1, $2)")
                    .persistent(false)
                    .bind(CHANNEL)
                    .bind(ids.join(","))
                    .execute(&mut *tx)
                    .await?;
                tx.commit().await
            };
            if let Err(error) = notified.await {
                tracing::debug!(%error, "other processes are not told of a change");
            }
        }
    }
}

/// Hears what changed elsewhere, as long as this process has somebody to tell it to.
async fn listen(connect: PgConnectOptions, changes: Changes) {
    loop {
        changes.somebody_listens().await;
        if let Err(error) = hear(&connect, &changes).await {
            tracing::warn!(%error, "cannot listen for changes of other processes");
        }
        // What was told meanwhile is lost.
        changes.tell_all();
        tokio::time::sleep(PAUSE).await;
    }
}

async fn hear(connect: &PgConnectOptions, changes: &Changes) -> sqlx::Result<()> {
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .acquire_timeout(Duration::from_secs(5))
        .connect_with(connect.clone())
        .await?;
    let mut listener = PgListener::connect_with(&pool).await?;
    listener.listen(CHANNEL).await?;
    // Between the first watch and this moment.
    changes.tell_all();
    loop {
        match listener.try_recv().await? {
            Some(notification) => {
                for told in notification.payload().split(',') {
                    if told == DELIVERIES {
                        changes.tell_deliveries();
                    } else if let Ok(id) = told.parse() {
                        changes.tell(id);
                    }
                }
            }
            // Reconnected: something may have been missed.
            None => changes.tell_all(),
        }
    }
}

/// Looks at the watched rows now and then, whatever is or is not told.
async fn look(pool: PgPool, every: Duration, changes: Changes) {
    let mut tick = tokio::time::interval(every);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut seen = Seen::default();
    loop {
        changes.somebody_waits().await;
        tick.tick().await;
        let watched = changes.watched();
        let ids: Vec<String> = watched.iter().map(ToString::to_string).collect();
        let looked = async {
            let mut tx = pool.begin().await?;
            let rows: Vec<(String, i64)> = sqlx::query_as(REVISIONS)
                .persistent(false)
                .bind(ids)
                .fetch_all(&mut *tx)
                .await?;
            tx.commit().await?;
            Ok::<_, sqlx::Error>(rows)
        };
        match looked.await {
            Ok(rows) => {
                let found: HashMap<String, i64> = rows.into_iter().collect();
                seen.compare(&watched, &found, &changes);
            }
            Err(error) => {
                tracing::warn!(%error, "cannot look for changes of other processes");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}
