//! The bus on PostgreSQL: any number of processes on any number of hosts.
//!
//! Drain passes run in one statement under the group's advisory lock (`bus.drain`); claims skip locked rows;
//! NOTIFY after the commit is a hint, the poll is the guarantee. Everything works behind a transaction-mode
//! pooler, where it polls unless it may LISTEN on a direct connection.

mod groups;
mod keep;
mod ledger;
mod listen;
mod notify;
mod session;
mod sql;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use sqlx::{PgPool, postgres::PgConnectOptions};
use tokio::time::timeout;
use uuid::Uuid;

use self::{
    ledger::PostgresLedger,
    listen::Listener,
    notify::Notifier,
    session::{Server, Session},
};
use crate::{
    bus::{Bus, Consumer, Subscription},
    error::{Result, while_doing},
    event::{DeadLetter, NewEvent, Published},
    measure,
    member::Member,
    options::Options,
    outbox,
    signal::Signal,
    status::{BusStatus, Health, Pruned},
};

/// A server that takes longer is not up.
const HEALTH_LIMIT: Duration = Duration::from_secs(2);

/// The adapter `postgres`.
#[derive(Debug)]
pub struct PostgresBus {
    server: Server,
    options: Options,
    signal: Signal,
    notifier: Arc<Notifier>,
    listener: Option<Listener>,
}

impl PostgresBus {
    /// A bus on a database whose schema is in place ([`crate::migrations::postgres`]).
    ///
    /// `listen` is a direct connection for LISTEN; without it the bus polls. Drain, claims and settlements need
    /// two or three connections of the pool however many handlers run. Must be called on a tokio runtime.
    pub fn new(pool: PgPool, listen: Option<PgConnectOptions>, options: Options) -> Self {
        Self::on(
            Server {
                pool,
                pooler: false,
            },
            listen,
            options,
        )
    }

    /// The same when the pool reaches the server through a transaction-mode pooler (PgBouncer).
    pub fn behind_pooler(pool: PgPool, listen: Option<PgConnectOptions>, options: Options) -> Self {
        Self::on(Server { pool, pooler: true }, listen, options)
    }

    fn on(server: Server, listen: Option<PgConnectOptions>, options: Options) -> Self {
        let signal = Signal::new();
        let notifier = Arc::new(Notifier::start(server.clone()));
        let listener =
            listen.map(|connect| Listener::start(connect, signal.clone(), Arc::clone(&notifier)));
        Self {
            server,
            options,
            signal,
            notifier,
            listener,
        }
    }
}

#[async_trait]
impl Bus for PostgresBus {
    fn adapter(&self) -> &'static str {
        "postgres"
    }

    async fn publish(&self, event: &NewEvent) -> Result<Published> {
        let failed = || while_doing("publish an event", &event.destination);
        // Without a key it is one statement, and a transaction by itself.
        let mut session = if event.dedupe_key.is_some() {
            Session::Transaction(self.server.transaction().await.map_err(failed())?)
        } else {
            self.server.session().await.map_err(failed())?
        };
        let published = if self.server.pooler {
            outbox::postgres::publish_behind_pooler(&mut session, event).await?
        } else {
            outbox::postgres::publish(&mut session, event).await?
        };
        session.finish().await.map_err(failed())?;
        self.wake(&event.destination);
        Ok(published)
    }

    fn wake(&self, destination: &str) {
        self.signal.ring();
        self.notifier.notify(destination);
    }

    async fn subscribe(&self, subscription: Subscription) -> Result<Arc<dyn Consumer>> {
        subscription.check()?;
        groups::register(&self.server, &subscription).await?;
        if let Some(listener) = &self.listener {
            listener.add(&subscription.destinations);
        }
        let ledger = PostgresLedger {
            server: self.server.clone(),
            group: subscription.group.clone(),
            destinations: subscription.destinations,
            claimed_by: format!("{}#{}", subscription.consumer, Uuid::new_v4().simple()),
            event_types: subscription.event_types,
            notifier: Arc::clone(&self.notifier),
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
        let look = self.server.query("SELECT 1 FROM bus.offsets LIMIT 1");
        let trouble = match timeout(HEALTH_LIMIT, self.server.execute(look)).await {
            Ok(Ok(_)) => None,
            Ok(Err(error)) => Some(format!("the database does not answer: {error}")),
            Err(_late) => Some("the database does not answer within 2 s".to_owned()),
        };
        let (wakes_by, listening) = match &self.listener {
            Some(listener) => ("notifications", listener.trouble()),
            None => ("poll-only", None),
        };
        let polling = listening.map(|why| format!("notifications do not arrive, polling: {why}"));
        Health {
            up: trouble.is_none(),
            wakes_by,
            detail: trouble.or(polling),
        }
    }

    async fn status(&self) -> Result<BusStatus> {
        let (outbox, groups) = groups::status(&self.server)
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
        keep::letters(&self.server, group, limit)
            .await
            .map_err(while_doing(
                "list dead letters",
                group.unwrap_or("all groups"),
            ))
    }

    async fn requeue(&self, dead_letter: i64) -> Result<bool> {
        let destination = keep::requeue(&self.server, dead_letter)
            .await
            .map_err(while_doing(
                "send a dead letter back",
                dead_letter.to_string(),
            ))?;
        if let Some(destination) = &destination {
            self.wake(destination);
        }
        Ok(destination.is_some())
    }

    async fn prune(&self) -> Result<Pruned> {
        keep::prune(&self.server, &self.options)
            .await
            .map_err(while_doing("prune", "the outbox"))
    }

    async fn forget_group(&self, group: &str) -> Result<u64> {
        groups::forget(&self.server, group)
            .await
            .map_err(while_doing("forget a group", group))
    }
}
