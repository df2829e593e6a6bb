//! Receivers that behave badly, each beside others that do not.

use std::{net::IpAddr, sync::Arc, time::Duration};

use async_trait::async_trait;
use flydocs_contract::ExtractionId;
use flydocs_store::{Delivery, DeliveryStatus};
use flydocs_workers::{Deliverer, Heard, Listener, Resolve, Secret};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    sync::watch,
    task::JoinHandle,
};

use crate::{
    house::{House, PATIENCE, Running},
    webhooks::client,
    work::{Act, Scripted},
};

/// What a receiver does with each call.
#[derive(Debug, Clone, Copy)]
enum Manner {
    /// Answers with this text.
    Says(&'static str),
    /// Takes the call and never answers.
    Hangs,
    /// Takes the call and hangs up.
    ClosesEarly,
}

const TAKEN: Manner = Manner::Says("HTTP/1.1 204 No Content\r\n\r\n");

/// A receiver on a socket of its own; it counts the calls it got whole.
struct Receiver {
    url: String,
    calls: watch::Receiver<usize>,
    _task: Ended,
}

struct Ended(JoinHandle<()>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Receiver {
    /// The manners in their order, the last one for ever.
    async fn new(manners: impl IntoIterator<Item = Manner>) -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", socket.local_addr().unwrap());
        let (count, calls) = watch::channel(0);
        let count = Arc::new(count);
        let manners: Vec<Manner> = manners.into_iter().collect();
        let task = tokio::spawn(async move {
            let mut held = Vec::new();
            for n in 0.. {
                let (mut stream, _) = socket.accept().await.unwrap();
                let manner = *manners.get(n).or(manners.last()).unwrap();
                let count = Arc::clone(&count);
                held.push(Ended(tokio::spawn(async move {
                    read_call(&mut stream).await;
                    count.send_modify(|calls| *calls += 1);
                    match manner {
                        Manner::Says(text) => {
                            let text =
                                format!("{}Connection: close\r\n\r\n", &text[..text.len() - 2]);
                            stream.write_all(text.as_bytes()).await.unwrap();
                        }
                        Manner::Hangs => std::future::pending().await,
                        Manner::ClosesEarly => {}
                    }
                })));
            }
        });
        Self {
            url,
            calls,
            _task: Ended(task),
        }
    }

    async fn called(&self, times: usize) {
        let mut calls = self.calls.clone();
        let enough = calls.wait_for(|calls| *calls >= times);
        tokio::time::timeout(PATIENCE, enough)
            .await
            .expect("in time")
            .unwrap();
    }

    fn calls(&self) -> usize {
        *self.calls.borrow()
    }
}

/// Head and body of one call.
async fn read_call(stream: &mut tokio::net::TcpStream) {
    let mut text = Vec::new();
    loop {
        let mut chunk = [0; 4096];
        let n = stream.read(&mut chunk).await.unwrap_or(0);
        text.extend_from_slice(&chunk[..n]);
        let shown = String::from_utf8_lossy(&text);
        if let Some((head, body)) = shown.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| {
                    line.to_ascii_lowercase()
                        .strip_prefix("content-length: ")?
                        .parse()
                        .ok()
                })
                .unwrap_or(0);
            if body.len() >= length {
                return;
            }
        }
        if n == 0 {
            return;
        }
    }
}

async fn house() -> House {
    House::with(|_, options| {
        options.webhooks.allow_private = true;
        options.webhooks.poll = Duration::from_millis(50);
        options.webhooks.timeout = Duration::from_millis(800);
        options.webhooks.slow_interval = Duration::from_millis(10);
    })
    .await
}

async fn deliverer(house: &House) -> Running {
    let _client = client();
    let services = house.process(Scripted::new([], Act::Succeed)).await;
    let deliverer = Deliverer::new(services, house.options.clone()).unwrap();
    Running::start(|shutdown| deliverer.run(shutdown))
}

/// An extraction that ended, whose caller is told at `url`.
async fn finished(house: &House, url: &str) -> ExtractionId {
    let url = url.to_owned();
    let id = house.submit_with(|new| new.callback_url = Some(url)).await;
    house.store.mark_cancelled(id, None).await.unwrap().unwrap();
    id
}

async fn delivery(house: &House, id: ExtractionId) -> Delivery {
    let found = house.store.deliveries(id, None).await.unwrap().unwrap();
    found.into_iter().next().unwrap()
}

/// Waits until the delivery is as wanted: woken by the row, which is told of every attempt.
async fn until(house: &House, id: ExtractionId, wanted: impl Fn(&Delivery) -> bool) -> Delivery {
    let mut watch = house.store.watch(id);
    let waiting = async {
        loop {
            let delivery = delivery(house, id).await;
            if wanted(&delivery) {
                return delivery;
            }
            // an attempt changes no revision: other processes are not told of it
            drop(tokio::time::timeout(Duration::from_millis(20), watch.changed()).await);
        }
    };
    tokio::time::timeout(PATIENCE, waiting)
        .await
        .expect("in time")
}

#[tokio::test(flavor = "multi_thread")]
async fn of_fifty_receivers_one_hangs_and_the_others_are_told_while_it_is_still_held() {
    let mut house = house().await;
    house.options.webhooks.concurrency = 8;
    house.options.webhooks.per_receiver = 2;
    house.options.webhooks.timeout = Duration::from_mins(10);
    house.options.shutdown_grace = Duration::from_millis(50);
    let hanging = Receiver::new([Manner::Hangs]).await;
    let mut stuck = Vec::new();
    for _ in 0..6 {
        stuck.push(finished(&house, &hanging.url).await);
    }
    let deliverer = deliverer(&house).await;
    hanging.called(2).await;
    let mut others = Vec::new();
    for _ in 0..49 {
        let receiver = Receiver::new([TAKEN]).await;
        let id = finished(&house, &receiver.url).await;
        others.push((receiver, id));
    }
    for (receiver, id) in &others {
        until(&house, *id, |d| d.status == DeliveryStatus::Delivered).await;
        assert_eq!(receiver.calls(), 1);
    }
    assert_eq!(hanging.calls(), 2, "it holds no more slots than one may");
    for id in stuck {
        assert_eq!(delivery(&house, id).await.status, DeliveryStatus::Pending);
    }
    deliverer.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_is_made_when_it_is_written_and_not_when_the_poll_comes() {
    let mut house = house().await;
    house.options.webhooks.poll = Duration::from_hours(1);
    let receiver = Receiver::new([TAKEN]).await;
    let deliverer = deliverer(&house).await;
    // the deliverer is asleep by the second one, and every one of them is another process's change
    for calls in 1..=3 {
        let id = finished(&house, &receiver.url).await;
        receiver.called(calls).await;
        until(&house, id, |d| d.status == DeliveryStatus::Delivered).await;
    }
    let id = finished(&house, &receiver.url).await;
    let told = until(&house, id, |d| d.status == DeliveryStatus::Delivered).await;
    house
        .store
        .redeliver(told.event_id, None)
        .await
        .unwrap()
        .unwrap();
    receiver.called(5).await;
    deliverer.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_manner_of_failing_has_its_end() {
    let house = house().await;
    let deliverer = deliverer(&house).await;
    let says = Manner::Says;
    // (what it does first, status and word in the log, delivered in the end)
    for (manner, status, word, delivered) in [
        (Manner::Hangs, None, "no answer within", true),
        (Manner::ClosesEarly, None, "the connection broke", true),
        (says("HTTP/1.1 500 Oh\r\n\r\n"), Some(500), "", true),
        (says("HTTP/1.1 408 Late\r\n\r\n"), Some(408), "", true),
        (
            says("HTTP/1.1 429 Slow\r\nRetry-After: 1\r\n\r\n"),
            Some(429),
            "",
            true,
        ),
        (
            says("HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:1/\r\n\r\n"),
            Some(301),
            "",
            false,
        ),
        (says("HTTP/1.1 410 Gone\r\n\r\n"), Some(410), "", false),
        (says("HTTP/1.1 404 None\r\n\r\n"), Some(404), "", false),
    ] {
        let receiver = Receiver::new([manner, TAKEN]).await;
        let id = finished(&house, &receiver.url).await;
        let ended = until(&house, id, |d| d.status != DeliveryStatus::Pending).await;
        let first = &ended.log[0];
        assert_eq!(first.status_code, status, "{manner:?}: {first:?}");
        let said = first.error.as_deref().unwrap_or_default();
        assert!(said.contains(word), "{manner:?}: {said}");
        let wanted = if delivered {
            (DeliveryStatus::Delivered, 2)
        } else {
            (DeliveryStatus::Failed, 1)
        };
        assert_eq!((ended.status, ended.log.len()), wanted, "{manner:?}");
        assert_eq!(receiver.calls(), wanted.1, "{manner:?}");
    }
    deliverer.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_says_when_is_left_alone_until_then() {
    let house = house().await;
    let deliverer = deliverer(&house).await;
    let busy = "HTTP/1.1 429 Slow\r\nRetry-After: 120\r\n\r\n";
    let receiver = Receiver::new([Manner::Says(busy)]).await;
    let id = finished(&house, &receiver.url).await;
    let waiting = until(&house, id, |d| !d.log.is_empty()).await;
    deliverer.stop().await;
    assert_eq!(waiting.status, DeliveryStatus::Pending);
    let wait = waiting.next_attempt_at.unwrap() - waiting.log[0].at;
    assert!((119..=121).contains(&wait.num_seconds()), "{wait}");
    assert_eq!(receiver.calls(), 1);
}

/// A name that is public when it is asked for first, and this machine from then on.
#[derive(Debug, Default)]
struct Rebinding(std::sync::Mutex<usize>);

#[async_trait]
impl Resolve for Rebinding {
    async fn resolve(&self, _host: &str) -> std::io::Result<Vec<IpAddr>> {
        let mut asked = self.0.lock().unwrap();
        *asked += 1;
        let address: IpAddr = if *asked == 1 {
            // global unicast that nobody has: the connection fails, and the name is asked for again
            "2fff:ffff::1".parse().unwrap()
        } else {
            [127, 0, 0, 1].into()
        };
        Ok(vec![address])
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_turns_into_this_machine_reaches_nobody() {
    let mut house = house().await;
    house.options.webhooks.allow_private = false;
    let receiver = Receiver::new([TAKEN]).await;
    let names = Arc::new(Rebinding::default());
    let _client = client();
    let mut services = house.process(Scripted::new([], Act::Succeed)).await;
    services.resolver = names.clone();
    let deliverer = Deliverer::new(services, house.options.clone()).unwrap();
    let deliverer = Running::start(|shutdown| deliverer.run(shutdown));
    let url = receiver.url.replace("127.0.0.1", "turning.example");
    let id = finished(&house, &url).await;
    let ended = until(&house, id, |d| d.status != DeliveryStatus::Pending).await;
    deliverer.stop().await;
    assert_eq!((ended.status, ended.log.len()), (DeliveryStatus::Failed, 2));
    let said = ended.log[1].error.as_deref().unwrap();
    assert!(said.contains("FLYDOCS_WEBHOOK_ALLOW_PRIVATE"), "{said}");
    assert_eq!(receiver.calls(), 0);
    assert_eq!(*names.0.lock().unwrap(), 2, "once for each attempt");
}

/// The metrics of this test binary.
fn metrics() -> &'static PrometheusHandle {
    static METRICS: std::sync::OnceLock<PrometheusHandle> = std::sync::OnceLock::new();
    METRICS.get_or_init(|| PrometheusBuilder::new().install_recorder().unwrap())
}

fn dead(why: &str) -> u64 {
    let name = format!("flydocs_workers_webhooks_dead_total{{why=\"{why}\"}} ");
    let text = metrics().render();
    let line = text.lines().find_map(|line| line.strip_prefix(&name));
    line.map_or(0, |count| count.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_that_is_dead_is_counted() {
    let before = (dead("refused"), dead("too_long"));
    let mut house = house().await;
    house.options.webhooks.max_attempts = 1;
    house.options.webhooks.give_up_after = Duration::from_millis(100);
    let deliverer = deliverer(&house).await;
    for answer in ["HTTP/1.1 410 Gone\r\n\r\n", "HTTP/1.1 500 Oh\r\n\r\n"] {
        let receiver = Receiver::new([Manner::Says(answer)]).await;
        let id = finished(&house, &receiver.url).await;
        until(&house, id, |d| d.status == DeliveryStatus::Failed).await;
    }
    deliverer.stop().await;
    // other tests of this binary may have given up on some too
    assert!(dead("refused") > before.0);
    assert!(dead("too_long") > before.1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_checks_hands_on_and_answers_as_it_was_answered() {
    let mut house = house().await;
    house.options.webhooks.hmac_secret = Some(Secret::new("a secret"));
    let behind = Receiver::new([Manner::Says("HTTP/1.1 503 Later\r\n\r\n"), TAKEN]).await;
    let (told, mut heard) = tokio::sync::mpsc::unbounded_channel::<Heard>();
    let _client = client();
    let clock = house.process(Scripted::new([], Act::Succeed)).await.clock;
    let listener = Listener::new(
        Some(Secret::new("a secret")),
        Some(behind.url.parse().unwrap()),
        clock,
        move |one| drop(told.send(one)),
    )
    .unwrap();
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", socket.local_addr().unwrap());
    let listening = Running::start(|end| listener.run(socket, end));
    let deliverer = deliverer(&house).await;
    let id = finished(&house, &url).await;
    let ended = until(&house, id, |d| d.status == DeliveryStatus::Delivered).await;
    let statuses: Vec<_> = ended
        .log
        .iter()
        .map(|attempt| attempt.status_code)
        .collect();
    assert_eq!(statuses, [Some(503), Some(204)]);
    for answered in [503, 204] {
        let one = heard.recv().await.unwrap();
        assert_eq!(one.answered, answered);
        assert_eq!(one.signed, Some(Ok(())));
        assert_eq!(one.forwarded, Some(Ok(answered)));
        assert_eq!(
            one.extraction.unwrap(),
            (id.to_string(), "cancelled".to_owned())
        );
    }
    let forged = client().post(&url).body("{}").send().await.unwrap();
    assert_eq!(forged.status(), 401);
    assert!(matches!(heard.recv().await.unwrap().signed, Some(Err(_))));
    assert_eq!(behind.calls(), 2);
    deliverer.stop().await;
    listening.stop().await;
}
