//! Order per key.

use std::{collections::HashMap, time::Duration};

use super::{TOPIC, exactly, join, keyed, n, one, settle, some};
use crate::houses::{House, options};

pub(crate) async fn events_of_one_key_are_handed_over_in_order_one_at_a_time(house: &dyn House) {
    let (first, second) = (house.bus(options()).await, house.bus(options()).await);
    let consumers = [join(&first, "a").await, join(&second, "b").await];
    let events: Vec<_> = (0..30)
        .map(|n| keyed(["x", "y", "z"][n as usize % 3], n))
        .collect();
    house.transaction(&events, true).await;
    first.wake(TOPIC);

    let mut seen: HashMap<String, Vec<u32>> = HashMap::new();
    for round in 0..10 {
        let consumer = &consumers[round % 2];
        // One of each key, however many slots there are.
        let claimed = exactly(consumer, 3).await;
        for delivery in &claimed {
            seen.entry(delivery.ordering_key.clone().unwrap())
                .or_default()
                .push(n(delivery));
        }
        settle(consumer, &claimed).await;
    }

    for (remainder, key) in ["x", "y", "z"].into_iter().enumerate() {
        let expected: Vec<u32> = (0..10).map(|i| i * 3 + remainder as u32).collect();
        assert_eq!(seen[key], expected, "key {key}");
    }
}

pub(crate) async fn a_failed_event_holds_its_successors_back_and_no_other_key(house: &dyn House) {
    let bus = house.bus(options()).await;
    let consumer = join(&bus, "a").await;
    house
        .transaction(&[keyed("x", 1), keyed("x", 2), keyed("y", 3)], true)
        .await;
    bus.wake(TOPIC);

    let first = one(&consumer).await;
    assert_eq!(n(&first), 1);
    let later = Some(Duration::from_millis(300));
    assert_eq!(
        consumer
            .retry(&first.ticket, later, "not yet")
            .await
            .unwrap(),
        flydocs_bus::Settled::Settled
    );
    let other = one(&consumer).await;
    assert_eq!(n(&other), 3);
    settle(&consumer, &[other]).await;

    let again = some(&consumer, 5).await;
    assert_eq!(again.iter().map(n).collect::<Vec<_>>(), [1]);
    settle(&consumer, &again).await;
    assert_eq!(n(&one(&consumer).await), 2);
}
