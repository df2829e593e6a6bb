//! Worker liveness on one host: each worker holds a file lock of its own, which the kernel drops with the process.
//!
//! Death is noted in the table by whoever finds the lock free. A name never comes twice, so the dead stay dead.

use std::path::PathBuf;

use lockfn::LockFile;
use tokio_util::sync::CancellationToken;

use super::SqliteDatabase;
use crate::{
    error::{During as _, Error, Result},
    worker::WorkerLiveness,
};

const NONCE: &str = "SELECT lower(hex(randomblob(8)))";

const REGISTER: &str = "\
INSERT INTO workers (instance, name, registered_at)
VALUES ($1, $2, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))";

const ALIVE: &str = "\
SELECT instance FROM workers WHERE dead_at IS NULL AND ($1 IS NULL OR instance = $1)";

const BURY: &str = "\
UPDATE workers SET dead_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
WHERE instance = $1 AND dead_at IS NULL";

impl SqliteDatabase {
    pub(super) async fn register(&self, name: &str) -> Result<WorkerLiveness> {
        tokio::fs::create_dir_all(&self.workers)
            .await
            .map_err(|source| Error::File {
                operation: "create",
                path: self.workers.clone(),
                source,
            })?;
        let (nonce,): (String,) = sqlx::query_as(NONCE)
            .fetch_one(&self.file.reader)
            .await
            .during("register a worker")?;
        let instance = format!("{name}-{nonce}");
        // First the lock, then the row: a row whose lock is free is a dead worker.
        let lock = LockFile::at(self.lock_path(&instance)).called(instance.clone());
        let guard = lock
            .try_lock()
            .map_err(|source| self.lock_failed(&instance, source))?;
        let Some(guard) = guard else {
            return Err(Error::File {
                operation: "lock",
                path: self.lock_path(&instance),
                source: std::io::ErrorKind::WouldBlock.into(),
            });
        };
        sqlx::query(REGISTER)
            .bind(&instance)
            .bind(name)
            .execute(&self.file.writer)
            .await
            .during("register a worker")?;
        Ok(WorkerLiveness::new(
            instance,
            true,
            CancellationToken::new(),
            Box::new(guard),
        ))
    }

    /// With the note of its death, what a worker took from the bus is due again: another one begins it at once.
    pub(super) async fn bury(&self, instance: Option<&str>) -> Result<Vec<String>> {
        let alive: Vec<(String,)> = sqlx::query_as(ALIVE)
            .bind(instance)
            .fetch_all(&self.file.reader)
            .await
            .during("look for dead workers")?;
        let mut buried = Vec::new();
        for (instance,) in alive {
            let lock = LockFile::at(self.lock_path(&instance));
            if lock
                .is_held()
                .map_err(|source| self.lock_failed(&instance, source))?
            {
                continue;
            }
            let operation = "note the death of a worker";
            let mut tx = self.file.begin().await.during(operation)?;
            let noted = sqlx::query(BURY)
                .bind(&instance)
                .execute(&mut *tx)
                .await
                .during(operation)?;
            if noted.rows_affected() == 0 {
                continue;
            }
            flydocs_bus::leases::sqlite::free(&mut tx, &instance)
                .await
                .map_err(|error| Error::of_bus(operation, error))?;
            tx.commit().await.during(operation)?;
            self.remove_lock(&instance).await;
            buried.push(instance);
        }
        Ok(buried)
    }

    pub(super) async fn remove_lock(&self, instance: &str) {
        let path = self.lock_path(instance);
        if let Err(error) = tokio::fs::remove_file(&path).await {
            tracing::debug!(%error, path = %path.display(), "the lock file of a worker stays");
        }
    }

    /// The part of the name that never comes twice names the file.
    fn lock_path(&self, instance: &str) -> PathBuf {
        let nonce = instance
            .rsplit_once('-')
            .map_or(instance, |(_, nonce)| nonce);
        self.workers.join(format!("{nonce}.lock"))
    }

    fn lock_failed(&self, instance: &str, source: lockfn::LockError) -> Error {
        Error::File {
            operation: "lock",
            path: self.lock_path(instance),
            source: std::io::Error::other(source),
        }
    }
}
