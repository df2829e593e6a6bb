//! Webhook deliveries.

use std::time::Duration;

use flydocs_contract::{Envelope, EventType, ExtractionId};
use flydocs_store::{
    AfterAttempt, AttemptReport, DeliveryClaim, DeliveryStatus, DueDelivery, Store,
};

use crate::place::{Place, claim, claim_leg, new_extraction, result, submit};

async fn submit_with_callback(store: &dyn Store, url: &str) -> ExtractionId {
    let mut new = new_extraction(store).await;
    new.callback_url = Some(url.into());
    new.metadata = serde_json::from_str(r#"{"z":1,"a":2}"#).unwrap();
    let id = new.id;
    store.submit(new).await.unwrap();
    id
}

/// One extraction with one due delivery.
async fn succeed(store: &dyn Store, url: &str) -> ExtractionId {
    let id = submit_with_callback(store, url).await;
    let token = claim(store, id, "w").await.token;
    store
        .mark_succeeded(&token, &result(id, "x"), false)
        .await
        .unwrap()
        .unwrap();
    id
}

async fn take(store: &dyn Store, except: &[&str]) -> Vec<DueDelivery> {
    let claim = DeliveryClaim {
        worker: "d".into(),
        limit: 10,
        lease: Duration::from_mins(1),
        except_receivers: except.iter().map(|&r| r.to_owned()).collect(),
    };
    store.claim_deliveries(&claim).await.unwrap()
}

fn report(status_code: u16) -> AttemptReport {
    AttemptReport {
        status_code: Some(status_code),
        duration: Duration::from_millis(12),
        error: None,
        answer: Some("x".repeat(5000)),
    }
}

const URL: &str = "https://example.com/hook";

pub(crate) async fn no_callback_no_delivery(place: &Place) {
    let store = place.open().await;
    let id = submit(&*store).await;
    let token = claim(&*store, id, "w").await.token;
    store
        .mark_succeeded(&token, &result(id, "x"), false)
        .await
        .unwrap()
        .unwrap();
    assert!(take(&*store, &[]).await.is_empty());
    assert_eq!(store.deliveries(id, None).await.unwrap(), Some(Vec::new()));
    assert_eq!(
        store
            .deliveries(crate::place::fresh_id(), None)
            .await
            .unwrap(),
        None
    );
    assert_eq!(store.next_delivery_in().await.unwrap(), None);
}

pub(crate) async fn each_webhook_event_writes_its_delivery(place: &Place) {
    let store = place.open().await;
    let id = submit_with_callback(&*store, URL).await;
    let token = claim(&*store, id, "w").await.token;
    store
        .mark_succeeded(&token, &result(id, "one"), true)
        .await
        .unwrap()
        .unwrap();
    let leg = claim_leg(&*store, id, "b").await.token;
    store
        .mark_bbox_refinement_succeeded(&leg, &result(id, "two"))
        .await
        .unwrap()
        .unwrap();

    let events = place.outbox().await;
    let due = take(&*store, &[]).await;
    let types: Vec<_> = due.iter().map(|d| d.event_type).collect();
    assert_eq!(types.len(), 2);
    for (event_type, model) in [
        (EventType::Completed, "one"),
        (EventType::PostProcessingCompleted, "two"),
    ] {
        let delivery = due.iter().find(|d| d.event_type == event_type).unwrap();
        assert_eq!((delivery.url.as_str(), delivery.extraction_id), (URL, id));
        assert_eq!(
            delivery.correlation.correlation_id.as_deref(),
            Some("corr-1")
        );
        assert_eq!((delivery.token.attempt, delivery.attempt_of_round), (1, 1));
        let text = std::str::from_utf8(&delivery.body).unwrap();
        let envelope: Envelope = serde_json::from_str(text).unwrap();
        assert_eq!(
            serde_json::to_string(&envelope).unwrap(),
            text,
            "exactly the contract's bytes"
        );
        assert_eq!(envelope.event_id, delivery.token.event_id);
        assert_eq!(envelope.result.unwrap().pipeline.model, model);
        assert!(text.ends_with(r#""metadata":{"z":1,"a":2}}"#), "verbatim");
        let on_the_bus = events
            .iter()
            .find(|e| e.event_type == event_type.as_str())
            .unwrap();
        assert_eq!(
            on_the_bus.payload["event_id"],
            envelope.event_id.to_string()
        );
    }
}

pub(crate) async fn a_delivery_is_claimed_by_one_worker(place: &Place) {
    let stores = place.open_many(4).await;
    for _ in 0..10 {
        succeed(&*stores[0], URL).await;
    }
    let mut takers = tokio::task::JoinSet::new();
    for store in stores.iter().cycle().take(8).cloned() {
        takers.spawn(async move { take(&*store, &[]).await });
    }
    let mut taken: Vec<_> = takers
        .join_all()
        .await
        .into_iter()
        .flatten()
        .map(|d| d.token.event_id)
        .collect();
    taken.sort();
    let all = taken.len();
    taken.dedup();
    assert_eq!((all, taken.len()), (10, 10));
}

pub(crate) async fn a_lost_delivery_cannot_be_settled(place: &Place) {
    let store = place.open().await;
    succeed(&*store, URL).await;
    let old = take(&*store, &[]).await.remove(0).token;
    assert!(take(&*store, &[]).await.is_empty(), "leased");
    place
        .execute(
            "UPDATE webhook_deliveries SET next_attempt_at = '2020-01-01T00:00:00.000Z'",
            "UPDATE webhook_deliveries SET next_attempt_at = '2020-01-01T00:00:00Z'",
        )
        .await;
    let new = take(&*store, &[]).await.remove(0).token;
    assert_eq!((old.attempt, new.attempt), (1, 2));
    let settled = store
        .settle_delivery(&old, &report(200), AfterAttempt::Delivered)
        .await;
    assert!(!settled.unwrap());
    assert_eq!(store.give_back_deliveries(&[old]).await.unwrap(), 0);
    assert!(
        store
            .settle_delivery(&new, &report(200), AfterAttempt::Delivered)
            .await
            .unwrap()
    );
    let again = store
        .settle_delivery(&new, &report(200), AfterAttempt::Delivered)
        .await;
    assert!(!again.unwrap(), "settled once");
}

pub(crate) async fn a_kept_delivery_stays_with_its_deliverer_and_a_lost_one_is_not_kept(
    place: &Place,
) {
    let store = place.open().await;
    succeed(&*store, URL).await;
    let old = take(&*store, &[]).await.remove(0).token;
    let lapse = || {
        place.execute(
            "UPDATE webhook_deliveries SET next_attempt_at = '2020-01-01T00:00:00.000Z'",
            "UPDATE webhook_deliveries SET next_attempt_at = '2020-01-01T00:00:00Z'",
        )
    };
    let lease = Duration::from_mins(1);
    lapse().await;
    assert_eq!(store.keep_deliveries(&[old], lease).await.unwrap(), 1);
    assert!(take(&*store, &[]).await.is_empty(), "kept in time");
    lapse().await;
    let new = take(&*store, &[]).await.remove(0).token;
    assert_eq!(store.keep_deliveries(&[old], lease).await.unwrap(), 0);
    assert_eq!(store.keep_deliveries(&[old, new], lease).await.unwrap(), 1);
    let settled = store
        .settle_delivery(&new, &report(200), AfterAttempt::Delivered)
        .await;
    assert!(settled.unwrap());
    assert_eq!(store.keep_deliveries(&[new], lease).await.unwrap(), 0);
}

pub(crate) async fn a_retried_delivery_is_due_after_its_delay(place: &Place) {
    let store = place.open().await;
    let id = succeed(&*store, URL).await;
    assert!(store.next_delivery_in().await.unwrap().unwrap() < Duration::from_secs(1));
    let token = take(&*store, &[]).await.remove(0).token;
    let delay = Duration::from_mins(15);
    let settled = store
        .settle_delivery(&token, &report(503), AfterAttempt::RetryIn(delay))
        .await;
    assert!(settled.unwrap());
    assert!(take(&*store, &[]).await.is_empty());
    let wait = store.next_delivery_in().await.unwrap().unwrap();
    assert!(
        wait > Duration::from_mins(10) && wait <= delay + Duration::from_secs(1),
        "{wait:?}"
    );

    let delivery = store.deliveries(id, None).await.unwrap().unwrap().remove(0);
    assert_eq!(
        (delivery.status, delivery.attempts),
        (DeliveryStatus::Pending, 1)
    );
    assert_eq!(delivery.log.len(), 1);
    let attempt = &delivery.log[0];
    assert_eq!((attempt.attempt, attempt.status_code), (1, Some(503)));
    assert_eq!(attempt.duration, Duration::from_millis(12));
    assert_eq!(attempt.answer.as_ref().unwrap().len(), 4096);
}

pub(crate) async fn a_full_receiver_is_left_alone(place: &Place) {
    let store = place.open().await;
    let slow = succeed(&*store, "https://slow.example/a").await;
    let quick = succeed(&*store, "http://quick.example/b").await;
    let due = take(&*store, &["slow.example:443"]).await;
    assert_eq!(
        due.iter().map(|d| d.extraction_id).collect::<Vec<_>>(),
        [quick]
    );
    let due = take(&*store, &[]).await;
    assert_eq!(
        due.iter().map(|d| d.extraction_id).collect::<Vec<_>>(),
        [slow]
    );
}

pub(crate) async fn a_delivery_can_be_given_back(place: &Place) {
    let store = place.open().await;
    succeed(&*store, URL).await;
    let token = take(&*store, &[]).await.remove(0).token;
    assert_eq!(store.give_back_deliveries(&[token]).await.unwrap(), 1);
    let again = take(&*store, &[]).await.remove(0).token;
    assert_eq!(again.attempt, 1, "no attempt was used up");
    assert_ne!(again, token);
}

pub(crate) async fn a_redelivery_posts_the_same_bytes(place: &Place) {
    let store = place.open().await;
    let id = succeed(&*store, URL).await;
    let first = take(&*store, &[]).await.remove(0);
    let event_id = first.token.event_id;
    let under_way = store.redeliver(event_id, None).await.unwrap().unwrap();
    assert_eq!(under_way.status, DeliveryStatus::Pending);
    assert!(
        take(&*store, &[]).await.is_empty(),
        "the attempt under way is the one"
    );
    let given_up = store
        .settle_delivery(&first.token, &report(410), AfterAttempt::GiveUp)
        .await;
    assert!(given_up.unwrap());
    let failed = store.deliveries(id, None).await.unwrap().unwrap().remove(0);
    assert!(failed.status == DeliveryStatus::Failed && failed.finished_at.is_some());

    let again = store.redeliver(event_id, None).await.unwrap().unwrap();
    assert_eq!(
        (again.status, again.finished_at),
        (DeliveryStatus::Pending, None)
    );
    let second = take(&*store, &[]).await.remove(0);
    assert_eq!((second.token.event_id, second.body), (event_id, first.body));
    assert_eq!((second.token.attempt, second.attempt_of_round), (2, 1));
    assert!(second.tried_for < Duration::from_mins(1));
    let delivered = store
        .settle_delivery(&second.token, &report(200), AfterAttempt::Delivered)
        .await;
    assert!(delivered.unwrap());
    let log = store
        .deliveries(id, None)
        .await
        .unwrap()
        .unwrap()
        .remove(0)
        .log;
    assert_eq!(
        log.iter()
            .map(|a| a.status_code.unwrap())
            .collect::<Vec<_>>(),
        [410, 200]
    );
    assert_eq!(
        store.redeliver(uuid::Uuid::nil(), None).await.unwrap(),
        None
    );
    assert_eq!(
        store.redeliver(event_id, Some("other")).await.unwrap(),
        None
    );
}
