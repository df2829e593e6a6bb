//! Submissions at a fixed rate, beside a handler that only hashes the body.
//!
//! Calls are sent whether or not the ones before were answered, and are timed from the moment they were due: a
//! service that stalls cannot hide it.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use axum::{Router, body::Body, http::StatusCode, routing::post};
use flydocs_testkit::postgres;
use futures::StreamExt as _;
use sha2::{Digest as _, Sha256};
use tokio::{
    net::TcpListener,
    task::JoinSet,
    time::{MissedTickBehavior, interval},
};

use super::{
    Page, Plan, TYPES,
    figures::Figures,
    process::{Process, client, sqlite},
};
use crate::{bench::stalls::Watch, run::say};

const DOCUMENT: usize = 100_000;
const BAR: Duration = Duration::from_millis(25);

/// Measures both stores.
pub(super) async fn measure(plan: &Plan, page: &mut Page) -> Result<()> {
    page.line(&format!(
        "\n## Submitting a document of 100 kB at {} a second for {} s\n\n\
         Milliseconds from the moment the call was due to the whole answer; bar: p99 under 25 ms. A virtual machine \
         whose host takes its processors away is slow for moments; *steady* leaves out the calls that such a moment \
         touched, as a thread saw it that did the same piece of work all the time.\n\n\
         | | p50 | p99 | longest | steady: calls | p99 | longest | p99 / bare | resident at most, MiB | |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|---|",
        plan.rate, plan.seconds
    ));
    let bare = Bare::start().await?;
    let beside = load(plan, &bare.url).await?;
    page.line(&format!(
        "| axum handler that hashes the body | {} | 1.0 | | |",
        beside.cells()
    ));
    let mut slow = vec![format!("bare: {}", beside.slow)];
    let folder = tempfile::tempdir()?;
    let on_postgres = postgres::database().await?;
    for (name, database) in [
        ("SQLite", sqlite(folder.path())),
        ("PostgreSQL", on_postgres.url.clone()),
    ] {
        let serve = Process::start(plan, "serve", &database)?;
        let figures = load(plan, &format!("{}/api/v1/extractions", serve.url)).await?;
        let (ours, theirs) = (figures.steady.at(0.99), beside.steady.at(0.99));
        slow.push(format!("{name}: {}", figures.slow));
        page.line(&format!(
            "| {name} | {} | {:.1} | {:.0} | {} |",
            figures.cells(),
            ours.as_secs_f64() / theirs.as_secs_f64(),
            serve.figure("VmHWM")? as f64 / 1024.0,
            Page::verdict(ours <= BAR),
        ));
    }
    page.line(&format!("\nThe machine meanwhile. {}.", slow.join("; ")));
    Ok(())
}

/// An axum handler that reads and hashes a body, and nothing else.
struct Bare {
    url: String,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Bare {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Bare {
    async fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/", listener.local_addr()?);
        let routes = Router::new().route("/", post(hash));
        let task = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, routes).await {
                say(&format!("the bare handler ended: {error}"));
            }
        });
        Ok(Self { url, task })
    }
}

async fn hash(body: Body) -> (StatusCode, String) {
    let mut hash = Sha256::new();
    let mut chunks = body.into_data_stream();
    while let Some(Ok(chunk)) = chunks.next().await {
        hash.update(&chunk);
    }
    let digest: [u8; 32] = hash.finalize().into();
    (StatusCode::ACCEPTED, format!("{digest:02x?}"))
}

/// A multipart body whose document is like no other.
fn multipart(number: u64) -> Vec<u8> {
    let mut body = format!(
        "--e\r\nContent-Disposition: form-data; name=\"request\"\r\n\r\n{TYPES}\r\n--e\r\nContent-Disposition: form-data; name=\"files\"; filename=\"a.pdf\"\r\n\r\n"
    )
    .into_bytes();
    let document = body.len();
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    while body.len() < document + DOCUMENT {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        body.extend(state.to_le_bytes());
    }
    body.extend(b"\r\n--e--\r\n");
    body
}

/// What a load found.
struct Loaded {
    all: Figures,
    /// Of the calls that no slow moment of the machine touched.
    steady: Figures,
    steady_calls: usize,
    slow: String,
}

impl Loaded {
    fn cells(&self) -> String {
        let ms = |share| self.steady.at(share).as_secs_f64() * 1000.0;
        format!(
            "{} | {} | {:.1} | {:.1}",
            self.all.cells(),
            self.steady_calls,
            ms(0.99),
            ms(1.0)
        )
    }
}

async fn load(plan: &Plan, url: &str) -> Result<Loaded> {
    let client = client()?;
    let watch = Watch::start();
    let mut tick = interval(Duration::from_secs(1) / u32::try_from(plan.rate)?);
    tick.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut calls = JoinSet::new();
    for number in 0..plan.rate * plan.seconds {
        let due = tick.tick().await;
        let (client, url) = (client.clone(), url.to_owned());
        calls.spawn(async move {
            let request = client
                .post(url)
                .header("content-type", "multipart/form-data; boundary=e")
                .body(multipart(number));
            let answered = request.send().await?;
            let status = answered.status();
            answered.bytes().await?;
            Ok::<_, reqwest::Error>((status, due.into_std(), Instant::now()))
        });
    }
    let mut times = Vec::new();
    let mut refused = 0;
    while let Some(call) = calls.join_next().await {
        match call? {
            Ok((StatusCode::ACCEPTED, due, answered)) => times.push((due, answered)),
            _ => refused += 1,
        }
    }
    if refused > 0 {
        bail!("{refused} calls were not answered with 202");
    }
    let stalls = watch.stop()?;
    let took = |calls: &mut dyn Iterator<Item = &(Instant, Instant)>| {
        Figures::of(calls.map(|(due, answered)| *answered - *due).collect())
    };
    let steady = || {
        times
            .iter()
            .filter(|(due, answered)| !stalls.touch(*due, *answered))
    };
    Ok(Loaded {
        all: took(&mut times.iter()),
        steady: took(&mut steady()),
        steady_calls: steady().count(),
        slow: stalls.sentence(),
    })
}
