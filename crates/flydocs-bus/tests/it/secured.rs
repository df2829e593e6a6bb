//! Brokers behind TLS, with a certificate that only those trust who were told to.

use flydocs_bus::{Bus, NewEvent, adapters::redis::RedisBus};
use flydocs_testkit::{
    redis::{Server, free_port},
    tls::Identity,
};

use crate::{
    conformance::event,
    houses::{House as _, options, postgres::PostgresHouse, redis::outbox_of},
    processes::Herd,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_over_tls_carries_events_to_those_who_trust_it() {
    let identity = Identity::new().unwrap();
    let port = free_port().unwrap();
    let file = |path: std::path::PathBuf| path.to_str().unwrap().to_owned();
    let (certificate, key) = (file(identity.certificate()), file(identity.key()));
    let server = tokio::task::spawn_blocking({
        let certificate = certificate.clone();
        move || {
            Server::start_with(&[
                "--tls-port",
                &port.to_string(),
                "--tls-cert-file",
                &certificate,
                "--tls-key-file",
                &key,
                "--tls-ca-cert-file",
                &certificate,
                "--tls-auth-clients",
                "no",
            ])
        }
    });
    let _server = server.await.unwrap().unwrap();
    let url = format!("rediss://127.0.0.1:{port}/0");
    let house = PostgresHouse::open().await;

    let stranger = RedisBus::new(&url, "test", outbox_of(&house, &options()), options()).unwrap();
    let said = stranger.health().await.detail.unwrap_or_default();
    assert!(said.contains("degraded"), "{said}");

    let mut herd = Herd::new(&house.url, &[url, "test".to_owned()]);
    // Where every program looks for certificates that its system does not bring.
    herd.set("SSL_CERT_FILE", &certificate);
    herd.spawn();
    let events: Vec<NewEvent> = (0..20).map(event).collect();
    house.transaction(&events, true).await;
    herd.until_all_ended(&events).await;
}

#[cfg(feature = "kafka-tls")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kafka_over_tls_carries_events_to_those_who_trust_it() {
    use std::{net::SocketAddr, time::Duration};

    use flydocs_bus::adapters::kafka::KafkaOptions;
    use flydocs_testkit::{kafka::Broker, tls::Terminator};

    use crate::{
        conformance::{join, n, one, settle},
        houses::kafka::KafkaHouse,
    };

    let identity = Identity::new().unwrap();
    let port = free_port().unwrap();
    let inside = SocketAddr::from(([127, 0, 0, 1], port));
    let outside = Terminator::new(&identity, inside).await.unwrap();
    let advertised = outside.address();
    let broker = tokio::task::spawn_blocking(move || Broker::start_as(port, advertised));
    let _broker = broker.await.unwrap().unwrap();
    let secured = KafkaOptions {
        bootstrap_servers: advertised.to_string(),
        security_protocol: "ssl".to_owned(),
        ca_file: Some(identity.certificate()),
        session_timeout: Duration::from_secs(6),
        partitions: 1,
        ..KafkaOptions::default()
    };

    let stranger = KafkaHouse::with(KafkaOptions {
        ca_file: None,
        ..secured.clone()
    })
    .await;
    let said = stranger.bus(options()).await.health().await.detail;
    assert!(said.unwrap_or_default().contains("degraded"));

    let house = KafkaHouse::with(secured).await;
    let bus = house.bus(options()).await;
    let consumer = join(&bus, "a").await;
    bus.publish(&event(7)).await.unwrap();
    let delivery = one(&consumer).await;
    assert_eq!(n(&delivery), 7);
    settle(&consumer, &[delivery]).await;
}
