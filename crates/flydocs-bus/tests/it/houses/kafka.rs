//! A broker that speaks Kafka's protocol and the outbox in PostgreSQL, with a relay between them; and what only this
//! adapter promises.

use std::{collections::HashSet, sync::Arc, time::Duration};

use async_trait::async_trait;
use flydocs_bus::{
    Bus, Consumer, NewEvent, Options,
    adapters::kafka::{KafkaBus, KafkaOptions},
};
use flydocs_testkit::{
    cable::Cable,
    kafka::{Broker, shared},
    redis::free_port,
};
use rdkafka::{
    mocking::{MockCluster, MockCoordinator},
    producer::DefaultProducerContext,
};
use tokio::time::{sleep, timeout};
use tokio_util::task::AbortOnDropHandle;
use uuid::Uuid;

use super::{
    House, OpenTransaction, options,
    postgres::PostgresHouse,
    redis::{outbox_of, relay},
};
use crate::conformance::{GROUP, KIND, TOPIC, event, exactly, join, keyed, n, one, settle, some};

#[derive(Debug)]
pub(crate) struct KafkaHouse {
    pub(crate) outbox: PostgresHouse,
    pub(crate) kafka: KafkaOptions,
    _relay: Option<AbortOnDropHandle<()>>,
}

impl KafkaHouse {
    /// One partition, so that the order of hand-over is that of publishing.
    pub(crate) async fn open() -> Self {
        Self::at(common().await, 1).await
    }

    async fn at(servers: String, partitions: i32) -> Self {
        let house = Self::without_relay_at(servers, partitions).await;
        let relay = relay(house.kafka(options()));
        Self {
            _relay: Some(relay),
            ..house
        }
    }

    /// Whose relays are other processes.
    pub(crate) async fn without_relay(partitions: i32) -> Self {
        Self::without_relay_at(common().await, partitions).await
    }

    /// With a relay, however the broker is reached.
    #[cfg(feature = "kafka-tls")]
    pub(crate) async fn with(kafka: KafkaOptions) -> Self {
        let house = Self::without_relay_with(kafka).await;
        let relay = relay(house.kafka(options()));
        Self {
            _relay: Some(relay),
            ..house
        }
    }

    async fn without_relay_at(servers: String, partitions: i32) -> Self {
        let kafka = KafkaOptions {
            bootstrap_servers: servers,
            prefix: format!("test-{}-", Uuid::new_v4().simple()),
            partitions,
            session_timeout: Duration::from_secs(6),
            ..KafkaOptions::default()
        };
        Self::without_relay_with(kafka).await
    }

    async fn without_relay_with(kafka: KafkaOptions) -> Self {
        Self {
            outbox: PostgresHouse::open().await,
            kafka,
            _relay: None,
        }
    }

    fn kafka(&self, options: Options) -> Arc<dyn Bus> {
        let outbox = outbox_of(&self.outbox, &options);
        Arc::new(KafkaBus::new(self.kafka.clone(), outbox, options).unwrap())
    }
}

async fn common() -> String {
    tokio::task::spawn_blocking(shared).await.unwrap().unwrap()
}

#[async_trait]
impl House for KafkaHouse {
    async fn bus(&self, options: Options) -> Arc<dyn Bus> {
        self.kafka(options)
    }

    async fn transaction(&self, events: &[NewEvent], commit: bool) {
        self.outbox.transaction(events, commit).await;
    }

    async fn open_transaction(&self, event: NewEvent) -> OpenTransaction {
        self.outbox.open_transaction(event).await
    }

    async fn live(&self, destination: &str, key: &str) -> bool {
        self.outbox.live(destination, key).await
    }

    async fn flood(&self, destination: &str, event_type: &str, events: u32) {
        self.outbox.flood(destination, event_type, events).await;
    }
}

mod suite {
    // Without the sentences that ask several processes to share one partition, which none can, and `Start::Latest`,
    // which the broker of the tests answers wrongly.
    crate::conformance::sentences!(super::KafkaHouse::open().await;
        backlog: a_backlog_drains_completely_with_flat_memory;
        claims: a_lost_claim_cannot_settle,
            a_beaten_lease_is_kept,
            a_cancelled_claim_returns_empty_handed,
            a_deferred_delivery_comes_back_without_counting;
        dedupe: a_second_event_of_a_live_key_is_not_written,
            a_key_is_taken_while_its_event_is_young;
        failures: a_failed_delivery_comes_back_with_its_failures_counted,
            poison_becomes_a_dead_letter_and_others_are_unharmed,
            a_permanent_failure_is_a_dead_letter_at_once,
            a_dead_letter_goes_back_to_its_own_group_once,
            an_event_that_kills_its_consumers_is_handed_out_alone_and_then_buried;
        groups: every_group_gets_every_event_once,
            an_event_type_that_nobody_handles_waits_for_its_first_handler,
            a_member_takes_only_the_types_it_handles,
            a_subscription_without_destination_or_type_is_refused,
            the_status_counts_what_a_group_owes,
            a_forgotten_group_owes_nothing,
            handled_events_are_pruned_and_owed_ones_are_kept;
        order: a_failed_event_holds_its_successors_back_and_no_other_key;
        publishing: an_event_exists_exactly_if_its_transaction_commits,
            a_late_committing_publisher_is_not_skipped,
            the_payload_arrives_byte_for_byte,
            an_idle_consumer_is_woken_by_a_publish;
        time: a_delay_is_honoured,
            a_retry_comes_no_earlier_than_asked,
            the_delivery_of_a_lost_consumer_comes_again;
    );
}

/// Takes and settles until nothing has come for a while.
async fn work(consumer: Arc<dyn Consumer>) -> Vec<u32> {
    let mut seen = Vec::new();
    while let Ok(claimed) = timeout(Duration::from_secs(8), some(&consumer, 5)).await {
        seen.extend(claimed.iter().map(n));
        settle(&consumer, &claimed).await;
    }
    seen
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_share_the_partitions_and_never_hold_one_delivery_both() {
    let house = KafkaHouse::at(common().await, 6).await;
    let (first, second) = (house.bus(options()).await, house.bus(options()).await);
    let (a, b) = (join(&first, "a").await, join(&second, "b").await);
    // Both have partitions once both got something.
    let (mut round, mut by_a, mut by_b) = (0, HashSet::new(), HashSet::new());
    while by_a.is_empty() || by_b.is_empty() {
        let events: Vec<NewEvent> = (round..round + 30).map(event).collect();
        round += 30;
        house.transaction(&events, true).await;
        first.wake(TOPIC);
        let (here, there) = tokio::join!(work(Arc::clone(&a)), work(Arc::clone(&b)));
        for n in here {
            assert!(by_a.insert(n) && !by_b.contains(&n), "{n} came twice");
        }
        for n in there {
            assert!(by_b.insert(n) && !by_a.contains(&n), "{n} came twice");
        }
        assert_eq!(by_a.len() + by_b.len(), round as usize);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_of_one_key_stay_in_order_over_many_partitions() {
    let house = KafkaHouse::at(common().await, 6).await;
    let bus = house.bus(options()).await;
    let consumer = join(&bus, "a").await;
    let events: Vec<NewEvent> = (0..60)
        .map(|n| keyed(["x", "y", "z"][n as usize % 3], n))
        .collect();
    house.transaction(&events, true).await;
    bus.wake(TOPIC);
    let mut seen: Vec<(String, u32)> = Vec::new();
    while seen.len() < 60 {
        let claimed = some(&consumer, 10).await;
        let keys: HashSet<_> = claimed.iter().map(|d| d.ordering_key.clone()).collect();
        assert_eq!(keys.len(), claimed.len(), "one of a key at a time");
        seen.extend(
            claimed
                .iter()
                .map(|d| (d.ordering_key.clone().unwrap(), n(d))),
        );
        settle(&consumer, &claimed).await;
    }
    for key in ["x", "y", "z"] {
        let of_key: Vec<u32> = seen
            .iter()
            .filter(|(k, _)| k == key)
            .map(|(_, n)| *n)
            .collect();
        assert!(
            of_key.len() == 20 && of_key.is_sorted(),
            "{key}: {of_key:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_leaves_gives_its_work_to_the_others() {
    // Not the shared broker (Tansu): there the newcomer mostly got nothing in 40 s, for a reason not yet known.
    let cluster = MockCluster::new(1).unwrap();
    let house = KafkaHouse::at(cluster.bootstrap_servers(), 1).await;
    for topic in [TOPIC.to_owned(), format!("{TOPIC}.DLT")] {
        cluster
            .create_topic(&format!("{}{topic}", house.kafka.prefix), 1, 1)
            .unwrap();
    }
    let (first, second) = (house.bus(options()).await, house.bus(options()).await);
    let leaving = join(&first, "leaving").await;
    house.transaction(&[event(1), event(2)], true).await;
    first.wake(TOPIC);
    let held = exactly(&leaving, 2).await;
    settle(&leaving, &held[..1]).await;
    let staying = join(&second, "staying").await;
    leaving.close().await.unwrap();
    let again = one(&staying).await;
    assert_eq!((n(&again), again.attempts), (2, 1));
    assert_eq!(
        leaving.done(&held[1].ticket).await.unwrap(),
        flydocs_bus::Settled::Lost
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_stops_and_goes_on_has_lost_nothing() {
    let broker = Arc::new(
        tokio::task::spawn_blocking(Broker::start)
            .await
            .unwrap()
            .unwrap(),
    );
    let house = KafkaHouse::at(broker.bootstrap_servers(), 1).await;
    let bus = house.bus(options()).await;
    let consumer = join(&bus, "a").await;
    house.transaction(&[event(1), event(2)], true).await;
    bus.wake(TOPIC);
    let held = exactly(&consumer, 2).await;

    broker.freeze().unwrap();
    // Submissions go on meanwhile.
    for round in 3..6 {
        timeout(
            Duration::from_secs(20),
            house.transaction(&[event(round)], true),
        )
        .await
        .unwrap();
    }
    bus.wake(TOPIC);
    sleep(Duration::from_secs(1)).await;
    let health = bus.health().await;
    assert!(health.up && health.detail.unwrap().contains("degraded"));
    broker.thaw().unwrap();

    settle(&consumer, &held).await;
    let mut seen = HashSet::new();
    while seen.len() < 3 {
        let claimed = some(&consumer, 3).await;
        seen.extend(claimed.iter().map(n));
        settle(&consumer, &claimed).await;
    }
    assert_eq!(seen, HashSet::from([3, 4, 5]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cut_network_is_survived() {
    let port = free_port().unwrap();
    let cable = Cable::to(([127, 0, 0, 1], port).into()).await.unwrap();
    let advertised = cable.address();
    let _broker = tokio::task::spawn_blocking(move || Broker::start_as(port, advertised))
        .await
        .unwrap()
        .unwrap();
    let house = KafkaHouse::at(cable.address().to_string(), 1).await;
    let bus = house.bus(options()).await;
    let consumer = join(&bus, "a").await;
    bus.publish(&event(0)).await.unwrap();
    settle(&consumer, &[one(&consumer).await]).await;
    for round in 1..4 {
        cable.cut();
        bus.publish(&event(round)).await.unwrap();
        sleep(Duration::from_millis(300)).await;
        cable.mend();
        // At least once: what was sent and not acknowledged is sent again.
        loop {
            let claimed = some(&consumer, 5).await;
            settle(&consumer, &claimed).await;
            if claimed.iter().any(|delivery| n(delivery) == round) {
                break;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_settled_out_of_order_is_not_handed_out_before_what_is_not() {
    let house = KafkaHouse::open().await;
    {
        let bus = house.bus(options()).await;
        let consumer = join(&bus, "before").await;
        house
            .transaction(&[event(1), event(2), event(3)], true)
            .await;
        bus.wake(TOPIC);
        let held = exactly(&consumer, 3).await;
        settle(&consumer, &held[..1]).await;
        settle(&consumer, &held[2..]).await;
        consumer.close().await.unwrap();
    }
    let bus = house.bus(options()).await;
    let consumer = join(&bus, "after").await;
    // 1 is below the mark; 3 was settled above it and comes again: at least once.
    let again = exactly(&consumer, 2).await;
    assert_eq!(again.iter().map(n).collect::<Vec<_>>(), [2, 3]);
}

/// Three brokers that fail on request. The broker that keeps the group is said, because a mock keeps a group where its
/// name happens to fall and does not move it when that broker goes.
struct Faulty {
    cluster: MockCluster<'static, DefaultProducerContext>,
    house: KafkaHouse,
}

impl Faulty {
    async fn with_the_group_at(broker: i32) -> Self {
        let cluster = MockCluster::new(3).unwrap();
        let house = KafkaHouse::at(cluster.bootstrap_servers(), 3).await;
        let group = format!("{}{GROUP}.{KIND}", house.kafka.prefix);
        cluster
            .coordinator(MockCoordinator::Group(group), broker)
            .unwrap();
        for topic in [TOPIC.to_owned(), format!("{TOPIC}.DLT")] {
            let topic = format!("{}{topic}", house.kafka.prefix);
            cluster.create_topic(&topic, 3, 3).unwrap();
            // One partition each, so that two of three can be written while one broker is away.
            for partition in 0..3 {
                cluster
                    .partition_leader(&topic, partition, Some(partition + 1))
                    .unwrap();
            }
        }
        Self { cluster, house }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn brokers_that_refuse_and_fail_get_every_event_in_the_end() {
    use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};

    let Faulty { cluster, house } = Faulty::with_the_group_at(2).await;
    let bus = house.bus(options()).await;
    let consumer = join(&bus, "a").await;
    bus.publish(&event(0)).await.unwrap();
    settle(&consumer, &[one(&consumer).await]).await;
    // Produce is refused for a while, commits come from a generation that is over, and a broker is away.
    cluster.request_errors(
        RDKafkaApiKey::Produce,
        &[RDKafkaRespErr::RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS; 4],
    );
    cluster.request_errors(
        RDKafkaApiKey::OffsetCommit,
        &[RDKafkaRespErr::RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION; 2],
    );
    cluster.broker_down(1).unwrap();
    let events: Vec<NewEvent> = (1..100).map(event).collect();
    house.transaction(&events, true).await;
    bus.wake(TOPIC);
    let mut seen = HashSet::new();
    gather(&consumer, &mut seen, 50).await;
    cluster.broker_up(1).unwrap();
    gather(&consumer, &mut seen, 99).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_producer_that_the_broker_takes_nothing_from_any_more_has_a_successor() {
    use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};

    let Faulty { cluster, house } = Faulty::with_the_group_at(2).await;
    let bus = house.bus(options()).await;
    let consumer = join(&bus, "a").await;
    let over = [
        RDKafkaRespErr::RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER,
        RDKafkaRespErr::RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH,
        RDKafkaRespErr::RD_KAFKA_RESP_ERR_PRODUCER_FENCED,
    ];
    let mut seen = HashSet::new();
    for (round, error) in (1..).zip(over) {
        // The numbering begins with the first record that is taken.
        bus.publish(&event(2 * round)).await.unwrap();
        gather(&consumer, &mut seen, 2 * round as usize - 1).await;
        cluster.request_errors(RDKafkaApiKey::Produce, &[error; 3]);
        bus.publish(&event(2 * round + 1)).await.unwrap();
        gather(&consumer, &mut seen, 2 * round as usize).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_whose_broker_was_away_goes_on_when_it_is_back() {
    let Faulty { cluster, house } = Faulty::with_the_group_at(1).await;
    let bus = house.bus(options()).await;
    let consumer = join(&bus, "a").await;
    bus.publish(&event(0)).await.unwrap();
    settle(&consumer, &[one(&consumer).await]).await;
    cluster.broker_down(1).unwrap();
    let events: Vec<NewEvent> = (1..30).map(event).collect();
    house.transaction(&events, true).await;
    bus.wake(TOPIC);
    let mut seen = HashSet::new();
    // Longer than a session lasts: the group forgets the consumer.
    let away = timeout(
        house.kafka.session_timeout * 2,
        gather(&consumer, &mut seen, 29),
    )
    .await;
    assert!(away.is_err(), "a third of the partitions is away");
    cluster.broker_up(1).unwrap();
    gather(&consumer, &mut seen, 29).await;
}

/// Takes and settles until so many different events were seen.
async fn gather(consumer: &Arc<dyn Consumer>, seen: &mut HashSet<u32>, how_many: usize) {
    while seen.len() < how_many {
        let claimed = some(consumer, 10).await;
        seen.extend(claimed.iter().map(n));
        settle_or_lose(consumer, &claimed).await;
    }
}

async fn settle_or_lose(consumer: &Arc<dyn Consumer>, deliveries: &[flydocs_bus::Delivery]) {
    for delivery in deliveries {
        // A rebalance may have taken it.
        let _either: flydocs_bus::Settled = consumer.done(&delivery.ticket).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_more_than_the_capacity_is_in_memory_at_once() {
    let house = KafkaHouse::open().await;
    let small = Options {
        memory_capacity: 50,
        ..options()
    };
    house.flood(TOPIC, KIND, 3000).await;
    let bus = house.bus(small).await;
    bus.wake(TOPIC);
    let consumer = join(&bus, "a").await;
    let mut seen = HashSet::new();
    while seen.len() < 3000 {
        let claimed = some(&consumer, 20).await;
        if seen.len() % 1000 < 20 {
            let group = bus.status().await.unwrap().groups.remove(0);
            assert_eq!(group.group, GROUP);
            assert!(group.due + group.in_flight <= 60, "{group:?}");
        }
        seen.extend(claimed.iter().map(n));
        let settling = claimed
            .iter()
            .map(|delivery| consumer.done(&delivery.ticket));
        for settled in futures::future::join_all(settling).await {
            assert_eq!(settled.unwrap(), flydocs_bus::Settled::Settled);
        }
    }
}
