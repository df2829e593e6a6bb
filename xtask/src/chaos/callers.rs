//! The callers: submit documents, some with a key and then several times at once, some to be cancelled; keep what
//! they were told.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use anyhow::{Context as _, Result};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use reqwest::{Client, StatusCode};
use serde_json::Value;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, sleep_until},
};

use super::{
    audit::{Submission, Wanted},
    fleet::{between, lock},
    paper::{self, Kind},
};

/// How long a caller with a key insists.
const INSIST: Duration = Duration::from_secs(90);
/// A caller does not wait longer for an answer.
const ANSWER: Duration = Duration::from_secs(10);

/// Where they call, and what they were told.
#[derive(Clone)]
pub(super) struct Callers {
    http: Client,
    server: String,
    callback: String,
    book: Arc<Mutex<Vec<Submission>>>,
}

/// One document to submit.
struct Order {
    nonce: String,
    kind: Kind,
    key: bool,
    at_once: usize,
    boxes: bool,
    callback: bool,
    cancel_after: Option<Duration>,
}

impl Callers {
    pub(super) fn new(server: String, callback: String) -> Result<Self> {
        let http = Client::builder()
            .timeout(ANSWER)
            .build()
            .context("no HTTP client")?;
        Ok(Self {
            http,
            server,
            callback,
            book: Arc::default(),
        })
    }

    /// What they were told so far.
    pub(super) fn submissions(&self) -> Vec<Submission> {
        lock(&self.book).clone()
    }

    /// Waits until the server answers.
    pub(super) async fn wait_for_server(&self, at_most: Duration) -> Result<()> {
        let url = format!("{}/actuator/health/readiness", self.server);
        let look = async {
            loop {
                match self.http.get(&url).send().await {
                    Ok(answer) if answer.status().is_success() => return,
                    _ => sleep(Duration::from_millis(100)).await,
                }
            }
        };
        tokio::time::timeout(at_most, look)
            .await
            .context("the server does not come up; see its log")
    }

    /// Submits until `end`, `rate` a second, then waits for those who still insist.
    pub(super) async fn call_until(&self, end: Instant, rate: f64, seed: u64) -> Result<()> {
        let mut random = StdRng::seed_from_u64(seed ^ 0xca11_ca11);
        let mut calls = JoinSet::new();
        let mut number = 0_u32;
        while Instant::now() < end {
            number += 1;
            let order = order(&mut random, number);
            let callers = self.clone();
            calls.spawn(async move { callers.submit(order).await });
            let next = Instant::now() + between(&mut random, 0.2 / rate, 1.8 / rate);
            sleep_until(next.min(end)).await;
            while let Some(done) = calls.try_join_next() {
                done.context("a caller panicked")?;
            }
        }
        while let Some(done) = calls.join_next().await {
            done.context("a caller panicked")?;
        }
        Ok(())
    }

    /// Submits so many good documents of one second, one after the other, and says what was accepted.
    pub(super) async fn submit_seconds(&self, count: u32) {
        let mut calls = JoinSet::new();
        for number in 0..count {
            let callers = self.clone();
            let order = Order {
                nonce: format!("second-{number}"),
                kind: Kind::Good { hundredths: 100 },
                key: true,
                at_once: 1,
                boxes: false,
                callback: false,
                cancel_after: None,
            };
            calls.spawn(async move { callers.submit(order).await });
            if calls.len() >= 8 {
                drop(calls.join_next().await);
            }
        }
        while calls.join_next().await.is_some() {}
    }

    async fn submit(&self, order: Order) {
        let callback = order.callback.then_some(self.callback.as_str());
        let body = paper::request(order.kind, &order.nonce, order.boxes, callback);
        let key = order.key.then(|| format!("key-{}", order.nonce));
        let mut posts = JoinSet::new();
        for _ in 0..order.at_once {
            let (callers, body, key) = (self.clone(), body.clone(), key.clone());
            posts.spawn(async move { callers.post(&body, key.as_deref()).await });
        }
        let mut submission = Submission {
            nonce: order.nonce,
            wanted: match order.kind {
                Kind::Good { .. } => Wanted::Result,
                Kind::Poison => Wanted::Refusal,
                Kind::Killer => Wanted::WorkerLost,
            },
            key,
            boxes: order.boxes,
            callback: order.callback,
            accepted: Vec::new(),
            unsure: 0,
            cancelled: false,
        };
        while let Some(Ok((accepted, unsure))) = posts.join_next().await {
            submission.accepted.extend(accepted);
            submission.unsure += unsure;
        }
        if let (Some(pause), Some(id)) = (order.cancel_after, submission.accepted.first()) {
            sleep(pause).await;
            let url = format!("{}/api/v1/extractions/{id}:cancel", self.server);
            // Whatever the answer is: it may have arrived.
            submission.cancelled = true;
            drop(self.http.post(url).send().await);
        }
        lock(&self.book).push(submission);
    }

    /// The id, and how many calls went out whose outcome nobody knows.
    async fn post(&self, body: &Value, key: Option<&str>) -> (Option<String>, u32) {
        let until = Instant::now() + INSIST;
        let mut unsure = 0;
        loop {
            let mut request = self
                .http
                .post(format!("{}/api/v1/extractions", self.server))
                .json(body);
            if let Some(key) = key {
                request = request.header("idempotency-key", key);
            }
            match request.send().await {
                Ok(answer) if answer.status() == StatusCode::ACCEPTED => {
                    let id = answer
                        .json::<Value>()
                        .await
                        .ok()
                        .and_then(|row| Some(row.get("id")?.as_str()?.to_owned()));
                    if id.is_some() {
                        return (id, unsure);
                    }
                    unsure += 1;
                }
                // A commit that nobody could confirm is an error too.
                Ok(_refused) => unsure += 1,
                // Nobody listened: nothing was sent.
                Err(error) if error.is_connect() => {}
                Err(_broken) => unsure += 1,
            }
            if Instant::now() > until || (key.is_none() && unsure > 0) {
                return (None, unsure);
            }
            sleep(Duration::from_millis(250)).await;
        }
    }
}

fn order(random: &mut StdRng, number: u32) -> Order {
    let kind = match random.random_range(0..1000) {
        0..60 => Kind::Poison,
        60..80 => Kind::Killer,
        80..400 => Kind::Good { hundredths: 0 },
        _ => Kind::Good {
            hundredths: random.random_range(20..150),
        },
    };
    let key = random.random_bool(0.5);
    Order {
        nonce: format!("doc-{number}"),
        kind,
        key,
        at_once: if key { random.random_range(1..4) } else { 1 },
        boxes: random.random_bool(0.5),
        callback: random.random_bool(0.8),
        cancel_after: random.random_bool(0.06).then(|| between(random, 0.0, 1.5)),
    }
}
