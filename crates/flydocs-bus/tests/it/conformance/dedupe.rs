//! Keys of which one live event is enough.

use std::time::Duration;

use flydocs_bus::{NewEvent, Published};

use super::{TOPIC, assert_nothing_due, event, join, one, settle};
use crate::houses::{House, options};

fn unique(key: &str, n: u32) -> NewEvent {
    NewEvent {
        dedupe_key: Some(key.to_owned()),
        ..event(n)
    }
}

pub(crate) async fn a_second_event_of_a_live_key_is_not_written(house: &dyn House) {
    let bus = house.bus(options()).await;
    // Also before anybody is there to want it.
    assert_eq!(
        bus.publish(&unique("x/1", 1)).await.unwrap(),
        Published::New
    );
    assert_eq!(
        bus.publish(&unique("x/1", 2)).await.unwrap(),
        Published::Duplicate
    );
    let consumer = join(&bus, "a").await;
    assert_eq!(
        bus.publish(&unique("x/1", 3)).await.unwrap(),
        Published::Duplicate
    );
    assert_eq!(
        bus.publish(&unique("x/2", 4)).await.unwrap(),
        Published::New
    );
    let elsewhere = NewEvent {
        destination: "other".to_owned(),
        ..unique("x/1", 5)
    };
    assert_eq!(bus.publish(&elsewhere).await.unwrap(), Published::New);

    let mut seen = [
        super::n(&one(&consumer).await),
        super::n(&one(&consumer).await),
    ];
    seen.sort_unstable();
    assert_eq!(seen, [1, 4]);
    assert_nothing_due(&bus, &consumer).await;
}

pub(crate) async fn a_key_is_free_again_once_its_event_is_settled(house: &dyn House) {
    let bus = house.bus(options()).await;
    let consumer = join(&bus, "a").await;
    for n in 0..3 {
        assert_eq!(
            bus.publish(&unique("x/1", n)).await.unwrap(),
            Published::New
        );
        let delivery = one(&consumer).await;
        assert_eq!(super::n(&delivery), n);
        settle(&consumer, &[delivery]).await;
        assert!(!house.live(TOPIC, "x/1").await);
    }
}

pub(crate) async fn a_key_is_live_while_it_waits_is_leased_or_retried(house: &dyn House) {
    let bus = house.bus(options()).await;
    let consumer = join(&bus, "a").await;
    assert!(!house.live(TOPIC, "x/1").await);
    let delayed = NewEvent {
        delay: Duration::from_millis(1),
        ..unique("x/1", 1)
    };
    bus.publish(&delayed).await.unwrap();
    assert!(house.live(TOPIC, "x/1").await);
    let leased = one(&consumer).await;
    assert!(house.live(TOPIC, "x/1").await);
    assert_eq!(
        consumer.retry(&leased.ticket, None, "again").await.unwrap(),
        flydocs_bus::Settled::Settled
    );
    assert!(house.live(TOPIC, "x/1").await);
    assert_eq!(
        bus.publish(&unique("x/1", 2)).await.unwrap(),
        Published::Duplicate
    );
    let again = one(&consumer).await;
    assert_eq!(
        consumer
            .dead_letter(&again.ticket, "handler failed", "no")
            .await
            .unwrap(),
        flydocs_bus::Settled::DeadLettered
    );
    assert!(!house.live(TOPIC, "x/1").await);
}

pub(crate) async fn a_key_is_taken_while_its_event_is_young(house: &dyn House) {
    let bus = house.bus(options()).await;
    let consumer = join(&bus, "a").await;
    assert!(!house.live(TOPIC, "x/1").await);
    bus.publish(&unique("x/1", 1)).await.unwrap();
    assert!(house.live(TOPIC, "x/1").await);
    let delivery = one(&consumer).await;
    assert_eq!(
        bus.publish(&unique("x/1", 2)).await.unwrap(),
        Published::Duplicate
    );
    settle(&consumer, &[delivery]).await;
    assert!(house.live(TOPIC, "x/1").await);
    assert_nothing_due(&bus, &consumer).await;
}
