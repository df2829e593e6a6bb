//! What a bus costs, for every adapter that many hosts can share, in one run on servers of its own: how fast a backlog
//! is carried and handled, how long an event takes from its commit to an idle consumer at 200 a second, and what the
//! process needs while its broker is away.
//!
//! Prints `docs/benchmarks/bus.md`, where `cargo xtask bench bus [EVENTS] [BACKLOG]` writes it.

use std::{
    error::Error,
    io::Write as _,
    str::FromStr as _,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use flydocs_bus::{
    Bus, Consumer, NewEvent, Options, Settled, Start, Subscription,
    adapters::{postgres::PostgresBus, redis::RedisBus},
    migrations,
    relay::{Outbox, RelayLock},
};
use flydocs_testkit::{postgres, redis};
use sqlx::{
    PgPool,
    migrate::Migrator,
    postgres::{PgConnectOptions, PgPoolOptions},
};
use tokio::{
    sync::{Notify, Semaphore},
    task::JoinSet,
    time::{MissedTickBehavior, interval},
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
use uuid::Uuid;

type Failure = Box<dyn Error + Send + Sync>;

const TOPIC: &str = "flydocs.extractions";
const KIND: &str = "extraction.submitted";
const CONSUMERS: usize = 4;
const SLOTS: usize = 10;
/// Events a second while the time to an idle consumer is measured, and how many of them.
const RATE: u32 = 200;
const SAMPLES: u32 = 2000;

/// Handled before the clock starts: Kafka hands out partitions first, and every pool has to be filled.
const WARM: u32 = 500;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: u32| arguments.get(at).map_or(Ok(default), |n| n.parse());
    let (events, backlog) = (number(0, 20_000)?, number(1, 100_000)?);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    report(&format!(
        "# The buses beside each other\n\n\
         Written by `cargo xtask bench bus {events} {backlog}`. All figures are of one run on one machine, with a server \
         of its own for each adapter: trust the ratios. Load averages at its beginning: {}. The broker behind the \
         adapter `kafka` is the small one that the tests start (Tansu, one process): it says what \
         the adapter can do, not what a Kafka cluster can.\n\n\
         - *Outbox to settled*: {events} events of 1 kB, written in one transaction, carried and handled by \
         {CONSUMERS} consumers with {SLOTS} slots each whose handlers do nothing.\n\
         - *To an idle consumer*: from the call of `publish` until one idle consumer has the event, {SAMPLES} events \
         at {RATE} a second; with a broker that passes through the relay.\n\n\
         | adapter | outbox to settled, events/s | to an idle consumer p50 | p95 | p99 | p99 above `postgres` |\n\
         |---|--:|--:|--:|--:|--:|",
        load.trim()
    ))?;
    let mut plain = None;
    for adapter in ["postgres", "redis", "kafka"] {
        let Some(house) = House::open(adapter).await? else {
            report(&format!("| `{adapter}` | not built in | | | | |"))?;
            continue;
        };
        let rate = drained(&house, events).await?;
        let [p50, p95, p99] = awaited(&house).await?;
        let above = p99 - *plain.get_or_insert(p99);
        report(&format!(
            "| `{adapter}` | {rate:.0} | {p50:.1} ms | {p95:.1} ms | {p99:.1} ms | {above:.1} ms |"
        ))?;
        house.close().await;
    }
    let house = House::open("redis").await?.ok_or("redis")?;
    without_broker(&house, backlog).await
}

/// A database, a broker when the adapter has one, and a bus on them.
struct House {
    bus: Arc<dyn Bus>,
    pool: PgPool,
    redis: Option<Arc<redis::Server>>,
    #[cfg(feature = "kafka")]
    _kafka: Option<flydocs_testkit::kafka::Broker>,
    relay: Option<AbortOnDropHandle<()>>,
}

impl House {
    async fn open(adapter: &'static str) -> Result<Option<Self>, Failure> {
        let url = postgres::database().await?.url;
        let connect = PgConnectOptions::from_str(&url)?;
        let pool = PgPoolOptions::new()
            .max_connections(12)
            .test_before_acquire(false)
            .connect_with(connect.clone())
            .await?;
        Migrator::with_migrations(migrations::postgres())
            .run(&pool)
            .await?;
        let database = |options: Options| {
            Arc::new(PostgresBus::new(
                pool.clone(),
                Some(connect.clone()),
                options,
            ))
        };
        let outbox = || Outbox {
            bus: database(Options::default().for_relay()),
            lock: RelayLock::postgres(connect.clone()),
            destinations: vec![TOPIC.to_owned()],
            event_types: vec![KIND.to_owned()],
        };
        let mut server = None;
        #[cfg(feature = "kafka")]
        let mut broker = None;
        let bus: Arc<dyn Bus> = match adapter {
            "redis" => {
                let started = tokio::task::spawn_blocking(redis::Server::start).await??;
                let url = started.url();
                server = Some(Arc::new(started));
                Arc::new(RedisBus::new(&url, "bench", outbox(), Options::default())?)
            }
            #[cfg(feature = "kafka")]
            "kafka" => {
                use flydocs_bus::adapters::kafka::{KafkaBus, KafkaOptions};
                let started =
                    tokio::task::spawn_blocking(flydocs_testkit::kafka::Broker::start).await??;
                let kafka = KafkaOptions {
                    bootstrap_servers: started.bootstrap_servers(),
                    session_timeout: Duration::from_secs(6),
                    ..KafkaOptions::default()
                };
                broker = Some(started);
                Arc::new(KafkaBus::new(kafka, outbox(), Options::default())?)
            }
            #[cfg(not(feature = "kafka"))]
            "kafka" => return Ok(None),
            _ => database(Options::default()),
        };
        let relay = bus.relay().map(|relay| {
            AbortOnDropHandle::new(tokio::spawn(async move {
                if let Err(error) = relay.run(CancellationToken::new()).await {
                    report(&format!("the relay ended: {error}")).unwrap_or_default();
                }
            }))
        });
        Ok(Some(Self {
            bus,
            pool,
            redis: server,
            #[cfg(feature = "kafka")]
            _kafka: broker,
            relay,
        }))
    }

    /// So many events in one transaction.
    async fn flood(&self, events: u32) -> Result<(), Failure> {
        sqlx::query(
            "INSERT INTO bus.outbox (event_id, destination, event_type, payload)
             SELECT gen_random_uuid(), $1, $2, json_build_object('n', i, 'text', repeat('x', 1000))::text
             FROM generate_series(1, $3) i",
        )
        .bind(TOPIC)
        .bind(KIND)
        .bind(events as i32)
        .execute(&self.pool)
        .await?;
        self.bus.wake(TOPIC);
        Ok(())
    }

    async fn join(&self, consumer: &str) -> Result<Arc<dyn Consumer>, Failure> {
        let subscription = Subscription {
            group: "flydocs-workers".to_owned(),
            destinations: vec![TOPIC.to_owned()],
            event_types: vec![KIND.to_owned()],
            consumer: consumer.to_owned(),
            start: Start::Earliest,
        };
        Ok(self.bus.subscribe(subscription).await?)
    }

    async fn close(self) {
        drop(self.relay);
        self.pool.close().await;
    }
}

/// Events a second of a backlog through the relay, the broker and handlers that do nothing.
async fn drained(house: &House, events: u32) -> Result<f64, Failure> {
    let work = Arc::new(Work::default());
    let mut consuming = JoinSet::new();
    let mut members = Vec::new();
    for name in 0..CONSUMERS {
        let consumer = house.join(&format!("c{name}")).await?;
        members.push(Arc::clone(&consumer));
        consuming.spawn(consume(consumer, Arc::clone(&work)));
    }
    house.flood(WARM).await?;
    work.reached(WARM, &mut consuming).await?;
    let began = Instant::now();
    house.flood(events).await?;
    work.reached(WARM + events, &mut consuming).await?;
    let rate = f64::from(events) / began.elapsed().as_secs_f64();
    work.stop.cancel();
    while let Some(done) = consuming.join_next().await {
        done??;
    }
    for member in members {
        member.close().await?;
    }
    Ok(rate)
}

/// What the consumers of one run have settled.
#[derive(Default)]
struct Work {
    settled: AtomicU32,
    more: Notify,
    stop: CancellationToken,
}

impl Work {
    /// Waits for so many, or for a consumer that failed.
    async fn reached(
        &self,
        events: u32,
        consuming: &mut JoinSet<Result<(), Failure>>,
    ) -> Result<(), Failure> {
        loop {
            let more = self.more.notified();
            if self.settled.load(Ordering::Acquire) >= events {
                return Ok(());
            }
            tokio::select! {
                () = more => {}
                ended = consuming.join_next() => {
                    ended.ok_or("no consumer")???;
                    return Err("a consumer ended before all was settled".into());
                }
            }
        }
    }
}

async fn consume(consumer: Arc<dyn Consumer>, work: Arc<Work>) -> Result<(), Failure> {
    let free = Arc::new(Semaphore::new(SLOTS));
    let mut handlers = JoinSet::new();
    while !work.stop.is_cancelled() {
        let slot = Arc::clone(&free).acquire_owned().await?;
        let claimed = consumer
            .claim(free.available_permits() + 1, &work.stop)
            .await?;
        drop(slot);
        for delivery in claimed {
            let slot = Arc::clone(&free).acquire_owned().await?;
            let (consumer, work) = (Arc::clone(&consumer), Arc::clone(&work));
            handlers.spawn(async move {
                let outcome = consumer.done(&delivery.ticket).await;
                drop(slot);
                work.settled.fetch_add(1, Ordering::AcqRel);
                work.more.notify_one();
                outcome
            });
        }
        while let Some(done) = handlers.try_join_next() {
            kept(done??)?;
        }
    }
    while let Some(done) = handlers.join_next().await {
        kept(done??)?;
    }
    Ok(())
}

/// From publish to an idle consumer at a steady rate: p50, p95 and p99 in milliseconds.
async fn awaited(house: &House) -> Result<[f64; 3], Failure> {
    let consumer = house.join("idle").await?;
    let publishing = tokio::spawn({
        let bus = Arc::clone(&house.bus);
        async move {
            let mut ticks = interval(Duration::from_secs(1) / RATE);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            for _ in 0..SAMPLES + RATE {
                ticks.tick().await;
                let bus = Arc::clone(&bus);
                let at = micros();
                let payload = format!(r#"{{"at":{at},"text":"{}"}}"#, "x".repeat(1000));
                let event = NewEvent::new(Uuid::new_v4(), TOPIC, KIND, payload);
                bus.publish(&event).await?;
            }
            Ok::<_, flydocs_bus::Error>(())
        }
    });
    let never = CancellationToken::new();
    let mut waits = Vec::new();
    while waits.len() < (SAMPLES + RATE) as usize {
        let claimed = consumer.claim(SLOTS, &never).await?;
        let now = micros();
        for delivery in &claimed {
            let payload: serde_json::Value = serde_json::from_str(&delivery.payload)?;
            let at = payload["at"].as_u64().unwrap_or(now);
            waits.push(now.saturating_sub(at));
        }
        let settling = claimed
            .iter()
            .map(|delivery| consumer.done(&delivery.ticket));
        for settled in futures::future::join_all(settling).await {
            kept(settled?)?;
        }
    }
    publishing.await??;
    consumer.close().await?;
    // The first second warms up.
    let mut waits = waits.split_off(RATE as usize);
    waits.sort_unstable();
    let at = |share: f64| {
        let index = (waits.len() as f64 * share) as usize;
        waits.get(index).copied().unwrap_or_default() as f64 / 1000.0
    };
    Ok([at(0.5), at(0.95), at(0.99)])
}

/// A backlog that is produced while the broker is away, and then carried.
async fn without_broker(house: &House, backlog: u32) -> Result<(), Failure> {
    let server = house.redis.clone().ok_or("no server")?;
    let consumer = house.join("late").await?;
    let before = resident_mib();
    server.crash()?;
    let began = Instant::now();
    let mut waiting = before;
    for part in 0..20 {
        house
            .flood(backlog / 20 + u32::from(part == 0) * (backlog % 20))
            .await?;
        waiting = waiting.max(resident_mib());
    }
    let produced = began.elapsed();
    server.resume()?;
    let began = Instant::now();
    let (mut seen, mut most) = (0, waiting);
    let never = CancellationToken::new();
    while seen < backlog {
        let claimed = consumer.claim(200, &never).await?;
        seen += claimed.len() as u32;
        let settling = claimed
            .iter()
            .map(|delivery| consumer.done(&delivery.ticket));
        for settled in futures::future::join_all(settling).await {
            kept(settled?)?;
        }
        most = most.max(resident_mib());
    }
    report(&format!(
        "\n## A broker that is away\n\n\
         With the Redis server killed, {backlog} events were committed in {:.1} s; when it was back they were carried \
         and settled at {:.0} a second by one consumer. Resident memory of the process with relay and consumer: \
         {before} MiB before, at most {waiting} MiB while they were written, at most {most} MiB while they were carried.",
        produced.as_secs_f64(),
        f64::from(backlog) / began.elapsed().as_secs_f64()
    ))
}

fn resident_mib() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let resident = pages
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok());
    resident.unwrap_or(0) * 4 / 1024
}

fn micros() -> u64 {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.as_micros() as u64)
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
