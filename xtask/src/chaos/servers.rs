//! The servers under the fleet: started by the run, hurt by the storm, gone with the process. A bus that needs a
//! server of its own is started here too, and told to the fleet through `settings`.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::{Result, bail};
use flydocs_testkit::{
    kafka,
    pgbouncer::Pooler,
    postgres::{Server, database_on},
    redis,
};
use sqlx::{Connection as _, PgConnection};
use tokio::time::sleep;

use super::plan::{Eda, Plan, Store};

/// How long a broker that cannot keep anything over a restart stands still instead.
const STANDSTILL: Duration = Duration::from_secs(4);

/// Sessions that listen, by their last statement.
const END_LISTENING: &str = "\
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND query ILIKE 'listen%'";

/// One session, whichever comes first by a hash of its number and `$1`.
const END_ONE: &str = "\
SELECT count(pg_terminate_backend(pid)) FROM (
    SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
    ORDER BY hashint8extended(pid, $1) LIMIT 1) AS chosen";

/// What runs beside the fleet.
pub(super) struct Servers {
    /// For every process of the fleet.
    pub(super) settings: Vec<(String, String)>,
    /// Where the audit reads, past any pooler.
    pub(super) facts: String,
    // The pooler goes before its server.
    _pooler: Option<Pooler>,
    postgres: Option<Arc<Server>>,
    broker: Option<Broker>,
}

/// The server of a bus that has one.
#[derive(Clone)]
enum Broker {
    Redis(Arc<redis::Server>),
    Kafka(Arc<kafka::Broker>),
}

impl Broker {
    async fn start(eda: Eda) -> Result<Option<Self>> {
        Ok(match eda {
            Eda::Postgres | Eda::Sqlite => None,
            Eda::Redis => {
                let server = tokio::task::spawn_blocking(redis::Server::start).await??;
                Some(Self::Redis(Arc::new(server)))
            }
            Eda::Kafka => {
                let broker = tokio::task::spawn_blocking(kafka::Broker::start).await??;
                Some(Self::Kafka(Arc::new(broker)))
            }
        })
    }

    fn setting(&self) -> (String, String) {
        match self {
            Self::Redis(server) => ("FLYDOCS_REDIS_URL".to_owned(), server.url()),
            Self::Kafka(broker) => (
                "FLYDOCS_KAFKA_BOOTSTRAP_SERVERS".to_owned(),
                broker.bootstrap_servers(),
            ),
        }
    }
}

impl Servers {
    /// Starts what the plan asks for.
    pub(super) async fn start(plan: &Plan, folder: &Path) -> Result<Self> {
        let (url, facts, pooler, postgres) = match plan.store {
            Store::Sqlite => {
                if plan.pooler {
                    bail!("--pooler goes with --store postgres");
                }
                let url = format!("sqlite://{}", folder.join("flydocs.db").display());
                (url.clone(), url, None, None)
            }
            Store::Postgres => {
                let server = Arc::new(tokio::task::spawn_blocking(Server::start).await??);
                let database = database_on(&server).await?;
                let pooler = if plan.pooler {
                    let server = Arc::clone(&server);
                    Some(tokio::task::spawn_blocking(move || Pooler::start(&server)).await??)
                } else {
                    None
                };
                let url = pooler
                    .as_ref()
                    .map_or_else(|| database.url.clone(), |pooler| pooler.url(&database.name));
                (url, database.url, pooler, Some(server))
            }
        };
        let mut settings = vec![("FLYDOCS_DATABASE_URL".to_owned(), url)];
        if let Some(eda) = plan.eda {
            settings.push(("FLYDOCS_EDA_ADAPTER".to_owned(), eda.as_str().to_owned()));
        }
        let broker = match plan.eda {
            Some(eda) => Broker::start(eda).await?,
            None => None,
        };
        settings.extend(broker.as_ref().map(Broker::setting));
        Ok(Self {
            settings,
            broker,
            facts,
            _pooler: pooler,
            postgres,
        })
    }

    /// Whether there is a server to restart.
    pub(super) const fn can_restart(&self) -> bool {
        self.postgres.is_some()
    }

    /// Stops the database server, at once or in order, and starts it again.
    pub(super) async fn restart(&self, as_a_crash: bool) -> Result<()> {
        let Some(server) = self.postgres.clone() else {
            return Ok(());
        };
        tokio::task::spawn_blocking(move || {
            if as_a_crash {
                server.crash()?;
            } else {
                server.stop()?;
            }
            server.resume()
        })
        .await?
    }

    /// Kills the broker and starts it again, or lets one that would lose everything stand still; what was done.
    pub(super) async fn hurt_broker(&self) -> Result<Option<&'static str>> {
        match self.broker.clone() {
            None => Ok(None),
            Some(Broker::Redis(server)) => {
                let dying = Arc::clone(&server);
                tokio::task::spawn_blocking(move || dying.crash()).await??;
                sleep(STANDSTILL / 2).await;
                tokio::task::spawn_blocking(move || server.resume()).await??;
                Ok(Some("redis crash"))
            }
            Some(Broker::Kafka(broker)) => {
                broker.freeze()?;
                sleep(STANDSTILL).await;
                broker.thaw()?;
                Ok(Some("kafka standstill"))
            }
        }
    }

    /// Ends every session that listens; how many there were.
    pub(super) async fn end_listening(&self) -> Result<i64> {
        let mut session = PgConnection::connect(&self.facts).await?;
        let ended = sqlx::query_scalar(END_LISTENING)
            .fetch_one(&mut session)
            .await?;
        Ok(ended)
    }

    /// Ends one session of any kind.
    pub(super) async fn end_one(&self, chance: i64) -> Result<i64> {
        let mut session = PgConnection::connect(&self.facts).await?;
        let ended = sqlx::query_scalar(END_ONE)
            .bind(chance)
            .fetch_one(&mut session)
            .await?;
        Ok(ended)
    }
}
