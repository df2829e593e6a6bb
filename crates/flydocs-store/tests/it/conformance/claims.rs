//! The claim: one winner, the three ways to lose it, and the fence.

use std::time::Duration;

use flydocs_contract::Status;
use flydocs_store::{Beat, Claimed, Options, Progress, Retried};

use crate::place::{LONG, Place, claim, end_worker, error, requeue, result, submit};

const LEASE: Duration = Duration::from_secs(1261);
const SILENCE: Duration = Duration::from_secs(31);

pub(crate) async fn of_sixty_four_claims_one_wins(place: &Place) {
    let stores = place.open_many(4).await;
    let id = submit(&*stores[0]).await;
    let mut claims = tokio::task::JoinSet::new();
    for n in 0..64 {
        let store = stores[n % stores.len()].clone();
        claims.spawn(async move { store.mark_running(id, &format!("w{n}")).await.unwrap() });
    }
    let mut winners = Vec::new();
    while let Some(claimed) = claims.join_next().await {
        match claimed.unwrap() {
            Claimed::Won(claim) => winners.push(claim),
            Claimed::Held => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(winners.len(), 1);
    let stored = stores[0].get(id, None).await.unwrap().unwrap();
    assert_eq!(stored.extraction.attempts, 1);
    assert_eq!(stored.extraction.status, Status::Running);
    assert_eq!(stored.fence, winners[0].token.fence);
}

pub(crate) async fn a_claim_carries_what_to_do(place: &Place) {
    let store = place.open().await;
    let mut new = crate::place::new_extraction(&*store).await;
    new.tenant_id = Some("t".into());
    new.metadata.insert("order".into(), 7.into());
    let id = new.id;
    store.submit(new.clone()).await.unwrap();
    let claim = claim(&*store, id, "w").await;
    assert_eq!(claim.request, new.request);
    assert_eq!(claim.metadata, new.metadata);
    assert_eq!(claim.correlation, new.correlation);
    assert_eq!(claim.tenant_id.as_deref(), Some("t"));
    assert_eq!((claim.token.id, claim.token.attempts), (id, 1));
    assert_eq!(claim.extraction.status, Status::Running);
    assert!(claim.extraction.started_at.is_some());
}

pub(crate) async fn a_row_that_is_not_due_is_not_claimed(place: &Place) {
    let store = place.open().await;
    let id = submit(&*store).await;
    let first = claim(&*store, id, "w").await;
    store
        .requeue_for_retry(&first.token, &requeue(LONG))
        .await
        .unwrap()
        .unwrap();
    let Claimed::NotDue(wait) = store.mark_running(id, "w").await.unwrap() else {
        panic!("claimed too early");
    };
    assert!(wait <= LONG + Duration::from_secs(1) && wait > LONG / 2);
    place.backdate(id, "next_attempt_at", LONG).await;
    let second = claim(&*store, id, "w").await;
    assert_eq!(second.token.attempts, 2);
}

pub(crate) async fn a_running_row_is_held(place: &Place) {
    let store = place.open().await;
    let id = submit(&*store).await;
    claim(&*store, id, "w").await;
    assert!(matches!(
        store.mark_running(id, "x").await.unwrap(),
        Claimed::Held
    ));
    let gone = crate::place::fresh_id();
    assert!(matches!(
        store.mark_running(gone, "x").await.unwrap(),
        Claimed::None
    ));
}

pub(crate) async fn a_run_older_than_its_lease_is_lost(place: &Place) {
    let store = place.open().await;
    let id = submit(&*store).await;
    claim(&*store, id, "w").await;
    place
        .backdate(id, "started_at", Duration::from_mins(20))
        .await;
    assert!(matches!(
        store.mark_running(id, "x").await.unwrap(),
        Claimed::Held
    ));
    place
        .backdate(id, "started_at", Duration::from_secs(61))
        .await;
    assert_eq!(claim(&*store, id, "x").await.token.attempts, 2);
}

pub(crate) async fn a_silent_run_is_lost(place: &Place) {
    let store = place.open().await;
    let id = submit(&*store).await;
    claim(&*store, id, "w").await;
    place.backdate(id, "heartbeat_at", SILENCE).await;
    assert_eq!(claim(&*store, id, "x").await.token.attempts, 2);
}

pub(crate) async fn a_lost_row_without_attempts_fails_as_worker_lost(place: &Place) {
    let store = place.open().await;
    let id = submit(&*store).await;
    for attempt in 1..=3 {
        assert_eq!(claim(&*store, id, "w").await.token.attempts, attempt);
        place.backdate(id, "heartbeat_at", SILENCE).await;
    }
    let Claimed::WorkerLost(stored) = store.mark_running(id, "w").await.unwrap() else {
        panic!("claimed again");
    };
    assert_eq!(stored.extraction.status, Status::Failed);
    assert_eq!(stored.extraction.error.unwrap().code, "worker_lost");
    assert_eq!(stored.extraction.attempts, 3);
    assert_eq!(
        place.events_of(id).await.last().unwrap(),
        "extraction.completed"
    );
    assert!(matches!(
        store.mark_running(id, "w").await.unwrap(),
        Claimed::None
    ));
}

/// However a claim was lost, its token is good for nothing any more.
pub(crate) async fn a_lost_claim_can_do_nothing(place: &Place) {
    let store = place.open().await;
    for way in ["lease", "heartbeat", "dead worker", "operator"] {
        let id = submit(&*store).await;
        let worker = store.register_worker("w").await.unwrap();
        let old = claim(&*store, id, worker.instance()).await.token;
        match way {
            "lease" => place.backdate(id, "started_at", LEASE).await,
            "heartbeat" => place.backdate(id, "heartbeat_at", SILENCE).await,
            "dead worker" => end_worker(&*store, worker).await,
            _ => {
                store.reclaim(id).await.unwrap().unwrap();
            }
        }
        let new = claim(&*store, id, "other").await.token;
        assert_ne!(old, new, "{way}");

        let before = store.get(id, None).await.unwrap().unwrap();
        let result = result(id, "zombie");
        assert_eq!(
            store.mark_succeeded(&old, &result, true).await.unwrap(),
            None,
            "{way}"
        );
        assert_eq!(
            store.mark_failed(&old, &error("x")).await.unwrap(),
            None,
            "{way}"
        );
        assert_eq!(
            store.requeue_for_retry(&old, &requeue(LONG)).await.unwrap(),
            None,
            "{way}"
        );
        assert_eq!(store.give_back(&old).await.unwrap(), None, "{way}");
        assert_eq!(store.settle_cancelled(&old).await.unwrap(), None, "{way}");
        assert!(
            store
                .heartbeat(&[Beat::of(&old, None)])
                .await
                .unwrap()
                .is_empty(),
            "{way}"
        );
        assert_eq!(store.get(id, None).await.unwrap().unwrap(), before, "{way}");
        assert_eq!(store.result(id, None).await.unwrap(), None, "{way}");

        store
            .mark_succeeded(&new, &crate::place::result(id, "good"), false)
            .await
            .unwrap()
            .unwrap();
    }
}

pub(crate) async fn a_token_from_before_a_retry_by_hand_is_refused(place: &Place) {
    let store = place
        .open_with(Options {
            job_max_attempts: 1,
            ..Options::default()
        })
        .await;
    let id = submit(&*store).await;
    let zombie = claim(&*store, id, "w").await.token;
    place.backdate(id, "heartbeat_at", SILENCE).await;
    assert!(matches!(
        store.mark_running(id, "x").await.unwrap(),
        Claimed::WorkerLost(_)
    ));
    assert!(matches!(
        store.retry(id, None).await.unwrap(),
        Retried::Queued(_)
    ));
    let current = claim(&*store, id, "y").await.token;
    assert_eq!(
        zombie.attempts, current.attempts,
        "attempts alone would not tell them apart"
    );
    let zombies = result(id, "zombie");
    assert_eq!(
        store
            .mark_succeeded(&zombie, &zombies, false)
            .await
            .unwrap(),
        None
    );
    store
        .mark_succeeded(&current, &result(id, "good"), false)
        .await
        .unwrap()
        .unwrap();
    assert!(
        store
            .result(id, None)
            .await
            .unwrap()
            .unwrap()
            .contains("good")
    );
}

pub(crate) async fn a_heartbeat_tells_what_is_still_held(place: &Place) {
    let store = place.open().await;
    let (a, b, c) = (
        submit(&*store).await,
        submit(&*store).await,
        submit(&*store).await,
    );
    let mine = claim(&*store, a, "w").await.token;
    let asked = claim(&*store, b, "w").await.token;
    let lost = claim(&*store, c, "w").await.token;
    store.request_cancel(b, None).await.unwrap();
    place.backdate(c, "heartbeat_at", SILENCE).await;
    claim(&*store, c, "x").await;
    place
        .backdate(a, "heartbeat_at", Duration::from_secs(20))
        .await;

    let beats = [
        Beat::of(&mine, None),
        Beat::of(&asked, None),
        Beat::of(&lost, None),
    ];
    let mut held = store.heartbeat(&beats).await.unwrap();
    held.sort_by_key(|beaten| beaten.id != a);
    assert_eq!(held.len(), 2);
    assert_eq!((held[0].id, held[0].cancel_requested), (a, false));
    assert_eq!((held[1].id, held[1].cancel_requested), (b, true));

    let stored = store.get(a, None).await.unwrap().unwrap();
    let age = stored.heartbeat_at.unwrap() - stored.extraction.started_at.unwrap();
    assert!(
        age >= chrono::TimeDelta::zero(),
        "the beat is newer than the claim: {age}"
    );
    assert!(store.heartbeat(&[]).await.unwrap().is_empty());
}

pub(crate) async fn a_heartbeat_carries_progress(place: &Place) {
    let store = place.open().await;
    let id = submit(&*store).await;
    let token = claim(&*store, id, "w").await.token;
    let progress = Progress {
        stage: "extract".into(),
        pages_done: Some(2),
        pages_total: Some(9),
    };
    let before = store.get(id, None).await.unwrap().unwrap().revision;
    store
        .heartbeat(&[Beat::of(&token, Some(progress.clone()))])
        .await
        .unwrap();
    store.heartbeat(&[Beat::of(&token, None)]).await.unwrap();
    let stored = store.get(id, None).await.unwrap().unwrap();
    assert_eq!(stored.progress, Some(progress));
    assert_eq!(
        stored.revision,
        before + 1,
        "a beat without progress is no visible change"
    );
    let done = store
        .mark_failed(&token, &error("x"))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(done.progress, None);
}

pub(crate) async fn an_operator_can_force_a_reclaim(place: &Place) {
    let store = place.open().await;
    let id = submit(&*store).await;
    assert_eq!(store.reclaim(id).await.unwrap(), None, "not running");
    claim(&*store, id, "w").await;
    store.reclaim(id).await.unwrap().unwrap();
    assert_eq!(place.events_of(id).await, ["extraction.submitted"; 2]);
    assert_eq!(claim(&*store, id, "x").await.token.attempts, 2);
}
