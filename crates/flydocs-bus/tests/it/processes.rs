//! Real processes, killed in the middle of their work.

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant, SystemTime},
};

use flydocs_bus::NewEvent;
use uuid::Uuid;

use crate::{
    conformance::{GROUP, event},
    houses::{House, postgres::PostgresHouse, redis::RedisHouse, sqlite::SqliteHouse},
};

const EVENTS: u32 = 400;
const KILLS: usize = 6;
const LEASE: Duration = Duration::from_secs(3);
const PATIENCE: Duration = Duration::from_mins(2);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_sqlite_kill_9_loses_nothing_and_runs_nothing_twice_at_once() {
    let house = SqliteHouse::open().await;
    let url = format!("sqlite:{}", house.database.path.display());
    kill_9_loses_nothing(&house, &url, &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_redis_kill_9_loses_nothing_and_runs_nothing_twice_at_once() {
    let house = RedisHouse::without_relay().await;
    let url = house.outbox.url.clone();
    let broker = [house.url.clone(), house.prefix.clone()];
    kill_9_loses_nothing(&house, &url, &broker).await;
}

#[cfg(feature = "kafka")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_kafka_kill_9_loses_nothing_and_runs_nothing_twice_at_once() {
    let house = crate::houses::kafka::KafkaHouse::without_relay(6).await;
    let url = house.outbox.url.clone();
    let broker = [
        format!("kafka:{}", house.kafka.bootstrap_servers),
        house.kafka.prefix.clone(),
    ];
    kill_9_loses_nothing(&house, &url, &broker).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgres_kill_9_loses_nothing_and_runs_nothing_twice_at_once() {
    let house = PostgresHouse::open().await;
    let url = house.url.clone();
    kill_9_loses_nothing(&house, &url, &[]).await;
}

async fn kill_9_loses_nothing(house: &dyn House, url: &str, broker: &[String]) {
    let bus = house.bus(crate::houses::options()).await;
    let mut herd = Herd::new(url, broker);
    let log = herd.log.clone();
    (0..3).for_each(|_| herd.spawn());

    let events: Vec<NewEvent> = (0..EVENTS).map(event).collect();
    for (round, batch) in events.chunks(EVENTS as usize / KILLS + 1).enumerate() {
        house.transaction(batch, true).await;
        bus.wake(crate::conformance::TOPIC);
        // Each victim dies with work in its hands.
        let begun = 30 * (round + 1);
        wait_until(&log, |notes| {
            notes.iter().filter(|note| note.what == 'S').count() >= begun
        })
        .await;
        herd.kill(round % 3);
        herd.spawn();
    }
    herd.until_all_ended(&events).await;

    assert_eq!(herd.died.len(), KILLS);
    assert_never_twice_at_once(&notes(&log), &herd.died);
    assert!(bus.dead_letters(None, 10).await.unwrap().is_empty());
    // What was cut off between its end and its settlement comes once more; then nothing is owed.
    let began = Instant::now();
    loop {
        let status = bus.status().await.unwrap();
        let group = status.groups.into_iter().find(|group| group.group == GROUP);
        // On kafka only the processes that hold it can say what is owed.
        let Some(group) = group else { break };
        if group.undrained + group.due + group.delayed + group.in_flight == 0 {
            break;
        }
        assert!(began.elapsed() < PATIENCE, "still owed: {group:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_never_twice_at_once(&notes(&log), &herd.died);
}

/// The processes of the group.
pub(crate) struct Herd {
    url: String,
    /// Its URL and the prefix of what is on it, when the events go through one.
    broker: Vec<String>,
    log: PathBuf,
    alive: Vec<Child>,
    /// When each victim was gone, in microseconds since 1970.
    died: HashMap<u32, u128>,
    environment: Vec<(String, String)>,
    _folder: tempfile::TempDir,
}

impl Herd {
    pub(crate) fn new(url: &str, broker: &[String]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        std::fs::write(&log, "").unwrap();
        Self {
            url: url.to_owned(),
            broker: broker.to_vec(),
            log,
            alive: Vec::new(),
            died: HashMap::new(),
            environment: Vec::new(),
            _folder: folder,
        }
    }

    /// For those that come from now on.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    /// Until each of these events was handled to its end.
    pub(crate) async fn until_all_ended(&self, events: &[NewEvent]) {
        let wanted: HashSet<Uuid> = events.iter().map(|event| event.event_id).collect();
        wait_until(&self.log, |notes| {
            let ended: HashSet<Uuid> = notes
                .iter()
                .filter(|n| n.what == 'E')
                .map(|n| n.event)
                .collect();
            ended.is_superset(&wanted)
        })
        .await;
    }

    pub(crate) fn spawn(&mut self) {
        let probe = Command::new(env!("CARGO_BIN_EXE_flydocs-bus-probe"))
            .args([
                &self.url,
                GROUP,
                &format!("probe-{}", self.alive.len()),
                "4",
            ])
            .args([LEASE.as_millis().to_string(), "20".to_owned()])
            .arg(&self.log)
            .args(&self.broker)
            .envs(self.environment.iter().cloned())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        self.alive.push(probe);
    }

    fn kill(&mut self, index: usize) {
        let mut victim = self.alive.swap_remove(index);
        victim.kill().unwrap();
        victim.wait().unwrap();
        self.died.insert(victim.id(), micros());
    }
}

impl Drop for Herd {
    fn drop(&mut self) {
        for child in &mut self.alive {
            child.kill().unwrap_or_default();
            child.wait().map(drop).unwrap_or_default();
        }
    }
}

fn micros() -> u128 {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap()
        .as_micros()
}

/// One line of the log.
#[derive(Debug, Clone, Copy)]
struct Note {
    what: char,
    event: Uuid,
    pid: u32,
    at: u128,
}

fn notes(log: &Path) -> Vec<Note> {
    let text = std::fs::read_to_string(log).unwrap();
    let whole_lines = text.rsplit_once('\n').map_or("", |(lines, _)| lines);
    whole_lines
        .lines()
        .map(|line| {
            let fields: Vec<&str> = line.split(' ').collect();
            let [what, event, pid, at] = fields.as_slice() else {
                panic!("a torn line: {line}")
            };
            Note {
                what: what.chars().next().unwrap(),
                event: event.parse().unwrap(),
                pid: pid.parse().unwrap(),
                at: at.parse().unwrap(),
            }
        })
        .collect()
}

async fn wait_until(log: &Path, reached: impl Fn(&[Note]) -> bool) {
    let began = Instant::now();
    while !reached(&notes(log)) {
        assert!(
            began.elapsed() < PATIENCE,
            "not reached within {PATIENCE:?}"
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The handlings of one event do not overlap; one that was cut off ended when its process did.
fn assert_never_twice_at_once(notes: &[Note], died: &HashMap<u32, u128>) {
    let mut handlings: HashMap<Uuid, Vec<(u128, u128)>> = HashMap::new();
    for begin in notes.iter().filter(|note| note.what == 'S') {
        let end = notes
            .iter()
            .find(|n| {
                n.what == 'E' && (n.event, n.pid) == (begin.event, begin.pid) && n.at >= begin.at
            })
            .map(|note| note.at)
            .or_else(|| died.get(&begin.pid).copied())
            // It runs.
            .unwrap_or_else(micros);
        handlings
            .entry(begin.event)
            .or_default()
            .push((begin.at, end));
    }
    for (event, times) in &mut handlings {
        times.sort_unstable();
        for pair in times.windows(2) {
            assert!(
                pair[0].1 <= pair[1].0,
                "{event} ran twice at once: {times:?}"
            );
        }
    }
}
