//! How a run ends or is put back.

use std::time::Duration;

use flydocs_contract::{LegStatus, Status};
use flydocs_store::{Claimed, Error};

use crate::place::{LONG, Place, claim, error, requeue, result, submit};

pub(crate) async fn success_keeps_the_result_and_says_so(place: &Place) {
    let store = place.open().await;
    let id = submit(&*store).await;
    let token = claim(&*store, id, "w").await.token;
    let text = result(id, "one");
    let stored = store
        .mark_succeeded(&token, &text, true)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(stored.extraction.status, Status::Succeeded);
    assert_eq!(stored.leg_status(), Some(LegStatus::Pending));
    assert!(stored.extraction.finished_at.is_some() && !stored.is_settled());
    assert_eq!(store.result(id, None).await.unwrap(), Some(text));
    assert_eq!(
        place.events_of(id).await,
        [
            "extraction.submitted",
            "extraction.completed",
            "extraction.post_processing.requested"
        ]
    );
    let completed = &place.outbox().await[1].payload;
    assert_eq!(
        completed["result"],
        serde_json::Value::Null,
        "results do not travel on the bus"
    );
    assert_eq!(completed["extraction"]["status"], "succeeded");

    let id = submit(&*store).await;
    let token = claim(&*store, id, "w").await.token;
    let stored = store
        .mark_succeeded(&token, &result(id, "two"), false)
        .await
        .unwrap()
        .unwrap();
    assert!(stored.extraction.post_processing.is_none() && stored.is_settled());
    assert_eq!(
        place.events_of(id).await,
        ["extraction.submitted", "extraction.completed"]
    );
}

pub(crate) async fn failure_keeps_the_reason(place: &Place) {
    let store = place.open().await;
    let id = submit(&*store).await;
    let token = claim(&*store, id, "w").await.token;
    let mut reason = error("corrupt_pdf");
    reason.message = "a\0b \u{1F4C4} \"quoted\"".into();
    let stored = store.mark_failed(&token, &reason).await.unwrap().unwrap();
    assert_eq!(stored.extraction.status, Status::Failed);
    let kept = stored.extraction.error.unwrap();
    assert_eq!(kept.code, "corrupt_pdf");
    assert_eq!(kept.message, "a\u{fffd}b \u{1F4C4} \"quoted\"");
    assert_eq!(
        place.events_of(id).await,
        ["extraction.submitted", "extraction.completed"]
    );
    assert!(matches!(
        store.mark_running(id, "w").await.unwrap(),
        Claimed::None
    ));
}

pub(crate) async fn of_two_successes_one_counts(place: &Place) {
    let stores = place.open_many(2).await;
    for _ in 0..10 {
        let id = submit(&*stores[0]).await;
        let token = claim(&*stores[0], id, "w").await.token;
        let (a, b) = (result(id, "a"), result(id, "b"));
        let (a, b) = tokio::join!(
            stores[0].mark_succeeded(&token, &a, false),
            stores[1].mark_succeeded(&token, &b, false),
        );
        let (a, b) = (a.unwrap().is_some(), b.unwrap().is_some());
        assert!(a ^ b, "{a} {b}");
        let kept = stores[0].result(id, None).await.unwrap().unwrap();
        assert_eq!(kept, result(id, if a { "a" } else { "b" }));
        assert_eq!(
            place.events_of(id).await,
            ["extraction.submitted", "extraction.completed"]
        );
    }
}

pub(crate) async fn a_result_that_is_not_json_changes_nothing(place: &Place) {
    let store = place.open().await;
    let id = submit(&*store).await;
    let token = claim(&*store, id, "w").await.token;
    let refused = store.mark_succeeded(&token, "{not json", false).await;
    assert!(
        matches!(refused, Err(Error::ResultNotJson { .. })),
        "{refused:?}"
    );
    let stored = store.get(id, None).await.unwrap().unwrap();
    assert_eq!(stored.extraction.status, Status::Running);
    store
        .mark_succeeded(&token, &result(id, "x"), false)
        .await
        .unwrap()
        .unwrap();
}

pub(crate) async fn a_requeued_row_is_due_after_its_delay(place: &Place) {
    let store = place.open().await;
    let id = submit(&*store).await;
    let token = claim(&*store, id, "w").await.token;
    let delay = Duration::from_millis(7500);
    let stored = store
        .requeue_for_retry(&token, &requeue(delay))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(stored.extraction.status, Status::Queued);
    assert_eq!(stored.extraction.attempts, 1);
    assert_eq!(
        stored.extraction.error.as_ref().unwrap().code,
        "engine_error",
        "kept visible"
    );
    assert!(stored.extraction.started_at.is_some());

    let event = place.outbox().await.pop().unwrap();
    assert_eq!(event.event_type, "extraction.submitted");
    assert!((7500..7600).contains(&event.delay_ms), "{}", event.delay_ms);
}

pub(crate) async fn giving_back_does_not_use_up_the_attempt(place: &Place) {
    let store = place.open().await;
    let id = submit(&*store).await;
    for _ in 0..5 {
        let token = claim(&*store, id, "w").await.token;
        assert_eq!(token.attempts, 1);
        let stored = store.give_back(&token).await.unwrap().unwrap();
        assert_eq!(
            (stored.extraction.status, stored.extraction.attempts),
            (Status::Queued, 0)
        );
        assert_eq!(store.give_back(&token).await.unwrap(), None, "only once");
    }
    assert_eq!(place.events_of(id).await, ["extraction.submitted"; 6]);
    claim(&*store, id, "w").await;
}

pub(crate) async fn every_transition_is_in_the_log(place: &Place) {
    let store = place.open().await;
    let id = submit(&*store).await;
    let token = claim(&*store, id, "one").await.token;
    let put_back = requeue(Duration::ZERO);
    let middle = store
        .requeue_for_retry(&token, &put_back)
        .await
        .unwrap()
        .unwrap();
    let token = claim(&*store, id, "two").await.token;
    store
        .mark_succeeded(&token, &result(id, "x"), true)
        .await
        .unwrap()
        .unwrap();
    let leg = crate::place::claim_leg(&*store, id, "three").await.token;
    store
        .mark_bbox_refinement_failed(&leg, &error("ocr_failed"))
        .await
        .unwrap()
        .unwrap();

    let log = store.history(id, None, 0).await.unwrap();
    let lines: Vec<_> = log
        .iter()
        .map(|m| {
            let code = m.error.as_ref().map(|e| e.code.as_str());
            (
                m.method.as_str(),
                m.status.as_str(),
                m.attempts,
                m.worker.as_deref(),
                code,
            )
        })
        .collect();
    assert_eq!(
        lines,
        [
            ("submit", "queued", 0, None, None),
            ("mark_running", "running", 1, Some("one"), None),
            (
                "requeue_for_retry",
                "queued",
                1,
                Some("one"),
                Some("engine_error")
            ),
            (
                "mark_running",
                "running",
                2,
                Some("two"),
                Some("engine_error")
            ),
            ("mark_succeeded", "succeeded", 2, Some("two"), None),
            (
                "mark_bbox_refinement_running",
                "succeeded",
                1,
                Some("three"),
                None
            ),
            (
                "mark_bbox_refinement_failed",
                "succeeded",
                1,
                Some("three"),
                Some("ocr_failed")
            ),
        ]
    );
    assert!(
        log.windows(2)
            .all(|w| w[0].revision < w[1].revision && w[0].at <= w[1].at)
    );
    let rest = store.history(id, None, middle.revision).await.unwrap();
    assert_eq!(rest, log[3..]);
}

pub(crate) async fn a_refused_transition_writes_no_event(place: &Place) {
    let store = place.open().await;
    let id = submit(&*store).await;
    let token = claim(&*store, id, "w").await.token;
    store
        .mark_failed(&token, &error("x"))
        .await
        .unwrap()
        .unwrap();
    let (events, log) = (
        place.outbox().await.len(),
        store.history(id, None, 0).await.unwrap(),
    );
    assert_eq!(store.mark_failed(&token, &error("y")).await.unwrap(), None);
    assert_eq!(
        store
            .mark_succeeded(&token, &result(id, "y"), true)
            .await
            .unwrap(),
        None
    );
    assert_eq!(
        store
            .requeue_for_retry(&token, &requeue(LONG))
            .await
            .unwrap(),
        None
    );
    assert_eq!(store.mark_cancelled(id, None).await.unwrap(), None);
    assert_eq!(place.outbox().await.len(), events);
    assert_eq!(store.history(id, None, 0).await.unwrap(), log);
}
