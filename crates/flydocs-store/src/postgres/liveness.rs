//! Worker liveness: each worker holds a session advisory lock on a connection of its own. The server drops it with the
//! connection, and the connection ends with the process.

use std::time::Duration;

use sha2::{Digest as _, Sha256};
use sqlx::{ConnectOptions as _, Connection as _, Executor as _, PgConnection, Row as _};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{PostgresDatabase, SIGN_OF_LIFE};
use crate::{
    dialect::{Dialect as _, Sql},
    error::{During as _, Error, Result},
    worker::WorkerLiveness,
};

/// How often the worker looks whether its own connection still holds.
const LOOK: Duration = Duration::from_secs(1);

const NONCE: &str = "SELECT left(replace(gen_random_uuid()::text, '-', ''), 16)";

/// A host that vanishes without a word is noticed in half a minute, not in the system's two hours.
const KEEPALIVE: &str = "\
SELECT set_config('tcp_keepalives_idle', '10', false), set_config('tcp_keepalives_interval', '5', false),
       set_config('tcp_keepalives_count', '4', false)";

const LOCK: &str = "SELECT pg_try_advisory_lock($1)";

const REGISTER: &str = "\
INSERT INTO workers (instance, name, lock_key, registered_at) VALUES ($1, $2, $3, now())";

/// A transaction in which a worker's lock is looked for sees its row only after the lock was taken.
const BURY: Sql = Sql {
    sqlite: "",
    postgres: "\
UPDATE workers SET dead_at = now()
WHERE dead_at IS NULL AND lock_key IS NOT NULL AND ($1 IS NULL OR instance = $1)
  AND NOT EXISTS (
    SELECT 1 FROM pg_locks l
    WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND l.classid::bigint = (lock_key >> 32) & 4294967295
      AND l.objid::bigint = lock_key & 4294967295)
RETURNING instance",
};

/// Keeps the connection; dropped = the connection is closed and the lock with it.
struct Hold {
    keeper: JoinHandle<()>,
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.keeper.abort();
    }
}

impl PostgresDatabase {
    pub(super) async fn register(&self, name: &str) -> Result<WorkerLiveness> {
        let operation = "register a worker";
        let mut connection = self.connect.connect().await.during(operation)?;
        let nonce = connection
            .fetch_one(sqlx::raw_sql(NONCE))
            .await
            .during(operation)?;
        let nonce: String = nonce.try_get(0).during(operation)?;
        let instance = format!("{name}-{nonce}");
        let lost = CancellationToken::new();
        if self.pooled {
            return Ok(WorkerLiveness::new(instance, false, lost, Box::new(())));
        }

        // First the lock, then the row: a row whose lock is free is a dead worker.
        let key = lock_key(&instance);
        sqlx::query(KEEPALIVE)
            .execute(&mut connection)
            .await
            .during(operation)?;
        let (locked,): (bool,) = sqlx::query_as(LOCK)
            .bind(key)
            .fetch_one(&mut connection)
            .await
            .during(operation)?;
        if !locked {
            return Err(Error::Database {
                operation,
                source: sqlx::Error::Protocol(format!("advisory lock {key} is held")),
            });
        }
        sqlx::query(REGISTER)
            .bind(&instance)
            .bind(name)
            .bind(key)
            .execute(&mut connection)
            .await
            .during(operation)?;
        let keeper = tokio::spawn(keep(connection, instance.clone(), lost.clone()));
        Ok(WorkerLiveness::new(
            instance,
            true,
            lost,
            Box::new(Hold { keeper }),
        ))
    }

    /// With the note of its death, what a worker took from the bus is due again: another one begins it at once.
    pub(super) async fn bury(&self, instance: Option<&str>) -> Result<Vec<String>> {
        let operation = "look for dead workers";
        let mut tx = self.begin().await.during(operation)?;
        let buried: Vec<(String,)> = Self::rows(&mut tx, &BURY, args![instance])
            .await
            .during(operation)?;
        for (instance,) in &buried {
            flydocs_bus::leases::postgres::free(&mut tx.inner, instance)
                .await
                .map_err(|error| Error::of_bus(operation, error))?;
        }
        Self::commit(tx).await.during(operation)?;
        Ok(buried.into_iter().map(|(instance,)| instance).collect())
    }
}

/// Returns when the connection is gone, and says so.
async fn keep(mut connection: PgConnection, instance: String, lost: CancellationToken) {
    loop {
        tokio::time::sleep(LOOK).await;
        let failed = match tokio::time::timeout(SIGN_OF_LIFE, connection.ping()).await {
            Ok(Ok(())) => continue,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no answer".to_owned(),
        };
        tracing::warn!(worker.instance = %instance, reason = failed,
            "the connection that proves this worker alive is gone");
        lost.cancel();
        return;
    }
}

/// The number of the lock of a worker.
fn lock_key(instance: &str) -> i64 {
    let digest: [u8; 32] = Sha256::digest(format!("flydocs worker {instance}")).into();
    let mut head = [0; 8];
    head.copy_from_slice(&digest[..8]);
    i64::from_be_bytes(head)
}
