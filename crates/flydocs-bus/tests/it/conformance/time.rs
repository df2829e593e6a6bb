//! Delays and leases, by the database's clock.

use std::time::{Duration, Instant};

use flydocs_bus::{NewEvent, Options, Settled};

use super::{event, join, n, one, settle};
use crate::houses::{House, options};

pub(crate) async fn a_delay_is_honoured(house: &dyn House) {
    let bus = house.bus(options()).await;
    let consumer = join(&bus, "a").await;
    let delay = Duration::from_millis(700);
    let began = Instant::now();
    bus.publish(&NewEvent { delay, ..event(1) }).await.unwrap();
    bus.publish(&event(2)).await.unwrap();
    let first = one(&consumer).await;
    assert_eq!(n(&first), 2);
    settle(&consumer, &[first]).await;

    let second = one(&consumer).await;
    assert_eq!(n(&second), 1);
    // A millisecond is the resolution of the clock.
    assert!(
        began.elapsed() + Duration::from_millis(2) >= delay,
        "{:?}",
        began.elapsed()
    );
    let waited = second.available_at - second.published_at;
    assert_eq!(waited.num_milliseconds(), 700);
}

pub(crate) async fn a_retry_comes_no_earlier_than_asked(house: &dyn House) {
    let bus = house.bus(options()).await;
    let consumer = join(&bus, "a").await;
    bus.publish(&event(1)).await.unwrap();
    let delay = Duration::from_millis(300);
    let failed = one(&consumer).await;
    let began = Instant::now();
    let retried = consumer
        .retry(&failed.ticket, Some(delay), "busy")
        .await
        .unwrap();
    assert_eq!(retried, Settled::Settled);
    one(&consumer).await;
    assert!(began.elapsed() + Duration::from_millis(2) >= delay);
}

pub(crate) async fn the_delivery_of_a_lost_consumer_comes_again(house: &dyn House) {
    let lease = Duration::from_millis(400);
    let bus = house.bus(Options { lease, ..options() }).await;
    let (lost, other) = (join(&bus, "lost").await, join(&bus, "other").await);
    bus.publish(&event(1)).await.unwrap();
    let began = Instant::now();
    let first = one(&lost).await;
    // Never settled, never beaten: as good as dead.
    let second = one(&other).await;
    assert_eq!(second.event_id, first.event_id);
    assert_eq!((second.attempts, second.failures), (2, 0));
    assert!(began.elapsed() >= lease);
}
