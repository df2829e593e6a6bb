//! A consumer in a process of its own, for tests that kill it: it writes the begin and the end of every handling
//! to a file.
//!
//! `flydocs-bus-probe URL GROUP CONSUMER SLOTS LEASE_MS WORK_MS LOG [BROKER PREFIX]`
//!
//! With a broker (`redis://...` or `kafka:host:port`) it relays events to it from the database of the URL, too.

use std::{
    collections::HashMap,
    error::Error,
    fs::{File, OpenOptions},
    io::Write as _,
    path::Path,
    process::ExitCode,
    str::FromStr as _,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use flydocs_bus::{
    Bus, Consumer, Delivery, Options, Settled, Start, Subscription, Ticket,
    adapters::{postgres::PostgresBus, redis::RedisBus, sqlite::SqliteBus},
    relay::{Outbox, RelayLock},
};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::Semaphore,
    task::{AbortHandle, JoinSet},
};
use tokio_util::sync::CancellationToken;

type Failure = Box<dyn Error + Send + Sync>;

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            std::io::stderr()
                .write_all(format!("{error:?}\n").as_bytes())
                .unwrap_or_default();
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, group, name, slots, lease, work, log, broker @ ..] = arguments.as_slice() else {
        return Err("URL GROUP CONSUMER SLOTS LEASE_MS WORK_MS LOG [BROKER PREFIX]".into());
    };
    let lease = Duration::from_millis(lease.parse()?);
    let options = Options {
        lease,
        ..Options::default()
    };
    let bus = match broker {
        [broker, prefix] => {
            let bus = beyond(url, broker, prefix, options).await?;
            let relay = bus.relay().ok_or("no relay")?;
            tokio::spawn(relay.run(CancellationToken::new()));
            bus
        }
        _ => open(url, options).await?.0,
    };
    let subscription = Subscription {
        group: group.clone(),
        destinations: vec!["flydocs.extractions".to_owned()],
        event_types: vec!["extraction.submitted".to_owned()],
        consumer: name.clone(),
        start: Start::Earliest,
    };
    let worker = Arc::new(Worker {
        consumer: bus.subscribe(subscription).await?,
        running: Mutex::default(),
        log: OpenOptions::new().create(true).append(true).open(log)?,
        work: Duration::from_millis(work.parse()?),
    });
    worker.consume(slots.parse()?).await
}

/// The bus of the database, and the lock of its relay.
async fn open(url: &str, options: Options) -> Result<(Arc<dyn Bus>, RelayLock), Failure> {
    if let Some(path) = url.strip_prefix("sqlite:") {
        let database = flydocs_bus::sqlite::open(Path::new(path)).await?;
        let lock = RelayLock::sqlite(&database);
        return Ok((Arc::new(SqliteBus::new(database, options)?), lock));
    }
    let listen = PgConnectOptions::from_str(url)?;
    let lock = RelayLock::postgres(listen.clone());
    let pool = PgPoolOptions::new()
        .max_connections(4)
        .connect_lazy_with(listen.clone());
    let bus = PostgresBus::new(pool, Some(listen), options);
    Ok((Arc::new(bus), lock))
}

/// The bus on a broker that is fed from the database.
async fn beyond(
    url: &str,
    broker: &str,
    prefix: &str,
    options: Options,
) -> Result<Arc<dyn Bus>, Failure> {
    let (bus, lock) = open(url, options.clone().for_relay()).await?;
    let outbox = Outbox {
        bus,
        lock,
        destinations: vec!["flydocs.extractions".to_owned()],
        event_types: vec!["extraction.submitted".to_owned()],
    };
    #[cfg(feature = "kafka")]
    if let Some(servers) = broker.strip_prefix("kafka:") {
        use flydocs_bus::adapters::kafka::{KafkaBus, KafkaOptions};
        let kafka = KafkaOptions {
            bootstrap_servers: servers.to_owned(),
            prefix: prefix.to_owned(),
            partitions: 6,
            session_timeout: Duration::from_secs(6),
            ..KafkaOptions::default()
        };
        return Ok(Arc::new(KafkaBus::new(kafka, outbox, options)?));
    }
    Ok(Arc::new(RedisBus::new(broker, prefix, outbox, options)?))
}

struct Worker {
    consumer: Arc<dyn Consumer>,
    running: Mutex<HashMap<Ticket, AbortHandle>>,
    log: File,
    work: Duration,
}

impl Worker {
    async fn consume(self: Arc<Self>, slots: usize) -> Result<(), Failure> {
        let stop = CancellationToken::new();
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::spawn({
            let stop = stop.clone();
            async move {
                terminate.recv().await;
                stop.cancel();
            }
        });
        let beating = tokio::spawn(Arc::clone(&self).beat());
        let free = Arc::new(Semaphore::new(slots));
        let mut handlers = JoinSet::new();
        while !stop.is_cancelled() {
            let slot = Arc::clone(&free).acquire_owned().await?;
            let claimed = self
                .consumer
                .claim(free.available_permits() + 1, &stop)
                .await?;
            drop(slot);
            for delivery in claimed {
                let slot = Arc::clone(&free).acquire_owned().await?;
                let ticket = delivery.ticket.clone();
                let handling = Arc::clone(&self).handle(delivery);
                let handler = handlers.spawn(async move {
                    let outcome = handling.await;
                    drop(slot);
                    outcome
                });
                self.running().insert(ticket, handler);
            }
            while handlers.try_join_next().is_some() {}
        }
        beating.abort();
        handlers.abort_all();
        self.consumer.close().await?;
        Ok(())
    }

    async fn handle(self: Arc<Self>, delivery: Delivery) -> Result<(), Failure> {
        self.note('S', &delivery)?;
        tokio::time::sleep(self.work).await;
        self.note('E', &delivery)?;
        let outcome = self.consumer.done(&delivery.ticket).await?;
        self.running().remove(&delivery.ticket);
        if outcome == Settled::Lost {
            self.note('L', &delivery)?;
        }
        Ok(())
    }

    async fn beat(self: Arc<Self>) {
        loop {
            tokio::time::sleep(self.consumer.beat_interval()).await;
            let held: Vec<Ticket> = self.running().keys().cloned().collect();
            for lost in self.consumer.beat(&held).await.unwrap_or_default() {
                if let Some(handler) = self.running().remove(&lost) {
                    handler.abort();
                }
            }
        }
    }

    fn running(&self) -> std::sync::MutexGuard<'_, HashMap<Ticket, AbortHandle>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One line, one write: lines of several processes do not mix.
    fn note(&self, what: char, delivery: &Delivery) -> Result<(), Failure> {
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)?
            .as_micros();
        let line = format!(
            "{what} {} {} {now}\n",
            delivery.event_id,
            std::process::id()
        );
        (&self.log).write_all(line.as_bytes())?;
        Ok(())
    }
}
