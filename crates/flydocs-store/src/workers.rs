//! The table of workers: who registered, and who is known to be dead. How that is known differs by database.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::{
    conflict::undisturbed,
    dialect::{Dialect, Sql},
    error::{During as _, Result},
    sql_store::SqlStore,
    store::Health,
    worker::{Worker, WorkerLiveness},
};

const ALL: Sql = sql!(
    "SELECT instance, registered_at, dead_at FROM workers ORDER BY registered_at DESC, instance"
);

const SIGN_OFF: Sql =
    sql!("UPDATE workers SET dead_at = " now " WHERE instance = $1 AND dead_at IS NULL");

impl<D: Dialect> SqlStore<D> {
    /// Notes that a worker left by itself, while it still holds its lock: no sweep finds it.
    pub(crate) async fn sign_off(&self, worker: WorkerLiveness) -> Result<()> {
        undisturbed(|| self.note_leaving(worker.instance())).await?;
        let instance = worker.instance().to_owned();
        drop(worker);
        self.db.clear_after(&instance).await;
        Ok(())
    }

    async fn note_leaving(&self, instance: &str) -> Result<()> {
        let mut transition = self.transition().await?;
        transition
            .execute("sign off a worker", &SIGN_OFF, args![instance])
            .await?;
        transition.commit_quietly().await
    }

    /// Notes which workers are dead, all that are or this one if it is, and wakes those who can take over what they
    /// had.
    pub(crate) async fn bury(&self, instance: Option<&str>) -> Result<Vec<String>> {
        let dead = undisturbed(|| self.db.bury_dead_workers(instance)).await?;
        if !dead.is_empty() {
            self.wake(&[&self.options.jobs_topic, &self.options.bbox_refine_topic]);
        }
        Ok(dead)
    }

    pub(crate) async fn workers(&self) -> Result<Vec<Worker>> {
        let rows = self
            .db
            .read::<(String, DateTime<Utc>, Option<DateTime<Utc>>)>(&ALL, Vec::new())
            .await
            .during("read the workers")?;
        Ok(rows
            .into_iter()
            .map(|(instance, registered_at, dead_at)| Worker {
                instance: Arc::from(instance),
                registered_at,
                dead_at,
            })
            .collect())
    }

    pub(crate) async fn health(&self) -> Result<Health> {
        Ok(Health {
            database: D::NAME,
            version: self
                .db
                .version()
                .await
                .during("ask the database for a sign of life")?,
            watches_workers: self.db.watches_workers(),
            details: self.details.clone(),
        })
    }
}
