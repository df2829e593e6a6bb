//! From the publisher's transaction to a consumer's hands.

use std::time::Duration;

use flydocs_bus::NewEvent;
use tokio::time::timeout;

use super::{PATIENCE, TOPIC, assert_nothing_due, event, exactly, join, n, one, settle};
use crate::houses::{House, options};

pub(crate) async fn an_event_exists_exactly_if_its_transaction_commits(house: &dyn House) {
    let bus = house.bus(options()).await;
    let consumer = join(&bus, "a").await;
    house.transaction(&[event(1), event(2)], false).await;
    house.transaction(&[event(3)], true).await;
    bus.wake(TOPIC);
    let delivery = one(&consumer).await;
    assert_eq!(n(&delivery), 3);
    settle(&consumer, &[delivery]).await;
    assert_nothing_due(&bus, &consumer).await;
}

pub(crate) async fn a_late_committing_publisher_is_not_skipped(house: &dyn House) {
    let bus = house.bus(options()).await;
    let consumer = join(&bus, "a").await;
    let late = house.open_transaction(event(1)).await;
    // A second publisher, which a database with one writer lets wait for the first.
    let overtaking = tokio::spawn({
        let bus = bus.clone();
        async move { bus.publish(&event(2)).await.unwrap() }
    });
    let (mut seen, late) = match timeout(Duration::from_millis(400), one(&consumer)).await {
        Ok(first) => {
            assert_eq!(n(&first), 2);
            settle(&consumer, &[first]).await;
            (vec![2], late)
        }
        Err(_it_waits) => (Vec::new(), late),
    };

    late.commit().await;
    bus.wake(TOPIC);
    overtaking.await.unwrap();

    while seen.len() < 2 {
        seen.push(n(&one(&consumer).await));
    }
    seen.sort_unstable();
    assert_eq!(seen, [1, 2]);
}

pub(crate) async fn the_payload_arrives_byte_for_byte(house: &dyn House) {
    let bus = house.bus(options()).await;
    let consumer = join(&bus, "a").await;
    let odd = NewEvent {
        payload: "{\"z\":1, \"a\":\"\\u0000 ü \u{1F600}\",\n \"n\" : 1.50}".to_owned(),
        headers: serde_json::json!({"traceparent": "00-abc", "z": 1, "a": [null, "\u{0}"]}),
        ordering_key: Some("key".to_owned()),
        ..event(0)
    };
    bus.publish(&odd).await.unwrap();
    let delivery = one(&consumer).await;
    assert_eq!(delivery.payload, odd.payload);
    assert_eq!(delivery.headers.to_string(), odd.headers.to_string());
    assert_eq!(delivery.event_id, odd.event_id);
    assert_eq!(
        (delivery.destination, delivery.event_type),
        (odd.destination, odd.event_type)
    );
    assert_eq!(delivery.ordering_key, odd.ordering_key);
    assert!(delivery.available_at >= delivery.published_at);
}

pub(crate) async fn an_idle_consumer_is_woken_by_a_publish(house: &dyn House) {
    // The poll is a minute away: what comes sooner was a wake-up.
    let (here, there) = (house.bus(options()).await, house.bus(options()).await);
    let consumer = join(&here, "a").await;
    for round in 0..3 {
        let waiting = tokio::spawn({
            let consumer = consumer.clone();
            async move { exactly(&consumer, 1).await }
        });
        tokio::time::sleep(Duration::from_millis(50)).await;
        there.publish(&event(round)).await.unwrap();
        let claimed = timeout(PATIENCE, waiting).await.unwrap().unwrap();
        assert_eq!(n(&claimed[0]), round);
        settle(&consumer, &claimed).await;
    }
}
