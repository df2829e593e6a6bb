//! What every adapter promises, as one suite that every adapter runs.

pub(crate) mod backlog;
pub(crate) mod claims;
pub(crate) mod dedupe;
pub(crate) mod failures;
pub(crate) mod groups;
pub(crate) mod order;
pub(crate) mod publishing;
pub(crate) mod time;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use flydocs_bus::{Bus, BusStatus, Consumer, Delivery, NewEvent, Settled, Start, Subscription};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

pub(crate) const TOPIC: &str = "flydocs.extractions";
pub(crate) const GROUP: &str = "flydocs-workers";
pub(crate) const KIND: &str = "extraction.submitted";

/// Runs every sentence of the suite in a fresh house: the expression is evaluated in each test.
macro_rules! suite {
    ($house:expr) => {
        crate::conformance::suite_without_dedupe!($house;
                dedupe: a_second_event_of_a_live_key_is_not_written,
                    a_key_is_free_again_once_its_event_is_settled,
                    a_key_is_live_while_it_waits_is_leased_or_retried;
        );
    };
}
pub(crate) use suite;

/// The same for an adapter with a broker, in which it cannot be seen whether an event is settled.
macro_rules! suite_with_a_broker {
    ($house:expr) => {
        crate::conformance::suite_without_dedupe!($house;
                dedupe: a_second_event_of_a_live_key_is_not_written,
                    a_key_is_taken_while_its_event_is_young;
        );
    };
}
pub(crate) use suite_with_a_broker;

macro_rules! suite_without_dedupe {
    ($house:expr; $($more:tt)*) => {
        mod suite {
            crate::conformance::sentences!($house; $($more)*
                backlog: a_backlog_drains_completely_with_flat_memory;
                claims: two_consumers_work_in_parallel_and_never_hold_one_delivery_both,
                    no_more_is_claimed_than_there_are_free_slots,
                    a_lost_claim_cannot_settle,
                    a_beaten_lease_is_kept,
                    a_consumer_that_leaves_gives_its_work_back_without_counting,
                    a_cancelled_claim_returns_empty_handed,
                    a_deferred_delivery_comes_back_without_counting;
                failures: a_failed_delivery_comes_back_with_its_failures_counted,
                    poison_becomes_a_dead_letter_and_others_are_unharmed,
                    a_permanent_failure_is_a_dead_letter_at_once,
                    a_dead_letter_goes_back_to_its_own_group_once,
                    an_event_that_kills_its_consumers_is_handed_out_alone_and_then_buried;
                groups: every_group_gets_every_event_once,
                    an_event_type_that_nobody_handles_waits_for_its_first_handler,
                    a_member_takes_only_the_types_it_handles,
                    a_new_group_can_begin_with_what_comes_next,
                    a_subscription_without_destination_or_type_is_refused,
                    the_status_counts_what_a_group_owes,
                    a_forgotten_group_owes_nothing,
                    handled_events_are_pruned_and_owed_ones_are_kept;
                order: events_of_one_key_are_handed_over_in_order_one_at_a_time,
                    a_failed_event_holds_its_successors_back_and_no_other_key;
                publishing: an_event_exists_exactly_if_its_transaction_commits,
                    a_late_committing_publisher_is_not_skipped,
                    the_payload_arrives_byte_for_byte,
                    an_idle_consumer_is_woken_by_a_publish;
                time: a_delay_is_honoured,
                    a_retry_comes_no_earlier_than_asked,
                    the_delivery_of_a_lost_consumer_comes_again;
            );
        }
    };
}
pub(crate) use suite_without_dedupe;

macro_rules! sentences {
    ($house:expr; $($module:ident: $($sentence:ident),+;)+) => {
        $($(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $sentence() {
                crate::conformance::$module::$sentence(&{ $house }).await;
            }
        )+)+
    };
}
pub(crate) use sentences;

/// Longer than any healthy wait on a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);

pub(crate) fn subscription(consumer: &str) -> Subscription {
    Subscription {
        group: GROUP.to_owned(),
        destinations: vec![TOPIC.to_owned()],
        event_types: vec![KIND.to_owned()],
        consumer: consumer.to_owned(),
        start: Start::Earliest,
    }
}

pub(crate) async fn join(bus: &Arc<dyn Bus>, consumer: &str) -> Arc<dyn Consumer> {
    bus.subscribe(subscription(consumer)).await.unwrap()
}

/// An event whose payload says `n`.
pub(crate) fn event(n: u32) -> NewEvent {
    NewEvent::new(Uuid::new_v4(), TOPIC, KIND, format!(r#"{{"n":{n}}}"#))
}

pub(crate) fn keyed(key: &str, n: u32) -> NewEvent {
    NewEvent {
        ordering_key: Some(key.to_owned()),
        ..event(n)
    }
}

pub(crate) fn n(delivery: &Delivery) -> u32 {
    let payload: serde_json::Value = serde_json::from_str(&delivery.payload).unwrap();
    payload["n"].as_u64().unwrap() as u32
}

/// Exactly one more delivery.
pub(crate) async fn one(consumer: &Arc<dyn Consumer>) -> Delivery {
    let mut claimed = some(consumer, 1).await;
    assert_eq!(claimed.len(), 1);
    claimed.remove(0)
}

/// At least one more delivery and at most `limit`.
pub(crate) async fn some(consumer: &Arc<dyn Consumer>, limit: usize) -> Vec<Delivery> {
    let never = CancellationToken::new();
    let claim = consumer.claim(limit, &never);
    let claimed = tokio::time::timeout(PATIENCE, claim)
        .await
        .expect("nothing came")
        .unwrap();
    assert!(!claimed.is_empty());
    claimed
}

/// So many more deliveries, over as many claims as it takes.
pub(crate) async fn exactly(consumer: &Arc<dyn Consumer>, count: usize) -> Vec<Delivery> {
    let mut all = Vec::new();
    while all.len() < count {
        all.extend(some(consumer, count - all.len()).await);
    }
    all
}

/// Looks once, and finds nothing to claim.
///
/// A marker goes last: it is claimed alone, so nothing was due before it.
pub(crate) async fn assert_nothing_due(bus: &Arc<dyn Bus>, consumer: &Arc<dyn Consumer>) {
    let marker = event(9_999_999);
    bus.publish(&marker).await.unwrap();
    let claimed = some(consumer, 100).await;
    let events: Vec<Uuid> = claimed.iter().map(|delivery| delivery.event_id).collect();
    assert_eq!(
        events,
        [marker.event_id],
        "something else was due: {claimed:?}"
    );
    settle(consumer, &claimed).await;
}

/// The status once nothing is under way from the outbox: a relay settles there a moment after the broker has an event,
/// and a consumer may be quicker than that.
pub(crate) async fn status_at_rest(bus: &Arc<dyn Bus>) -> BusStatus {
    let began = Instant::now();
    loop {
        let status = bus.status().await.unwrap();
        if status.groups.iter().all(|group| group.undrained == 0) || began.elapsed() > PATIENCE {
            return status;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub(crate) async fn settle(consumer: &Arc<dyn Consumer>, deliveries: &[Delivery]) {
    for delivery in deliveries {
        assert_eq!(
            consumer.done(&delivery.ticket).await.unwrap(),
            Settled::Settled
        );
    }
}
