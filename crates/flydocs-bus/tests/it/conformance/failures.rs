//! Retries, dead letters, and events that kill.

use std::time::Duration;

use flydocs_bus::{Options, Settled};

use super::{GROUP, assert_nothing_due, event, exactly, join, n, one, settle, some};
use crate::houses::{House, options};

const AT_ONCE: Option<Duration> = Some(Duration::ZERO);

pub(crate) async fn a_failed_delivery_comes_back_with_its_failures_counted(house: &dyn House) {
    let bus = house.bus(options()).await;
    let consumer = join(&bus, "a").await;
    bus.publish(&event(1)).await.unwrap();
    for round in 0..3 {
        let delivery = one(&consumer).await;
        assert_eq!((delivery.attempts, delivery.failures), (round + 1, round));
        let retried = consumer
            .retry(&delivery.ticket, None, "not yet")
            .await
            .unwrap();
        assert_eq!(retried, Settled::Settled);
    }
}

pub(crate) async fn poison_becomes_a_dead_letter_and_others_are_unharmed(house: &dyn House) {
    let bus = house
        .bus(Options {
            max_failures: 3,
            ..options()
        })
        .await;
    let consumer = join(&bus, "a").await;
    let events: Vec<_> = (0..10).map(event).collect();
    house.transaction(&events, true).await;
    bus.wake(super::TOPIC);

    let mut handled = Vec::new();
    let mut outcomes = Vec::new();
    while handled.len() < 9 || outcomes.len() < 3 {
        for delivery in some(&consumer, 4).await {
            if n(&delivery) == 5 {
                outcomes.push(
                    consumer
                        .retry(&delivery.ticket, AT_ONCE, "poison")
                        .await
                        .unwrap(),
                );
            } else {
                handled.push(n(&delivery));
                settle(&consumer, &[delivery]).await;
            }
        }
    }

    handled.sort_unstable();
    assert_eq!(handled, [0, 1, 2, 3, 4, 6, 7, 8, 9]);
    assert_eq!(
        outcomes,
        [Settled::Settled, Settled::Settled, Settled::DeadLettered]
    );
    let letters = bus.dead_letters(Some(GROUP), 10).await.unwrap();
    let [letter] = letters.as_slice() else {
        panic!("one dead letter, not {letters:?}")
    };
    assert_eq!(letter.event_id, events[5].event_id);
    assert_eq!(letter.payload, events[5].payload);
    assert_eq!(
        (letter.attempts, letter.error.as_deref()),
        (3, Some("poison"))
    );
    assert_nothing_due(&bus, &consumer).await;
}

pub(crate) async fn a_permanent_failure_is_a_dead_letter_at_once(house: &dyn House) {
    let bus = house.bus(options()).await;
    let consumer = join(&bus, "a").await;
    bus.publish(&event(1)).await.unwrap();
    let delivery = one(&consumer).await;
    let outcome = consumer
        .dead_letter(&delivery.ticket, "unreadable", "not JSON")
        .await
        .unwrap();
    assert_eq!(outcome, Settled::DeadLettered);
    let letter = &bus.dead_letters(None, 10).await.unwrap()[0];
    assert_eq!(
        (letter.reason.as_str(), letter.group.as_str()),
        ("unreadable", GROUP)
    );
    assert_nothing_due(&bus, &consumer).await;
}

pub(crate) async fn a_dead_letter_goes_back_to_its_own_group_once(house: &dyn House) {
    let bus = house.bus(options()).await;
    let consumer = join(&bus, "a").await;
    let elsewhere = bus
        .subscribe(flydocs_bus::Subscription {
            group: "others".to_owned(),
            ..super::subscription("b")
        })
        .await
        .unwrap();
    let published = event(7);
    bus.publish(&published).await.unwrap();
    settle(&elsewhere, &[one(&elsewhere).await]).await;
    let delivery = one(&consumer).await;
    let dead = consumer
        .dead_letter(&delivery.ticket, "handler failed", "no")
        .await
        .unwrap();
    assert_eq!(dead, Settled::DeadLettered);
    let letter = bus.dead_letters(Some(GROUP), 1).await.unwrap().remove(0);

    assert!(bus.requeue(letter.id).await.unwrap());
    assert!(!bus.requeue(letter.id).await.unwrap());
    assert!(!bus.requeue(letter.id + 1000).await.unwrap());

    let again = one(&consumer).await;
    assert_eq!(
        (again.event_id, again.payload.as_str()),
        (published.event_id, r#"{"n":7}"#)
    );
    assert_eq!(again.failures, 0);
    settle(&consumer, &[again]).await;
    assert_nothing_due(&bus, &consumer).await;
    // The marker is all that the other group gets.
    assert_eq!(n(&one(&elsewhere).await), 9_999_999);
    assert!(
        bus.dead_letters(Some(GROUP), 1).await.unwrap()[0]
            .requeued_at
            .is_some()
    );
}

pub(crate) async fn an_event_that_kills_its_consumers_is_handed_out_alone_and_then_buried(
    house: &dyn House,
) {
    let lease = Duration::from_millis(100);
    let bus = house
        .bus(Options {
            lease,
            max_unsettled: 4,
            ..options()
        })
        .await;
    let consumer = join(&bus, "a").await;
    house
        .transaction(&[event(0), event(1), event(2)], true)
        .await;
    bus.wake(super::TOPIC);
    // Two crashes with all three in flight, event 0 being the one that kills.
    for _ in 0..2 {
        exactly(&consumer, 3).await;
        tokio::time::sleep(lease * 2).await;
    }

    // Now each comes alone, although there are three slots.
    let mut alone = Vec::new();
    while bus.dead_letters(None, 1).await.unwrap().is_empty() {
        let stop = stop_after(lease * 10);
        let claimed = consumer.claim(3, &stop).await.unwrap();
        assert!(claimed.len() <= 1, "a suspect had company: {claimed:?}");
        for delivery in claimed {
            alone.push(n(&delivery));
            if n(&delivery) == 0 {
                tokio::time::sleep(lease * 2).await;
            } else {
                let _maybe_late: Settled = consumer.done(&delivery.ticket).await.unwrap();
            }
        }
    }

    let letters = bus.dead_letters(None, 10).await.unwrap();
    assert!(
        letters
            .iter()
            .any(|l| l.payload == r#"{"n":0}"# && l.reason.contains("never settled"))
    );
    assert!(alone.contains(&0));
}

fn stop_after(wait: Duration) -> tokio_util::sync::CancellationToken {
    let token = tokio_util::sync::CancellationToken::new();
    tokio::spawn({
        let token = token.clone();
        async move {
            tokio::time::sleep(wait).await;
            token.cancel();
        }
    });
    token
}
