//! Our queue as a program that `cargo xtask bench queue` drives beside its peers, with the same words for the same
//! work: `queue KIND setup | enqueue N CONNECTIONS | drain SLOTS MODE [SECONDS] | latw FILE MODE | late N`.
//!
//! KIND `extraction` is the whole way, as the workers take it, with a pipeline that does nothing: the row, its log and
//! its event in one transaction; the claim of the row; the file read; the result, the log and the next event in one
//! transaction. KIND `event` is the bus alone, which is what a job queue is: an event in its own transaction, leased,
//! handled, settled.

use std::{
    collections::HashSet,
    error::Error,
    fs::{File, OpenOptions},
    io::Write as _,
    str::FromStr as _,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, SystemTime},
};

use flydocs_bus::{
    Bus, Consumer, Delivery, NewEvent, Settled, Start, Subscription,
    adapters::postgres::PostgresBus,
};
use flydocs_contract::{
    Envelope, EventType, ExtractionId, JsonObject, event, request::ExtractionOptions,
};
use flydocs_store::{
    BlobId, Claimed, Correlation, NewExtraction, Store, StoredFile, StoredRequest,
};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use tokio::{
    sync::{Notify, Semaphore},
    task::JoinSet,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

type Failure = Box<dyn Error + Send + Sync>;

/// So many different files lie ready: submissions of one file would wait for each other's count of its uses.
const FILES: usize = 64;
/// The queue is empty when nothing was handled for so long.
const IDLE: Duration = Duration::from_millis(2500);
/// How many events one claim takes in the mode `batch`.
const BATCH: usize = 250;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [kind, command, rest @ ..] = words.as_slice() else {
        return Err("KIND COMMAND ...".into());
    };
    let kind = match *kind {
        "extraction" => Kind::Extraction,
        "event" => Kind::Event,
        other => return Err(format!("no kind is called {other}").into()),
    };
    #[expect(
        clippy::disallowed_methods,
        reason = "the driver gives the database like this to every peer"
    )]
    let url = std::env::var("DATABASE_URL")?;
    match (*command, rest) {
        ("setup", []) => setup(&url).await,
        ("enqueue", [number, connections]) => {
            enqueue(&url, kind, number.parse()?, connections.parse()?).await
        }
        ("drain", [slots, mode, limit @ ..]) => {
            let limit = limit.first().map_or(Ok(3600), |seconds| seconds.parse())?;
            let seen = Arc::new(Seen::default());
            work(
                &url,
                kind,
                slots.parse()?,
                mode,
                &seen,
                Duration::from_secs(limit),
            )
            .await?;
            say(&seen.told())
        }
        ("latw", [file, mode]) => {
            let out = OpenOptions::new().create(true).append(true).open(file)?;
            let seen = Arc::new(Seen {
                out: Some(out),
                ..Seen::default()
            });
            work(&url, kind, 10, mode, &seen, Duration::from_hours(1)).await
        }
        ("late", [number]) => late(&url, kind, number.parse()?).await,
        _ => Err(format!("unknown: {words:?}").into()),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Extraction,
    Event,
}

/// What a process of ours stands on.
#[derive(Clone)]
struct House {
    store: Arc<dyn Store>,
    bus: Arc<dyn Bus>,
}

impl House {
    /// As the roles of flydocs open it.
    async fn open(url: &str, connections: u32) -> Result<Self, Failure> {
        let options = flydocs_store::Options {
            max_connections: connections,
            ..flydocs_store::Options::default()
        };
        let store = flydocs_store::open(url, options).await?;
        let direct = PgConnectOptions::from_str(url)?;
        let pool = PgPoolOptions::new()
            .max_connections(connections)
            .connect_with(direct.clone())
            .await?;
        let bus: Arc<dyn Bus> = Arc::new(PostgresBus::new(
            pool,
            Some(direct),
            flydocs_bus::Options::default(),
        ));
        store.on_published(Arc::new({
            let bus = Arc::clone(&bus);
            move |topic: &str| bus.wake(topic)
        }));
        Ok(Self { store, bus })
    }

    /// The ids of the files that `setup` stored.
    async fn files(&self) -> Result<Vec<BlobId>, Failure> {
        let mut files = Vec::with_capacity(FILES);
        for number in 0..FILES {
            let content = bytes::Bytes::from(format!("file {number}"));
            let upload = Box::pin(futures::stream::iter([Ok(content)]));
            files.push(self.store.put_blob(upload).await?.id);
        }
        Ok(files)
    }

    async fn submit(&self, number: usize, file: BlobId, at: f64) -> Result<(), Failure> {
        let new = NewExtraction {
            id: fresh_id(),
            tenant_id: None,
            idempotency_key: None,
            request_digest: "digest".to_owned(),
            request: StoredRequest {
                intention: at.to_string(),
                document_types: Vec::new(),
                rules: Vec::new(),
                options: ExtractionOptions::default(),
                files: vec![StoredFile {
                    filename: format!("{number}.txt"),
                    content_type: None,
                    expected_type: None,
                    sha256: file,
                    bytes: 7,
                }],
            },
            callback_url: None,
            metadata: JsonObject::new(),
            correlation: Correlation::default(),
        };
        self.store.submit(new).await?;
        Ok(())
    }

    async fn publish(&self, at: f64) -> Result<(), Failure> {
        let event = NewEvent::new(
            uuid::Uuid::new_v4(),
            event::JOBS_TOPIC,
            EventType::Submitted.as_str(),
            serde_json::json!({ "at": at }).to_string(),
        );
        self.bus.publish(&event).await?;
        Ok(())
    }
}

async fn setup(url: &str) -> Result<(), Failure> {
    let house = House::open(url, 4).await?;
    house.store.migrate().await?;
    house.files().await?;
    // A group that exists from the beginning, as in production.
    let joined = house.bus.subscribe(subscription()).await?;
    joined.close().await?;
    Ok(())
}

fn subscription() -> Subscription {
    Subscription {
        group: event::WORKERS_GROUP.to_owned(),
        destinations: vec![event::JOBS_TOPIC.to_owned()],
        event_types: vec![EventType::Submitted.as_str().to_owned()],
        consumer: format!("bench-{}", std::process::id()),
        start: Start::Earliest,
    }
}

/// One after the other on each connection.
async fn enqueue(url: &str, kind: Kind, number: usize, connections: u32) -> Result<(), Failure> {
    let house = Arc::new(House::open(url, connections).await?);
    let files = Arc::new(house.files().await?);
    let taken = Arc::new(AtomicU32::new(0));
    let began = now();
    let mut lanes = JoinSet::new();
    for _ in 0..connections {
        let (house, files, taken) = (Arc::clone(&house), Arc::clone(&files), Arc::clone(&taken));
        lanes.spawn(async move {
            loop {
                let next = taken.fetch_add(1, Ordering::Relaxed) as usize;
                if next >= number {
                    return Ok::<_, Failure>(());
                }
                match kind {
                    Kind::Extraction => {
                        let file = files.get(next % FILES).copied().ok_or("no file")?;
                        house.submit(next, file, 0.0).await?;
                    }
                    Kind::Event => house.publish(0.0).await?,
                }
            }
        });
    }
    while let Some(ended) = lanes.join_next().await {
        ended??;
    }
    let seconds = (now() - began) / 1000.0;
    say(&serde_json::json!({ "n": number, "secs": seconds, "rate": number as f64 / seconds }))
}

/// With a pause of 100 to 200 ms before each, and its time in it.
async fn late(url: &str, kind: Kind, number: usize) -> Result<(), Failure> {
    let house = House::open(url, 2).await?;
    let files = house.files().await?;
    for next in 0..number {
        let chance = f64::from(uuid::Uuid::new_v4().as_u128() as u32) / f64::from(u32::MAX);
        let pause = Duration::from_secs_f64(0.1 + 0.1 * chance);
        tokio::time::sleep(pause).await;
        match kind {
            Kind::Extraction => {
                let file = files.get(next % FILES).copied().ok_or("no file")?;
                house.submit(next, file, now()).await?;
            }
            Kind::Event => house.publish(now()).await?,
        }
    }
    // What is told after the commit is told by a task.
    tokio::time::sleep(Duration::from_millis(200)).await;
    Ok(())
}

/// What was handled.
#[derive(Debug, Default)]
struct Seen {
    handled: Mutex<Handled>,
    more: Notify,
    /// Where begin times go, in a latency run.
    out: Option<File>,
}

#[derive(Debug, Default)]
struct Handled {
    count: u64,
    first: f64,
    last: f64,
    unique: HashSet<String>,
}

impl Seen {
    fn note(&self, id: String, at: impl FnOnce() -> f64) {
        let moment = now();
        if let Some(out) = &self.out {
            let line = format!("{}\n", serde_json::json!({ "e": at(), "s": moment }));
            // A driver that finds too few lines says so.
            (&*out).write_all(line.as_bytes()).unwrap_or_default();
            return;
        }
        let mut handled = self.handled.lock().unwrap_or_else(PoisonError::into_inner);
        if handled.count == 0 {
            handled.first = moment;
        }
        handled.count += 1;
        handled.last = moment;
        handled.unique.insert(id);
        self.more.notify_one();
    }

    fn told(&self) -> serde_json::Value {
        let handled = self.handled.lock().unwrap_or_else(PoisonError::into_inner);
        serde_json::json!({
            "count": handled.count, "uniq": handled.unique.len(), "first": handled.first, "last": handled.last,
            "peak_mb": peak_memory(),
        })
    }

    /// Returns when something was handled and then nothing for a while, or after `limit`; only the latter in a latency
    /// run.
    async fn idle(&self, limit: Duration) {
        let drained = async {
            self.more.notified().await;
            while timeout(IDLE, self.more.notified()).await.is_ok() {}
        };
        timeout(limit, drained).await.unwrap_or_default();
    }
}

/// A worker until there is nothing left.
async fn work(
    url: &str,
    kind: Kind,
    slots: usize,
    mode: &str,
    seen: &Arc<Seen>,
    limit: Duration,
) -> Result<(), Failure> {
    let house = House::open(url, slots as u32 + 1).await?;
    let stop = CancellationToken::new();
    let worker = Worker {
        consumer: house.bus.subscribe(subscription()).await?,
        name: format!("bench:{}", std::process::id()),
        house,
        kind,
        seen: Arc::clone(seen),
    };
    let at_once = if mode == "batch" { BATCH } else { slots };
    let mut working = tokio::spawn(consume(Arc::new(worker), at_once, stop.clone()));
    tokio::select! {
        () = seen.idle(limit) => {}
        ended = &mut working => return ended?,
    }
    stop.cancel();
    working.await?
}

struct Worker {
    house: House,
    consumer: Arc<dyn Consumer>,
    name: String,
    kind: Kind,
    seen: Arc<Seen>,
}

impl Worker {
    async fn handle(&self, delivery: &Delivery) -> Result<Settled, Failure> {
        match self.kind {
            Kind::Extraction => self.extract(delivery).await?,
            Kind::Event => self
                .seen
                .note(delivery.event_id.to_string(), || sent_at(delivery)),
        }
        Ok(self.consumer.done(&delivery.ticket).await?)
    }

    async fn extract(&self, delivery: &Delivery) -> Result<(), Failure> {
        let envelope: Envelope = serde_json::from_str(&delivery.payload)?;
        let id = envelope.extraction.id;
        let store = &self.house.store;
        let Claimed::Won(claim) = store.mark_running(id, &self.name).await? else {
            return Err(format!("{id} could not be claimed").into());
        };
        for file in &claim.request.files {
            let bytes = store.get_blob(&file.sha256).await?.ok_or("no bytes")?;
            drop(bytes.collect().await?);
        }
        self.seen.note(id.to_string(), || {
            claim.request.intention.parse().unwrap_or(f64::NAN)
        });
        let result = serde_json::json!({
            "id": id, "status": "success", "files": [], "documents": [], "discovered_documents": [],
            "rule_results": [], "request_transformations": [],
            "pipeline": {
                "model": "nothing", "latency_ms": 0.0, "trace": [], "errors": [], "escalation": null, "usage": null,
            },
        });
        let settled = store
            .mark_succeeded(&claim.token, &result.to_string(), false)
            .await?;
        settled.ok_or("the claim was lost")?;
        Ok(())
    }
}

async fn consume(
    worker: Arc<Worker>,
    at_once: usize,
    stop: CancellationToken,
) -> Result<(), Failure> {
    let free = Arc::new(Semaphore::new(at_once));
    let mut handlers = JoinSet::new();
    while !stop.is_cancelled() {
        // As the workers do: as many as there are free slots.
        drop(free.acquire().await?);
        let claimed = worker
            .consumer
            .claim(free.available_permits(), &stop)
            .await?;
        for delivery in claimed {
            let slot = Arc::clone(&free).acquire_owned().await?;
            let worker = Arc::clone(&worker);
            handlers.spawn(async move {
                let settled = worker.handle(&delivery).await;
                drop(slot);
                settled
            });
        }
        while let Some(ended) = handlers.try_join_next() {
            if ended?? != Settled::Settled {
                return Err("a lease was lost".into());
            }
        }
    }
    worker.consumer.close().await?;
    Ok(())
}

fn sent_at(delivery: &Delivery) -> f64 {
    serde_json::from_str::<serde_json::Value>(&delivery.payload)
        .ok()
        .and_then(|payload| payload["at"].as_f64())
        .unwrap_or(f64::NAN)
}

fn fresh_id() -> ExtractionId {
    ExtractionId::from_parts(now() as u64, uuid::Uuid::new_v4().as_u128())
}

/// Milliseconds since 1970.
fn now() -> f64 {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs_f64()
        * 1000.0
}

/// The most memory this process had, in megabytes.
fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes / 1024.0)
}

fn say(value: &serde_json::Value) -> Result<(), Failure> {
    let mut out = std::io::stdout();
    out.write_all(format!("{value}\n").as_bytes())?;
    Ok(out.flush()?)
}
