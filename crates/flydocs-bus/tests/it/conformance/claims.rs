//! Leases, tickets, slots.

use std::{collections::HashSet, time::Duration};

use flydocs_bus::{Options, Settled};
use tokio_util::sync::CancellationToken;

use super::{assert_nothing_due, event, exactly, join, one, settle, some};
use crate::houses::{House, options};

pub(crate) async fn two_consumers_work_in_parallel_and_never_hold_one_delivery_both(
    house: &dyn House,
) {
    let (first, second) = (house.bus(options()).await, house.bus(options()).await);
    let (a, b) = (join(&first, "a").await, join(&second, "b").await);
    let events: Vec<_> = (0..40).map(event).collect();
    house.transaction(&events, true).await;
    first.wake(super::TOPIC);

    let half_each = tokio::join!(exactly(&a, 20), exactly(&b, 20));

    let held: Vec<_> = half_each
        .0
        .iter()
        .chain(&half_each.1)
        .map(|d| d.event_id)
        .collect();
    assert_eq!(held.iter().collect::<HashSet<_>>().len(), 40);
    settle(&a, &half_each.0).await;
    settle(&b, &half_each.1).await;
}

pub(crate) async fn no_more_is_claimed_than_there_are_free_slots(house: &dyn House) {
    let bus = house.bus(options()).await;
    let consumer = join(&bus, "a").await;
    house
        .transaction(&[event(1), event(2), event(3)], true)
        .await;
    bus.wake(super::TOPIC);

    assert_eq!(some(&consumer, 2).await.len(), 2);
    assert!(
        consumer
            .claim(0, &CancellationToken::new())
            .await
            .unwrap()
            .is_empty()
    );
    assert_eq!(some(&consumer, 2).await.len(), 1);
}

pub(crate) async fn a_lost_claim_cannot_settle(house: &dyn House) {
    let short = Options {
        lease: Duration::from_millis(150),
        ..options()
    };
    let bus = house.bus(short).await;
    let (zombie, heir) = (join(&bus, "zombie").await, join(&bus, "heir").await);
    bus.publish(&event(1)).await.unwrap();
    let lost = one(&zombie).await.ticket;
    let again = one(&heir).await;
    // From here on the heir's lease is kept by beats.
    let beating = tokio::spawn({
        let (heir, ticket) = (heir.clone(), again.ticket.clone());
        async move {
            loop {
                let lost = heir.beat(std::slice::from_ref(&ticket)).await.unwrap();
                assert!(lost.is_empty());
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    });

    assert_eq!(
        zombie.beat(std::slice::from_ref(&lost)).await.unwrap(),
        std::slice::from_ref(&lost)
    );
    assert_eq!(zombie.done(&lost).await.unwrap(), Settled::Lost);
    assert_eq!(
        zombie.retry(&lost, None, "late").await.unwrap(),
        Settled::Lost
    );
    assert_eq!(
        zombie.defer(&lost, Duration::ZERO).await.unwrap(),
        Settled::Lost
    );
    assert_eq!(
        zombie
            .dead_letter(&lost, "handler failed", "late")
            .await
            .unwrap(),
        Settled::Lost
    );

    beating.abort();
    assert!(bus.dead_letters(None, 10).await.unwrap().is_empty());
    assert_eq!(again.attempts, 2);
}

pub(crate) async fn a_beaten_lease_is_kept(house: &dyn House) {
    let lease = Duration::from_millis(800);
    let bus = house.bus(Options { lease, ..options() }).await;
    let (holder, other) = (join(&bus, "holder").await, join(&bus, "other").await);
    bus.publish(&event(1)).await.unwrap();
    let held = one(&holder).await;

    let rival = tokio::spawn(async move { one(&other).await });
    for _ in 0..30 {
        assert!(
            holder
                .beat(std::slice::from_ref(&held.ticket))
                .await
                .unwrap()
                .is_empty()
        );
        tokio::time::sleep(lease / 20).await;
    }

    assert!(!rival.is_finished());
    assert_eq!(holder.done(&held.ticket).await.unwrap(), Settled::Settled);
    rival.abort();
}

pub(crate) async fn a_consumer_that_leaves_gives_its_work_back_without_counting(house: &dyn House) {
    let (first, second) = (house.bus(options()).await, house.bus(options()).await);
    let (leaving, staying) = (
        join(&first, "leaving").await,
        join(&second, "staying").await,
    );
    house.transaction(&[event(1), event(2)], true).await;
    first.wake(super::TOPIC);
    let held = exactly(&leaving, 2).await;

    let waiting = tokio::spawn(async move { exactly(&staying, 2).await });
    leaving.close().await.unwrap();

    let taken_over = waiting.await.unwrap();
    assert_eq!(
        taken_over.iter().map(|d| d.attempts).collect::<Vec<_>>(),
        [1, 1]
    );
    assert_eq!(leaving.done(&held[0].ticket).await.unwrap(), Settled::Lost);
}

pub(crate) async fn a_cancelled_claim_returns_empty_handed(house: &dyn House) {
    let bus = house.bus(options()).await;
    let consumer = join(&bus, "a").await;
    let cancel = CancellationToken::new();
    let waiting = tokio::spawn({
        let (consumer, cancel) = (consumer.clone(), cancel.clone());
        async move { consumer.claim(5, &cancel).await }
    });
    tokio::task::yield_now().await;
    cancel.cancel();
    assert!(waiting.await.unwrap().unwrap().is_empty());

    bus.publish(&event(1)).await.unwrap();
    assert!(consumer.claim(5, &cancel).await.unwrap().is_empty());
    assert_eq!(one(&consumer).await.attempts, 1);
}

pub(crate) async fn a_deferred_delivery_comes_back_without_counting(house: &dyn House) {
    let bus = house.bus(options()).await;
    let consumer = join(&bus, "a").await;
    bus.publish(&event(1)).await.unwrap();
    for _ in 0..5 {
        let delivery = one(&consumer).await;
        assert_eq!((delivery.attempts, delivery.failures), (1, 0));
        let deferred = consumer
            .defer(&delivery.ticket, Duration::from_millis(1))
            .await;
        assert_eq!(deferred.unwrap(), Settled::Settled);
    }
    let delivery = one(&consumer).await;
    settle(&consumer, &[delivery]).await;
    assert_nothing_due(&bus, &consumer).await;
}
