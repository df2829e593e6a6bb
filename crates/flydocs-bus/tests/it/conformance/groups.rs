//! Who gets what, and what an operator sees of it.

use std::time::Duration;

use flydocs_bus::{Error, NewEvent, Options, Start, Subscription};

use super::{
    GROUP, KIND, TOPIC, assert_nothing_due, event, exactly, join, n, one, settle, subscription,
};
use crate::houses::{House, options};

const OTHER_KIND: &str = "extraction.completed";

fn of_kind(event_type: &str, n: u32) -> NewEvent {
    NewEvent {
        event_type: event_type.to_owned(),
        ..event(n)
    }
}

fn group(name: &str) -> Subscription {
    Subscription {
        group: name.to_owned(),
        ..subscription(name)
    }
}

pub(crate) async fn every_group_gets_every_event_once(house: &dyn House) {
    let bus = house.bus(options()).await;
    let a = bus.subscribe(group("a")).await.unwrap();
    let b = bus.subscribe(group("b")).await.unwrap();
    house.transaction(&[event(1), event(2)], true).await;
    bus.wake(TOPIC);
    for consumer in [&a, &b] {
        let both = exactly(consumer, 2).await;
        assert_eq!(both.iter().map(n).collect::<Vec<_>>(), [1, 2]);
        settle(consumer, &both).await;
    }
    bus.publish(&event(3)).await.unwrap();
    for consumer in [&a, &b] {
        assert_eq!(n(&one(consumer).await), 3);
    }
}

pub(crate) async fn an_event_type_that_nobody_handles_waits_for_its_first_handler(
    house: &dyn House,
) {
    let bus = house.bus(options()).await;
    let old = join(&bus, "old").await;
    bus.publish(&of_kind(OTHER_KIND, 1)).await.unwrap();
    // Not claimed, not counted as handled.
    assert_nothing_due(&bus, &old).await;

    let both_kinds = vec![KIND.to_owned(), OTHER_KIND.to_owned()];
    let newer = Subscription {
        event_types: both_kinds,
        ..subscription("new")
    };
    let new = bus.subscribe(newer).await.unwrap();
    let waited = one(&new).await;
    assert_eq!((waited.event_type.as_str(), n(&waited)), (OTHER_KIND, 1));
    settle(&new, &[waited]).await;
    assert_nothing_due(&bus, &new).await;
}

pub(crate) async fn a_member_takes_only_the_types_it_handles(house: &dyn House) {
    let bus = house.bus(options()).await;
    let a = join(&bus, "a").await;
    let other = Subscription {
        event_types: vec![OTHER_KIND.to_owned()],
        ..subscription("b")
    };
    let b = bus.subscribe(other).await.unwrap();
    house
        .transaction(
            &[of_kind(OTHER_KIND, 1), event(2), of_kind(OTHER_KIND, 3)],
            true,
        )
        .await;
    bus.wake(TOPIC);
    assert_eq!(n(&one(&a).await), 2);
    assert_eq!(
        exactly(&b, 2).await.iter().map(n).collect::<Vec<_>>(),
        [1, 3]
    );
    assert_nothing_due(&bus, &a).await;
}

pub(crate) async fn a_new_group_can_begin_with_what_comes_next(house: &dyn House) {
    let bus = house.bus(options()).await;
    bus.publish(&event(1)).await.unwrap();
    let late = bus
        .subscribe(Subscription {
            start: Start::Latest,
            ..group("late")
        })
        .await
        .unwrap();
    let early = bus.subscribe(group("early")).await.unwrap();
    bus.publish(&event(2)).await.unwrap();
    assert_eq!(n(&one(&late).await), 2);
    assert_eq!(
        exactly(&early, 2).await.iter().map(n).collect::<Vec<_>>(),
        [1, 2]
    );
}

pub(crate) async fn a_subscription_without_destination_or_type_is_refused(house: &dyn House) {
    let bus = house.bus(options()).await;
    let nowhere = Subscription {
        destinations: Vec::new(),
        ..subscription("a")
    };
    let nothing = Subscription {
        event_types: Vec::new(),
        ..subscription("a")
    };
    for (subscription, missing) in [(nowhere, "destination"), (nothing, "event type")] {
        let refused = bus.subscribe(subscription).await.unwrap_err();
        assert!(matches!(&refused, Error::EmptySubscription { .. }));
        assert!(refused.to_string().contains(missing), "{refused}");
    }
}

pub(crate) async fn the_status_counts_what_a_group_owes(house: &dyn House) {
    let bus = house.bus(options()).await;
    let consumer = join(&bus, "a").await;
    let delayed = NewEvent {
        delay: Duration::from_hours(1),
        ..event(4)
    };
    house
        .transaction(&[event(1), event(2), event(3), delayed], true)
        .await;
    bus.wake(TOPIC);
    let held = exactly(&consumer, 2).await;
    assert_eq!(
        consumer
            .dead_letter(&held[0].ticket, "handler failed", "no")
            .await
            .unwrap(),
        flydocs_bus::Settled::DeadLettered
    );

    let status = super::status_at_rest(&bus).await;
    assert_eq!(status.adapter, bus.adapter());
    let [group] = status.groups.as_slice() else {
        panic!("one group: {status:?}")
    };
    assert_eq!(group.group, GROUP);
    assert_eq!(group.lock_key, -6_664_241_359_945_616_607);
    assert_eq!(group.destinations, [TOPIC]);
    assert_eq!(group.event_types, [KIND]);
    assert_eq!((group.due, group.delayed, group.in_flight), (1, 1, 1));
    assert_eq!(
        (group.undrained, group.suspects, group.dead_letters),
        (0, 0, 1)
    );
    assert!(
        group
            .oldest_due_seconds
            .is_some_and(|age| (0.0..600.0).contains(&age))
    );
    assert!(bus.health().await.up);
}

pub(crate) async fn a_forgotten_group_owes_nothing(house: &dyn House) {
    let bus = house.bus(options()).await;
    let consumer = bus.subscribe(group("gone")).await.unwrap();
    house.transaction(&[event(1), event(2)], true).await;
    bus.wake(TOPIC);
    // Both have come: a broker hands them over one by one, and nobody owes what is still there.
    exactly(&consumer, 2).await;
    assert_eq!(bus.forget_group("gone").await.unwrap(), 2);
    assert!(bus.status().await.unwrap().groups.is_empty());
}

pub(crate) async fn handled_events_are_pruned_and_owed_ones_are_kept(house: &dyn House) {
    let keep = Options {
        keep_events: Duration::ZERO,
        keep_dead_letters: Duration::from_hours(1),
        ..options()
    };
    let bus = house.bus(keep).await;
    let consumer = join(&bus, "a").await;
    let wanted_by_nobody = NewEvent {
        destination: "elsewhere".to_owned(),
        ..event(5)
    };
    let waiting = NewEvent {
        delay: Duration::from_hours(1),
        ..event(4)
    };
    house
        .transaction(
            &[event(1), event(2), event(3), waiting, wanted_by_nobody],
            true,
        )
        .await;
    bus.wake(TOPIC);
    let mut held = exactly(&consumer, 3).await;
    let owed = held.pop().unwrap();
    settle(&consumer, &held).await;

    // Each further event is one more look of the drain, which then has passed the settled ones by.
    let (mut pruned, mut published) = (0, 5);
    while pruned < 2 {
        assert_nothing_due(&bus, &consumer).await;
        published += 1;
        pruned += bus.prune().await.unwrap().events;
    }

    let status = bus.status().await.unwrap();
    assert_eq!(status.outbox, published - pruned);
    let group = &status.groups[0];
    assert_eq!((group.in_flight, group.delayed), (1, 1));
    assert_eq!(
        consumer.retry(&owed.ticket, None, "again").await.unwrap(),
        flydocs_bus::Settled::Settled
    );
    let again = one(&consumer).await;
    assert_eq!(again.payload, owed.payload);
    settle(&consumer, &[again]).await;
}
