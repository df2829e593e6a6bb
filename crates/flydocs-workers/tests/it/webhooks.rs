//! Webhooks against real receivers.

use std::{net::IpAddr, sync::Arc, time::Duration};

use flydocs_contract::{ExtractionId, Status};
use flydocs_store::{Delivery, DeliveryStatus};
use flydocs_workers::{Deliverer, Secret};
use wiremock::{
    Mock, MockServer, Request, ResponseTemplate,
    matchers::{header, method, path},
};

use crate::{
    house::{House, Names, Running},
    work::{Act, Scripted},
};

pub(crate) fn client() -> reqwest::Client {
    let _already = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().build().unwrap()
}

async fn house() -> House {
    House::with(|_, options| {
        options.webhooks.allow_private = true;
        options.webhooks.poll = Duration::from_millis(50);
        options.webhooks.timeout = Duration::from_millis(800);
        options.webhooks.slow_interval = Duration::from_millis(10);
        options.webhooks.hmac_secret = Some(Secret::new("a secret"));
    })
    .await
}

async fn deliverer(house: &House, names: Names) -> Running {
    let _client = client();
    let mut services = house.process(Scripted::new([], Act::Succeed)).await;
    services.resolver = Arc::new(names);
    let deliverer = Deliverer::new(services, house.options.clone()).unwrap();
    Running::start(|shutdown| deliverer.run(shutdown))
}

/// An extraction whose caller is told at `url`, cancelled at once.
async fn finished(house: &House, url: &str) -> ExtractionId {
    let id = house
        .submit_with(|new| {
            new.callback_url = Some(url.to_owned());
            new.metadata = serde_json::from_str(r#"{"z": 1, "a": "x"}"#).unwrap();
        })
        .await;
    house.store.mark_cancelled(id, None).await.unwrap().unwrap();
    assert_eq!(house.row(id).await.extraction.status, Status::Cancelled);
    id
}

async fn until(house: &House, id: ExtractionId, wanted: impl Fn(&Delivery) -> bool) -> Delivery {
    let waiting = async {
        loop {
            let deliveries = house.store.deliveries(id, None).await.unwrap().unwrap();
            if let Some(delivery) = deliveries.into_iter().find(&wanted) {
                return delivery;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(crate::house::PATIENCE, waiting)
        .await
        .expect("in time")
}

fn answers(status: u16) -> ResponseTemplate {
    ResponseTemplate::new(status).set_body_string(format!("answer {status}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_fails_first_gets_the_same_bytes_again_signed() {
    let house = house().await;
    let receiver = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(answers(500))
        .up_to_n_times(1)
        .mount(&receiver)
        .await;
    Mock::given(method("POST"))
        .and(path("/hook"))
        .and(header("content-type", "application/json"))
        .and(header("x-correlation-id", "corr-1"))
        .respond_with(answers(200))
        .mount(&receiver)
        .await;
    let deliverer = deliverer(&house, Names::default()).await;
    let id = finished(&house, &format!("{}/hook", receiver.uri())).await;
    let delivery = until(&house, id, |d| d.status == DeliveryStatus::Delivered).await;
    deliverer.stop().await;
    let log: Vec<_> = delivery
        .log
        .iter()
        .map(|attempt| {
            (
                attempt.attempt,
                attempt.status_code,
                attempt.answer.as_deref(),
            )
        })
        .collect();
    assert_eq!(
        log,
        [
            (1, Some(500), Some("answer 500")),
            (2, Some(200), Some("answer 200"))
        ]
    );
    let requests: Vec<Request> = receiver.received_requests().await.unwrap();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].body, requests[1].body);
    let body: serde_json::Value = requests[0].body_json().unwrap();
    let event_id = body["event_id"].as_str().unwrap();
    assert_eq!(event_id, delivery.event_id.to_string());
    assert_eq!(body["event_type"], "extraction.completed");
    for request in &requests {
        let header = |name: &str| request.headers[name].to_str().unwrap().to_owned();
        assert_eq!(header("webhook-id"), event_id);
        assert!(header("user-agent").starts_with("flydocs/"));
        assert_eq!(header("x-flydocs-signature"), own_signature(&request.body));
        assert!(header("webhook-signature").starts_with("v1,"));
        assert!(header("webhook-timestamp").parse::<i64>().unwrap() > 1_700_000_000);
    }
}

fn own_signature(body: &[u8]) -> String {
    use hmac::Mac as _;
    let mut mac = hmac::Hmac::<sha2::Sha256>::new_from_slice(b"a secret").unwrap();
    mac.update(body);
    format!("sha256={}", hex::encode(mac.finalize().into_bytes()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_is_not_followed_and_a_refusal_is_final() {
    let house = house().await;
    let elsewhere = MockServer::start().await;
    let receiver = MockServer::start().await;
    let redirect = ResponseTemplate::new(307).insert_header("location", elsewhere.uri());
    Mock::given(path("/moved"))
        .respond_with(redirect)
        .mount(&receiver)
        .await;
    Mock::given(path("/gone"))
        .respond_with(answers(410))
        .mount(&receiver)
        .await;
    let deliverer = deliverer(&house, Names::default()).await;
    for (hook, status) in [("moved", 307), ("gone", 410)] {
        let id = finished(&house, &format!("{}/{hook}", receiver.uri())).await;
        let delivery = until(&house, id, |d| d.status != DeliveryStatus::Pending).await;
        assert_eq!(delivery.status, DeliveryStatus::Failed);
        assert_eq!(delivery.log.len(), 1);
        assert_eq!(delivery.log[0].status_code, Some(status));
    }
    deliverer.stop().await;
    assert!(elsewhere.received_requests().await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_hangs_delays_nobody_else_and_is_tried_again() {
    let mut house = house().await;
    house.options.webhooks.concurrency = 4;
    house.options.webhooks.per_receiver = 2;
    house.options.webhooks.timeout = Duration::from_mins(10);
    house.options.shutdown_grace = Duration::from_millis(50);
    let (slow, quick) = (MockServer::start().await, MockServer::start().await);
    let hangs = answers(200).set_delay(Duration::from_mins(10));
    Mock::given(method("POST"))
        .respond_with(hangs)
        .mount(&slow)
        .await;
    Mock::given(method("POST"))
        .respond_with(answers(204))
        .mount(&quick)
        .await;
    let mut hanging = Vec::new();
    for _ in 0..6 {
        hanging.push(finished(&house, &slow.uri()).await);
    }
    let deliverer = deliverer(&house, Names::default()).await;
    for _ in 0..3 {
        let id = finished(&house, &quick.uri()).await;
        until(&house, id, |d| d.status == DeliveryStatus::Delivered).await;
    }
    // The end gives the hanging ones back: due again, no attempt written.
    deliverer.stop().await;
    for id in hanging {
        let delivery = until(&house, id, |d| d.status == DeliveryStatus::Pending).await;
        assert!(delivery.log.is_empty());
    }
    assert_eq!(slow.received_requests().await.unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_never_answers_in_time_is_tried_until_its_day_is_over() {
    let mut house = house().await;
    house.options.webhooks.timeout = Duration::from_millis(100);
    house.options.webhooks.max_attempts = 1;
    house.options.webhooks.give_up_after = Duration::from_secs(1);
    let slow = MockServer::start().await;
    let hangs = answers(200).set_delay(Duration::from_mins(10));
    Mock::given(method("POST"))
        .respond_with(hangs)
        .mount(&slow)
        .await;
    let deliverer = deliverer(&house, Names::default()).await;
    let id = finished(&house, &slow.uri()).await;
    let delivery = until(&house, id, |d| d.status == DeliveryStatus::Failed).await;
    deliverer.stop().await;
    assert!(delivery.log.len() >= 2, "{}", delivery.log.len());
    assert!(
        delivery.log[0]
            .error
            .as_deref()
            .unwrap()
            .contains("no answer within")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_callback_into_the_own_network_is_refused_and_reaches_nobody() {
    let mut house = house().await;
    house.options.webhooks.allow_private = false;
    let receiver = MockServer::start().await;
    let port = receiver.address().port();
    let local: IpAddr = [127, 0, 0, 1].into();
    let public: IpAddr = [93, 184, 216, 34].into();
    let names = Names(
        [
            ("inside.example", vec![local]),
            ("mixed.example", vec![public, local]),
        ]
        .into(),
    );
    let deliverer = deliverer(&house, names).await;
    for url in [
        receiver.uri(),
        format!("http://inside.example:{port}/"),
        format!("http://mixed.example:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        format!("http://2130706433:{port}/"),
    ] {
        let id = finished(&house, &url).await;
        let delivery = until(&house, id, |d| d.status != DeliveryStatus::Pending).await;
        assert_eq!(delivery.status, DeliveryStatus::Failed, "{url}");
        assert_eq!(delivery.log.len(), 1);
        let error = delivery.log[0].error.as_deref().unwrap();
        assert!(error.contains("FLYDOCS_WEBHOOK_ALLOW_PRIVATE"), "{error}");
    }
    deliverer.stop().await;
    assert!(receiver.received_requests().await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_is_allowed_is_connected_to_where_it_was_resolved() {
    let house = house().await;
    let receiver = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(answers(200))
        .mount(&receiver)
        .await;
    let names = Names([("inside.example", vec![[127, 0, 0, 1].into()])].into());
    let deliverer = deliverer(&house, names).await;
    let port = receiver.address().port();
    let id = finished(&house, &format!("http://inside.example:{port}/")).await;
    until(&house, id, |d| d.status == DeliveryStatus::Delivered).await;
    deliverer.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_process_delivers_what_its_extractions_announce() {
    let house = house().await;
    let receiver = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(answers(200))
        .mount(&receiver)
        .await;
    let _client = client();
    let services = house.process(Scripted::new([], Act::Succeed)).await;
    let options = house.options.clone();
    let process = Running::start(|end| flydocs_workers::worker(services, options, None, end));
    let url = receiver.uri();
    let id = house.submit_with(|new| new.callback_url = Some(url)).await;
    until(&house, id, |d| d.status == DeliveryStatus::Delivered).await;
    process.stop().await;
    let requests = receiver.received_requests().await.unwrap();
    let body: serde_json::Value = requests[0].body_json().unwrap();
    assert_eq!(body["extraction"]["status"], "succeeded");
    assert_eq!(body["result"]["pipeline"]["model"], "scripted");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_under_way_is_nobody_elses_however_long_the_receiver_takes() {
    let house = leased(Duration::from_millis(300)).await;
    let receiver = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(answers(200).set_delay(Duration::from_millis(1500)))
        .mount(&receiver)
        .await;
    let one = deliverer(&house, Names::default()).await;
    let other = deliverer(&house, Names::default()).await;
    let id = finished(&house, &format!("{}/hook", receiver.uri())).await;
    let delivery = until(&house, id, |d| d.status == DeliveryStatus::Delivered).await;
    one.stop().await;
    other.stop().await;
    assert_eq!(delivery.attempts, 1);
    assert_eq!(receiver.received_requests().await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_webhook_of_a_killed_deliverer_is_sent_by_another_when_its_lease_is_over() {
    let house = leased(Duration::from_millis(300)).await;
    let receiver = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(answers(200).set_delay(Duration::from_mins(1)))
        .up_to_n_times(1)
        .mount(&receiver)
        .await;
    Mock::given(method("POST"))
        .respond_with(answers(200))
        .mount(&receiver)
        .await;
    let victim = deliverer(&house, Names::default()).await;
    let id = finished(&house, &format!("{}/hook", receiver.uri())).await;
    until(&house, id, |d| d.attempts == 1).await;
    victim.kill().await;
    let other = deliverer(&house, Names::default()).await;
    let delivery = until(&house, id, |d| d.status == DeliveryStatus::Delivered).await;
    other.stop().await;
    assert_eq!(delivery.attempts, 2);
}

/// With a lease shorter than any receiver takes.
async fn leased(lease: Duration) -> House {
    House::with(|_, options| {
        options.webhooks.allow_private = true;
        options.webhooks.poll = Duration::from_millis(50);
        options.webhooks.lease = lease;
    })
    .await
}
