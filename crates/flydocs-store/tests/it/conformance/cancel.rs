//! Cancel and retry by hand.

use std::time::Duration;

use flydocs_contract::Status;
use flydocs_store::{CancelRequested, Claimed, Retried};

use crate::place::{Place, claim, error, new_extraction, requeue, result, submit};

pub(crate) async fn a_queued_row_is_cancelled_at_once(place: &Place) {
    let store = place.open().await;
    let id = submit(&*store).await;
    let CancelRequested::Cancelled(stored) = store.request_cancel(id, None).await.unwrap() else {
        panic!("not cancelled");
    };
    assert_eq!(stored.extraction.status, Status::Cancelled);
    assert!(stored.extraction.finished_at.is_some());
    assert_eq!(
        place.events_of(id).await,
        ["extraction.submitted", "extraction.completed"]
    );
    assert!(matches!(
        store.mark_running(id, "w").await.unwrap(),
        Claimed::None
    ));
}

pub(crate) async fn delete_cancels_queued_rows_only(place: &Place) {
    let store = place.open().await;
    let (queued, running) = (submit(&*store).await, submit(&*store).await);
    claim(&*store, running, "w").await;
    assert!(store.mark_cancelled(queued, None).await.unwrap().is_some());
    assert_eq!(store.mark_cancelled(queued, None).await.unwrap(), None);
    assert_eq!(store.mark_cancelled(running, None).await.unwrap(), None);
}

pub(crate) async fn a_running_row_is_asked_to_stop(place: &Place) {
    let store = place.open().await;
    let id = submit(&*store).await;
    let token = claim(&*store, id, "w").await.token;
    let CancelRequested::Requested(stored) = store.request_cancel(id, None).await.unwrap() else {
        panic!("not asked");
    };
    assert_eq!(stored.extraction.status, Status::Running);
    let asked_at = stored.cancel_requested_at.unwrap();
    let CancelRequested::Requested(again) = store.request_cancel(id, None).await.unwrap() else {
        panic!("not asked again");
    };
    assert_eq!(again.cancel_requested_at, Some(asked_at));
    let done = store.settle_cancelled(&token).await.unwrap().unwrap();
    assert_eq!(done.extraction.status, Status::Cancelled);
    assert_eq!(
        place.events_of(id).await,
        ["extraction.submitted", "extraction.completed"]
    );
}

pub(crate) async fn a_finished_row_is_not_cancellable(place: &Place) {
    let store = place.open().await;
    let id = submit(&*store).await;
    let token = claim(&*store, id, "w").await.token;
    assert_eq!(
        store.settle_cancelled(&token).await.unwrap(),
        None,
        "nobody asked"
    );
    store
        .mark_succeeded(&token, &result(id, "x"), false)
        .await
        .unwrap()
        .unwrap();
    let CancelRequested::Refused(stored) = store.request_cancel(id, None).await.unwrap() else {
        panic!("not refused");
    };
    assert_eq!(stored.extraction.status, Status::Succeeded);
    let unknown = store
        .request_cancel(crate::place::fresh_id(), None)
        .await
        .unwrap();
    assert!(matches!(unknown, CancelRequested::NotFound));
}

pub(crate) async fn cancel_against_claim_has_one_winner(place: &Place) {
    let stores = place.open_many(2).await;
    for _ in 0..20 {
        let id = submit(&*stores[0]).await;
        let (cancelled, claimed) = tokio::join!(
            stores[0].mark_cancelled(id, None),
            stores[1].mark_running(id, "w"),
        );
        let (cancelled, claimed) = (cancelled.unwrap().is_some(), claimed.unwrap());
        let status = stores[0]
            .get(id, None)
            .await
            .unwrap()
            .unwrap()
            .extraction
            .status;
        match claimed {
            Claimed::Won(_) => assert!(!cancelled && status == Status::Running),
            Claimed::None => assert!(cancelled && status == Status::Cancelled),
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) async fn whatever_a_worker_writes_after_a_cancel_the_row_ends_cancelled(place: &Place) {
    let store = place.open().await;
    for way in ["success", "failure", "retry", "give back"] {
        let mut new = new_extraction(&*store).await;
        new.callback_url = Some("https://example.com/hook".into());
        let id = new.id;
        store.submit(new).await.unwrap();
        let token = claim(&*store, id, "w").await.token;
        store.request_cancel(id, None).await.unwrap();
        let done = match way {
            "success" => store.mark_succeeded(&token, &result(id, "x"), true).await,
            "failure" => store.mark_failed(&token, &error("x")).await,
            "retry" => {
                store
                    .requeue_for_retry(&token, &requeue(Duration::ZERO))
                    .await
            }
            _ => store.give_back(&token).await,
        };
        let done = done.unwrap().unwrap();
        assert_eq!(done.extraction.status, Status::Cancelled, "{way}");
        assert_eq!(
            store.result(id, None).await.unwrap(),
            None,
            "{way}: nothing is kept"
        );
        assert!(done.extraction.post_processing.is_none(), "{way}");
        let events = place.events_of(id).await;
        assert_eq!(
            events,
            ["extraction.submitted", "extraction.completed"],
            "{way}"
        );
        assert_eq!(
            store.deliveries(id, None).await.unwrap().unwrap().len(),
            1,
            "{way}"
        );
    }
}

pub(crate) async fn a_lost_row_whose_caller_cancelled_is_cancelled(place: &Place) {
    let store = place.open().await;
    let id = submit(&*store).await;
    claim(&*store, id, "w").await;
    store.request_cancel(id, None).await.unwrap();
    assert!(
        matches!(store.mark_running(id, "x").await.unwrap(), Claimed::Held),
        "not lost yet"
    );
    place
        .backdate(id, "heartbeat_at", Duration::from_secs(31))
        .await;
    let Claimed::Cancelled(stored) = store.mark_running(id, "x").await.unwrap() else {
        panic!("not cancelled");
    };
    assert_eq!(stored.extraction.status, Status::Cancelled);
    assert_eq!(
        place.events_of(id).await.last().unwrap(),
        "extraction.completed"
    );
}

pub(crate) async fn a_retry_by_hand_starts_afresh(place: &Place) {
    let store = place.open().await;
    for cancelled in [false, true] {
        let id = submit(&*store).await;
        let token = claim(&*store, id, "w").await.token;
        assert!(
            matches!(store.retry(id, None).await.unwrap(), Retried::Refused(_)),
            "running"
        );
        if cancelled {
            store.request_cancel(id, None).await.unwrap();
            store.settle_cancelled(&token).await.unwrap().unwrap();
        } else {
            store
                .mark_failed(&token, &error("x"))
                .await
                .unwrap()
                .unwrap();
        }
        let Retried::Queued(stored) = store.retry(id, None).await.unwrap() else {
            panic!("not queued");
        };
        assert_eq!(stored.extraction.status, Status::Queued);
        assert_eq!(
            (stored.extraction.attempts, stored.cancel_requested_at),
            (0, None)
        );
        assert_eq!(
            (stored.extraction.finished_at, stored.extraction.error),
            (None, None)
        );
        assert_eq!(
            place.events_of(id).await.last().unwrap(),
            "extraction.submitted"
        );
        assert_eq!(
            store
                .history(id, None, 0)
                .await
                .unwrap()
                .first()
                .unwrap()
                .method,
            "submit"
        );
        let token = claim(&*store, id, "w").await.token;
        store
            .mark_succeeded(&token, &result(id, "x"), false)
            .await
            .unwrap()
            .unwrap();
        assert!(matches!(
            store.retry(id, None).await.unwrap(),
            Retried::Refused(_)
        ));
    }
    let unknown = store.retry(crate::place::fresh_id(), None).await.unwrap();
    assert!(matches!(unknown, Retried::NotFound));
}

pub(crate) async fn tenants_cannot_touch_each_other(place: &Place) {
    let store = place.open().await;
    let mut new = new_extraction(&*store).await;
    new.tenant_id = Some("mine".into());
    let id = new.id;
    store.submit(new).await.unwrap();
    let other = Some("other");
    assert_eq!(store.get(id, other).await.unwrap(), None);
    assert_eq!(store.request(id, other).await.unwrap(), None);
    assert!(store.history(id, other, 0).await.unwrap().is_empty());
    assert_eq!(store.mark_cancelled(id, other).await.unwrap(), None);
    assert!(matches!(
        store.request_cancel(id, other).await.unwrap(),
        CancelRequested::NotFound
    ));
    assert!(matches!(
        store.retry(id, other).await.unwrap(),
        Retried::NotFound
    ));
    assert_eq!(store.deliveries(id, other).await.unwrap(), None);

    let token = claim(&*store, id, "w").await.token;
    store
        .mark_succeeded(&token, &result(id, "x"), false)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(store.result(id, other).await.unwrap(), None);
    assert!(store.result(id, Some("mine")).await.unwrap().is_some());
    assert!(store.get(id, None).await.unwrap().is_some());
}
