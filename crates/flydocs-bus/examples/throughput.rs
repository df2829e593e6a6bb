//! How fast a bus is on this machine: no-op drain rate, and the time from a publish to an idle consumer.
//!
//! `cargo run --release -p flydocs-bus --example throughput -- URL [EVENTS] [SLOTS] [CONSUMERS]`, where URL is
//! `sqlite:/path/to/new.db` or `postgres://...` (an empty database).

use std::{
    error::Error,
    io::Write as _,
    path::Path,
    str::FromStr as _,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use flydocs_bus::{
    Bus, Consumer, NewEvent, Options, Settled, Start, Subscription,
    adapters::{postgres::PostgresBus, sqlite::SqliteBus},
    migrations,
};
use sqlx::{
    migrate::Migrator,
    postgres::{PgConnectOptions, PgPoolOptions},
};
use tokio::{sync::Semaphore, task::JoinSet};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

type Failure = Box<dyn Error + Send + Sync>;

const TOPIC: &str = "flydocs.extractions";
const KIND: &str = "extraction.submitted";
const SAMPLES: usize = 500;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let url = arguments
        .first()
        .ok_or("URL [EVENTS] [SLOTS] [CONSUMERS]")?;
    let number =
        |index: usize, default: u32| arguments.get(index).map_or(Ok(default), |n| n.parse());
    let (events, slots, consumers) = (number(1, 20_000)?, number(2, 10)?, number(3, 4)?);
    let bus = open(url).await?;

    let began = Instant::now();
    let mut publishers = JoinSet::new();
    for part in 0..8 {
        let bus = Arc::clone(&bus);
        publishers.spawn(async move {
            for n in (0..events).filter(|n| n % 8 == part) {
                bus.publish(&event(n)).await?;
            }
            Ok::<_, flydocs_bus::Error>(())
        });
    }
    while let Some(done) = publishers.join_next().await {
        done??;
    }
    report(&format!("publish, 8 at once: {:.0}/s", rate(events, began)))?;

    let began = Instant::now();
    let left = Arc::new(AtomicU32::new(events));
    let stop = CancellationToken::new();
    let mut work = JoinSet::new();
    for name in 0..consumers {
        let consumer = bus.subscribe(subscription(&format!("c{name}"))).await?;
        work.spawn(consume(
            consumer,
            slots as usize,
            Arc::clone(&left),
            stop.clone(),
        ));
    }
    while let Some(done) = work.join_next().await {
        done??;
    }
    report(&format!(
        "no-op drain, {consumers} consumers of {slots}: {:.0}/s",
        rate(events, began)
    ))?;

    let consumer = bus.subscribe(subscription("idle")).await?;
    let mut waits = Vec::with_capacity(SAMPLES);
    for n in 0..SAMPLES {
        let began = Instant::now();
        let publisher = Arc::clone(&bus);
        let never = CancellationToken::new();
        let publishing = async {
            tokio::time::sleep(Duration::from_millis(3)).await;
            let began = Instant::now();
            publisher.publish(&event(n as u32)).await.map(|_| began)
        };
        let (claimed, published) = tokio::join!(
            async {
                consumer
                    .claim(1, &never)
                    .await
                    .map(|claimed| (claimed, Instant::now()))
            },
            publishing
        );
        let ((claimed, arrived), published) = (claimed?, published?);
        debug_assert!(published >= began);
        waits.push(arrived.saturating_duration_since(published));
        for delivery in &claimed {
            kept(consumer.done(&delivery.ticket).await?)?;
        }
    }
    waits.sort_unstable();
    let at = |share: usize| {
        waits
            .get(SAMPLES * share / 100)
            .copied()
            .unwrap_or_default()
    };
    report(&format!(
        "publish to idle consumer (commit included): p50 {:?} p95 {:?} p99 {:?}",
        at(50),
        at(95),
        at(99)
    ))?;
    Ok(())
}

async fn open(url: &str) -> Result<Arc<dyn Bus>, Failure> {
    let options = Options::default();
    if let Some(path) = url.strip_prefix("sqlite:") {
        let database = flydocs_bus::sqlite::open(Path::new(path)).await?;
        Migrator::with_migrations(migrations::sqlite())
            .run(&database.writer)
            .await?;
        return Ok(Arc::new(SqliteBus::new(database, options)?));
    }
    let connect = PgConnectOptions::from_str(url)?;
    let pool = PgPoolOptions::new()
        .max_connections(16)
        .test_before_acquire(false)
        .connect_with(connect.clone())
        .await?;
    Migrator::with_migrations(migrations::postgres())
        .run(&pool)
        .await?;
    Ok(Arc::new(PostgresBus::new(pool, Some(connect), options)))
}

async fn consume(
    consumer: Arc<dyn Consumer>,
    slots: usize,
    left: Arc<AtomicU32>,
    stop: CancellationToken,
) -> Result<(), Failure> {
    let free = Arc::new(Semaphore::new(slots));
    let mut handlers = JoinSet::new();
    while !stop.is_cancelled() {
        let slot = Arc::clone(&free).acquire_owned().await?;
        let claimed = consumer.claim(free.available_permits() + 1, &stop).await?;
        drop(slot);
        for delivery in claimed {
            let slot = Arc::clone(&free).acquire_owned().await?;
            let (consumer, left, stop) = (Arc::clone(&consumer), Arc::clone(&left), stop.clone());
            handlers.spawn(async move {
                let outcome = consumer.done(&delivery.ticket).await;
                drop(slot);
                if left.fetch_sub(1, Ordering::AcqRel) == 1 {
                    stop.cancel();
                }
                outcome
            });
        }
        while let Some(done) = handlers.try_join_next() {
            kept(done??)?;
        }
    }
    Ok(())
}

fn subscription(consumer: &str) -> Subscription {
    Subscription {
        group: "flydocs-workers".to_owned(),
        destinations: vec![TOPIC.to_owned()],
        event_types: vec![KIND.to_owned()],
        consumer: consumer.to_owned(),
        start: Start::Earliest,
    }
}

fn event(n: u32) -> NewEvent {
    NewEvent::new(Uuid::new_v4(), TOPIC, KIND, format!(r#"{{"n":{n}}}"#))
}

fn rate(events: u32, began: Instant) -> f64 {
    f64::from(events) / began.elapsed().as_secs_f64()
}

fn kept(outcome: Settled) -> Result<(), Failure> {
    if outcome == Settled::Settled {
        Ok(())
    } else {
        Err(format!("{outcome:?}").into())
    }
}

fn report(line: &str) -> Result<(), Failure> {
    writeln!(std::io::stdout(), "{line}")?;
    Ok(())
}
