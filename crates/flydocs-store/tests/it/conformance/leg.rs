//! The bbox_refinement leg.

use std::time::Duration;

use flydocs_contract::{LegStatus, Status};
use flydocs_store::{Beat, LegClaimed, Options, Store};

use crate::place::{
    LONG, Place, claim, claim_leg, end_worker, error, requeue, result, submit, with_pending_leg,
};

async fn leg_status(store: &dyn Store, id: flydocs_contract::ExtractionId) -> LegStatus {
    store
        .get(id, None)
        .await
        .unwrap()
        .unwrap()
        .leg_status()
        .unwrap()
}

pub(crate) async fn the_leg_goes_its_way_beside_the_extraction(place: &Place) {
    let store = place.open().await;
    let id = with_pending_leg(&*store).await;
    let first = store.result(id, None).await.unwrap().unwrap();
    let claim = claim_leg(&*store, id, "b").await;
    assert_eq!(claim.result, first);
    assert_eq!(claim.token.attempts, 1);
    let running = store.get(id, None).await.unwrap().unwrap();
    assert_eq!(running.extraction.status, Status::Succeeded);
    let leg = running.extraction.post_processing.unwrap().bbox_refinement;
    assert_eq!(
        (leg.status, leg.attempts, leg.finished_at),
        (LegStatus::Running, 1, None)
    );
    assert!(leg.started_at.is_some());

    let refined = result(id, "refined");
    let done = store
        .mark_bbox_refinement_succeeded(&claim.token, &refined)
        .await
        .unwrap()
        .unwrap();
    assert!(done.is_settled());
    let leg = done.extraction.post_processing.unwrap().bbox_refinement;
    assert!(leg.status == LegStatus::Succeeded && leg.finished_at.is_some());
    assert_eq!(store.result(id, None).await.unwrap(), Some(refined));
    assert_eq!(
        place.events_of(id).await,
        [
            "extraction.submitted",
            "extraction.completed",
            "extraction.post_processing.requested",
            "extraction.post_processing.completed"
        ]
    );
}

pub(crate) async fn of_many_leg_claims_one_wins(place: &Place) {
    let stores = place.open_many(4).await;
    let id = with_pending_leg(&*stores[0]).await;
    let mut claims = tokio::task::JoinSet::new();
    for n in 0..32 {
        let store = stores[n % stores.len()].clone();
        claims.spawn(async move {
            let claimed = store
                .mark_bbox_refinement_running(id, &format!("b{n}"))
                .await;
            matches!(claimed.unwrap(), LegClaimed::Won(_))
        });
    }
    let won = claims
        .join_all()
        .await
        .into_iter()
        .filter(|won| *won)
        .count();
    assert_eq!(won, 1);
}

pub(crate) async fn a_failed_leg_keeps_the_first_result(place: &Place) {
    let store = place.open().await;
    let id = with_pending_leg(&*store).await;
    let token = claim_leg(&*store, id, "b").await.token;
    let done = store
        .mark_bbox_refinement_failed(&token, &error("ocr_failed"))
        .await;
    let done = done.unwrap().unwrap();
    assert_eq!(done.extraction.status, Status::Succeeded);
    assert_eq!(
        done.extraction.error, None,
        "the extraction itself did not fail"
    );
    let leg = done.extraction.post_processing.unwrap().bbox_refinement;
    assert_eq!(
        (leg.status, leg.error),
        (LegStatus::Failed, Some(error("ocr_failed")))
    );
    assert_eq!(
        store.result(id, None).await.unwrap(),
        Some(result(id, "first"))
    );
    assert_eq!(
        place.events_of(id).await.last().unwrap(),
        "extraction.post_processing.completed"
    );
}

pub(crate) async fn a_requeued_leg_is_due_after_its_delay(place: &Place) {
    let store = place.open().await;
    let id = with_pending_leg(&*store).await;
    let token = claim_leg(&*store, id, "b").await.token;
    let stored = store
        .requeue_bbox_refinement(&token, &requeue(LONG))
        .await
        .unwrap()
        .unwrap();
    let leg = stored.extraction.post_processing.unwrap().bbox_refinement;
    assert_eq!(
        (leg.status, leg.attempts, leg.started_at),
        (LegStatus::Pending, 1, None)
    );
    assert_eq!(leg.error.unwrap().code, "engine_error");
    let claimed = store.mark_bbox_refinement_running(id, "b").await.unwrap();
    assert!(matches!(claimed, LegClaimed::NotDue(wait) if wait > LONG / 2));
    let event = place.outbox().await.pop().unwrap();
    assert_eq!(event.event_type, "extraction.post_processing.requested");
    assert!(event.delay_ms >= LONG.as_millis() as i64);

    let sooner = requeue(Duration::ZERO);
    store
        .requeue_pending_bbox_refinement(id, &sooner)
        .await
        .unwrap()
        .unwrap();
    let token = claim_leg(&*store, id, "b").await.token;
    assert_eq!(token.attempts, 2);
    assert_eq!(
        store
            .requeue_pending_bbox_refinement(id, &sooner)
            .await
            .unwrap(),
        None
    );
}

pub(crate) async fn giving_back_a_leg_does_not_use_up_the_attempt(place: &Place) {
    let store = place.open().await;
    let id = with_pending_leg(&*store).await;
    for _ in 0..5 {
        let token = claim_leg(&*store, id, "b").await.token;
        assert_eq!(token.attempts, 1);
        store
            .give_back_bbox_refinement(&token)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(store.give_back_bbox_refinement(&token).await.unwrap(), None);
    }
    assert_eq!(leg_status(&*store, id).await, LegStatus::Pending);
}

pub(crate) async fn a_lost_leg_is_claimed_again_and_the_old_claim_can_do_nothing(place: &Place) {
    let store = place.open().await;
    for way in ["lease", "heartbeat", "dead worker", "operator"] {
        let id = with_pending_leg(&*store).await;
        let worker = store.register_worker("b").await.unwrap();
        let old = claim_leg(&*store, id, worker.instance()).await.token;
        let held = store.mark_bbox_refinement_running(id, "c").await.unwrap();
        assert!(matches!(held, LegClaimed::Held), "{way}: {held:?}");
        match way {
            "lease" => {
                place
                    .backdate_leg(id, "started_at", Duration::from_secs(661))
                    .await;
            }
            "heartbeat" => {
                place
                    .backdate(id, "heartbeat_at", Duration::from_secs(31))
                    .await;
            }
            "dead worker" => end_worker(&*store, worker).await,
            _ => {
                store.reclaim(id).await.unwrap().unwrap();
            }
        }
        let new = claim_leg(&*store, id, "c").await.token;
        assert_eq!(new.attempts, 2, "{way}");
        let zombies = result(id, "zombie");
        assert_eq!(
            store
                .mark_bbox_refinement_succeeded(&old, &zombies)
                .await
                .unwrap(),
            None
        );
        assert_eq!(
            store
                .mark_bbox_refinement_failed(&old, &error("x"))
                .await
                .unwrap(),
            None
        );
        assert_eq!(
            store
                .requeue_bbox_refinement(&old, &requeue(LONG))
                .await
                .unwrap(),
            None
        );
        assert_eq!(store.give_back_bbox_refinement(&old).await.unwrap(), None);
        assert!(
            store
                .heartbeat(&[Beat::of_leg(&old, None)])
                .await
                .unwrap()
                .is_empty()
        );
        assert_eq!(
            store
                .heartbeat(&[Beat::of_leg(&new, None)])
                .await
                .unwrap()
                .len(),
            1
        );
        assert_eq!(
            store.result(id, None).await.unwrap(),
            Some(result(id, "first")),
            "{way}"
        );
        let good = result(id, "good");
        store
            .mark_bbox_refinement_succeeded(&new, &good)
            .await
            .unwrap()
            .unwrap();
    }
}

pub(crate) async fn a_lost_leg_without_attempts_fails_as_worker_lost(place: &Place) {
    let store = place
        .open_with(Options {
            bbox_refine_max_attempts: 2,
            ..Options::default()
        })
        .await;
    let id = with_pending_leg(&*store).await;
    for _ in 0..2 {
        claim_leg(&*store, id, "b").await;
        place
            .backdate(id, "heartbeat_at", Duration::from_secs(31))
            .await;
    }
    let lost = store.mark_bbox_refinement_running(id, "b").await.unwrap();
    let LegClaimed::WorkerLost(stored) = lost else {
        panic!("{lost:?}");
    };
    assert_eq!(stored.extraction.status, Status::Succeeded);
    let leg = stored.extraction.post_processing.unwrap().bbox_refinement;
    assert_eq!(
        (leg.status, leg.error.unwrap().code),
        (LegStatus::Failed, "worker_lost".into())
    );
    assert_eq!(
        store.result(id, None).await.unwrap(),
        Some(result(id, "first"))
    );
}

pub(crate) async fn a_leg_that_was_not_wanted_cannot_be_started(place: &Place) {
    let store = place.open().await;
    let id = submit(&*store).await;
    let token = claim(&*store, id, "w").await.token;
    assert!(matches!(
        store.mark_bbox_refinement_running(id, "b").await.unwrap(),
        LegClaimed::None
    ));
    store
        .mark_succeeded(&token, &result(id, "x"), false)
        .await
        .unwrap()
        .unwrap();
    assert!(matches!(
        store.mark_bbox_refinement_running(id, "b").await.unwrap(),
        LegClaimed::None
    ));
    assert_eq!(store.start_bbox_refinement(id).await.unwrap(), None);

    let id = with_pending_leg(&*store).await;
    store.start_bbox_refinement(id).await.unwrap().unwrap();
    let asked = place.events_of(id).await;
    let asked = asked
        .iter()
        .filter(|e| *e == "extraction.post_processing.requested")
        .count();
    assert_eq!(asked, 2);
}
