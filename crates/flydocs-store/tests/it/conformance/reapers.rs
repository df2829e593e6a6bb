//! Orphans: found by their signature, announced once.

use std::{collections::BTreeSet, time::Duration};

use flydocs_contract::ExtractionId;
use flydocs_store::{Orphan, OrphanClass, OrphanCursor, Reannounced, Store};

use crate::place::{
    Place, claim, claim_leg, end_worker, requeue, result, submit, with_pending_leg,
};

async fn orphans(store: &dyn Store, class: OrphanClass) -> Vec<Orphan> {
    store.orphans(class, None, 100).await.unwrap()
}

async fn orphan(store: &dyn Store, class: OrphanClass) -> Orphan {
    let mut found = orphans(store, class).await;
    assert_eq!(found.len(), 1, "{class:?}");
    found.remove(0)
}

pub(crate) async fn each_class_is_found_by_its_signature(place: &Place) {
    let store = place.open().await;
    let queued = submit(&*store).await;
    let running = submit(&*store).await;
    claim(&*store, running, "w").await;
    let retrying = submit(&*store).await;
    let token = claim(&*store, retrying, "w").await.token;
    store
        .requeue_for_retry(&token, &requeue(Duration::ZERO))
        .await
        .unwrap()
        .unwrap();
    let pending = with_pending_leg(&*store).await;
    let refining = with_pending_leg(&*store).await;
    claim_leg(&*store, refining, "b").await;
    let done = submit(&*store).await;
    let token = claim(&*store, done, "w").await.token;
    store
        .mark_succeeded(&token, &result(done, "x"), false)
        .await
        .unwrap()
        .unwrap();
    for class in OrphanClass::ALL {
        assert!(
            orphans(&*store, class).await.is_empty(),
            "{class:?}: nothing is old yet"
        );
    }

    place
        .backdate(queued, "submitted_at", Duration::from_secs(601))
        .await;
    place
        .backdate(running, "started_at", Duration::from_secs(1261))
        .await;
    place
        .backdate(retrying, "next_attempt_at", Duration::from_secs(601))
        .await;
    place
        .backdate_leg(pending, "requested_at", Duration::from_secs(1321))
        .await;
    place
        .backdate_leg(refining, "started_at", Duration::from_secs(661))
        .await;
    for (class, id) in OrphanClass::ALL
        .into_iter()
        .zip([queued, running, retrying, pending, refining])
    {
        let found = orphan(&*store, class).await;
        assert_eq!((found.id, found.class), (id, class));
        let age = chrono::Utc::now() - found.since;
        assert!(age > chrono::TimeDelta::seconds(600), "{class:?}: {age}");
    }

    // The other two ways to lose a claim.
    let silent = submit(&*store).await;
    claim(&*store, silent, "w").await;
    place
        .backdate(silent, "heartbeat_at", Duration::from_secs(31))
        .await;
    let dead = submit(&*store).await;
    let worker = store.register_worker("w").await.unwrap();
    claim(&*store, dead, worker.instance()).await;
    end_worker(&*store, worker).await;
    let lost: BTreeSet<ExtractionId> = orphans(&*store, OrphanClass::Running)
        .await
        .iter()
        .map(|o| o.id)
        .collect();
    assert_eq!(lost, BTreeSet::from([running, silent, dead]));
}

pub(crate) async fn a_legitimate_backlog_gets_no_second_event(place: &Place) {
    let stores = place.open_many(2).await;
    for _ in 0..20 {
        let id = submit(&*stores[0]).await;
        place
            .backdate(id, "submitted_at", Duration::from_secs(10_000))
            .await;
    }
    let leg = with_pending_leg(&*stores[0]).await;
    place
        .backdate_leg(leg, "requested_at", Duration::from_secs(10_000))
        .await;
    let events = place.outbox().await.len();
    for _sweep in 0..3 {
        for store in &stores {
            for class in OrphanClass::ALL {
                for orphan in orphans(&**store, class).await {
                    let said = store.reannounce(&orphan).await.unwrap();
                    assert_eq!(said, Reannounced::AlreadyAnnounced, "{class:?}");
                }
            }
        }
    }
    assert_eq!(place.outbox().await.len(), events);
}

pub(crate) async fn an_event_that_was_lost_is_announced_again(place: &Place) {
    let stores = place.open_many(2).await;
    let store = &*stores[0];
    let queued = submit(store).await;
    place
        .backdate(queued, "submitted_at", Duration::from_secs(601))
        .await;
    let running = submit(store).await;
    claim(store, running, "w").await;
    place
        .backdate(running, "started_at", Duration::from_secs(1261))
        .await;
    let retrying = submit(store).await;
    let token = claim(store, retrying, "w").await.token;
    store
        .requeue_for_retry(&token, &requeue(Duration::ZERO))
        .await
        .unwrap()
        .unwrap();
    place
        .backdate(retrying, "next_attempt_at", Duration::from_secs(601))
        .await;
    let pending = with_pending_leg(store).await;
    place
        .backdate_leg(pending, "requested_at", Duration::from_secs(1321))
        .await;
    let refining = with_pending_leg(store).await;
    claim_leg(store, refining, "b").await;
    place
        .backdate_leg(refining, "started_at", Duration::from_secs(661))
        .await;
    place.settle_events().await;

    for class in OrphanClass::ALL {
        let before = place.outbox().await.len();
        let found = orphan(store, class).await;
        assert_eq!(
            store.reannounce(&found).await.unwrap(),
            Reannounced::Announced,
            "{class:?}"
        );
        // However many reapers come by now.
        for store in &stores {
            let said = store.reannounce(&found).await.unwrap();
            assert_eq!(said, Reannounced::AlreadyAnnounced, "{class:?}");
        }
        let events = place.outbox().await;
        assert_eq!(events.len(), before + 1, "{class:?}");
        assert_eq!(
            events.last().unwrap().event_type,
            class.event_type().as_str()
        );
    }
}

pub(crate) async fn an_orphan_that_moved_on_is_left_alone(place: &Place) {
    let store = place.open().await;
    let id = submit(&*store).await;
    place
        .backdate(id, "submitted_at", Duration::from_secs(601))
        .await;
    let found = orphan(&*store, OrphanClass::Queued).await;
    claim(&*store, id, "w").await;
    let events = place.outbox().await.len();
    assert_eq!(store.reannounce(&found).await.unwrap(), Reannounced::Moved);
    assert_eq!(place.outbox().await.len(), events);
}

pub(crate) async fn pages_of_orphans_follow_each_other(place: &Place) {
    let store = place.open().await;
    let (mut queued, mut pending) = (BTreeSet::new(), BTreeSet::new());
    for n in 0..7 {
        let id = submit(&*store).await;
        place
            .backdate(id, "submitted_at", Duration::from_secs(700 + n % 3))
            .await;
        queued.insert(id);
        let id = with_pending_leg(&*store).await;
        place
            .backdate_leg(id, "requested_at", Duration::from_secs(1400 + n % 3))
            .await;
        pending.insert(id);
    }
    for (class, all) in [
        (OrphanClass::Queued, queued),
        (OrphanClass::LegPending, pending),
    ] {
        let mut seen: Vec<Orphan> = Vec::new();
        loop {
            let after = seen.last().map(OrphanCursor::from);
            let page = store.orphans(class, after.as_ref(), 3).await.unwrap();
            if page.is_empty() {
                break;
            }
            seen.extend(page);
        }
        assert!(
            seen.windows(2)
                .all(|w| (w[0].since, w[0].id) < (w[1].since, w[1].id))
        );
        assert_eq!(seen.iter().map(|o| o.id).collect::<BTreeSet<_>>(), all);
        assert_eq!(seen.len(), all.len(), "none twice");
    }
}
