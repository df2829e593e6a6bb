//! The list and the counts.

use std::time::Duration;

use flydocs_contract::{ExtractionId, LegStatus, Status};
use flydocs_store::{Filter, Store};

use crate::place::{
    LONG, Place, claim, claim_leg, error, new_extraction, requeue, submit, with_pending_leg,
};

async fn ids(store: &dyn Store, filter: Filter) -> (Vec<ExtractionId>, u64) {
    let listed = store.list(&filter).await.unwrap();
    (listed.items.iter().map(|e| e.id).collect(), listed.total)
}

pub(crate) async fn a_list_is_newest_first_and_counts_everything(place: &Place) {
    let store = place.open().await;
    let mut all = Vec::new();
    for n in 0..7 {
        let id = submit(&*store).await;
        place
            .backdate(id, "submitted_at", Duration::from_secs(100 - 10 * n))
            .await;
        all.push(id);
    }
    // Two of the same moment: ties go by id.
    let text = format!(
        "UPDATE extractions SET submitted_at = (SELECT submitted_at FROM extractions WHERE id = '{}') WHERE id = '{}'",
        all[5], all[6]
    );
    place.execute(&text, &text).await;
    all.reverse();
    if all[0] < all[1] {
        all.swap(0, 1);
    }

    assert_eq!(ids(&*store, Filter::default()).await, (all.clone(), 7));
    let page = Filter {
        limit: 3,
        offset: 2,
        ..Filter::default()
    };
    assert_eq!(ids(&*store, page).await, (all[2..5].to_vec(), 7));
    let beyond = Filter {
        offset: 7,
        ..Filter::default()
    };
    assert_eq!(ids(&*store, beyond).await, (Vec::new(), 7));
}

pub(crate) async fn filters_are_joined_by_and(place: &Place) {
    use LegStatus::{Pending, Running as Refining};
    use Status::{Cancelled, Queued, Running, Succeeded};

    let store = place.open().await;
    let queued = submit(&*store).await;
    let running = submit(&*store).await;
    claim(&*store, running, "w").await;
    let pending = with_pending_leg(&*store).await;
    let refining = with_pending_leg(&*store).await;
    claim_leg(&*store, refining, "b").await;

    let by = |status: &[Status], leg: &[LegStatus]| Filter {
        status: status.to_vec(),
        post_processing_status: leg.to_vec(),
        ..Filter::default()
    };
    for (status, leg, expected) in [
        (&[Queued][..], &[][..], vec![queued]),
        (&[Queued, Running], &[], vec![running, queued]),
        (&[Succeeded], &[], vec![refining, pending]),
        (&[], &[Pending], vec![pending]),
        (&[], &[Pending, Refining], vec![refining, pending]),
        (&[Succeeded], &[Refining], vec![refining]),
        (&[Queued], &[Pending], vec![]),
        (&[Cancelled], &[], vec![]),
    ] {
        let total = expected.len() as u64;
        let (mut found, counted) = ids(&*store, by(status, leg)).await;
        let mut expected = expected;
        // submitted within one millisecond, perhaps
        found.sort();
        expected.sort();
        assert_eq!((found, counted), (expected, total), "{status:?} {leg:?}");
    }
}

pub(crate) async fn times_are_inclusive(place: &Place) {
    let store = place.open().await;
    let id = submit(&*store).await;
    let at = store
        .get(id, None)
        .await
        .unwrap()
        .unwrap()
        .extraction
        .submitted_at;
    let second = chrono::TimeDelta::seconds(1);
    for (after, before, found) in [
        (Some(at), Some(at), true),
        (Some(at), None, true),
        (None, Some(at), true),
        (Some(at + second), None, false),
        (None, Some(at - second), false),
        (Some(at - second), Some(at + second), true),
        // A finer time than a database keeps is not rounded into the range.
        (
            Some(at + chrono::TimeDelta::nanoseconds(1_000_400)),
            None,
            false,
        ),
    ] {
        let filter = Filter {
            created_after: after,
            created_before: before,
            ..Filter::default()
        };
        let (items, _) = ids(&*store, filter).await;
        assert_eq!(items.len(), usize::from(found), "{after:?} {before:?}");
    }
}

pub(crate) async fn keys_and_tenants_narrow_a_list(place: &Place) {
    let store = place.open().await;
    let mut made = Vec::new();
    for (tenant, key) in [
        (None, None),
        (Some("a"), None),
        (Some("a"), Some("k")),
        (Some("b"), Some("k")),
    ] {
        let mut new = new_extraction(&*store).await;
        new.tenant_id = tenant.map(str::to_owned);
        new.idempotency_key = key.map(str::to_owned);
        made.push(new.id);
        store.submit(new).await.unwrap();
    }
    for (tenant, key, expected) in [
        (Some("a"), None, vec![made[1], made[2]]),
        (Some("a"), Some("k"), vec![made[2]]),
        (None, Some("k"), vec![made[2], made[3]]),
        (Some("c"), None, vec![]),
        (Some("a' OR '1'='1"), None, vec![]),
    ] {
        let filter = Filter {
            tenant_id: tenant.map(str::to_owned),
            idempotency_key: key.map(str::to_owned),
            ..Filter::default()
        };
        let (mut found, total) = ids(&*store, filter).await;
        let mut expected = expected;
        found.sort();
        expected.sort();
        assert_eq!(total, expected.len() as u64);
        assert_eq!(found, expected, "{tenant:?} {key:?}");
    }
}

pub(crate) async fn counts_follow_the_rows(place: &Place) {
    let store = place.open().await;
    assert_eq!(
        store.counts().await.unwrap(),
        flydocs_store::Counts::default()
    );
    let oldest = submit(&*store).await;
    place
        .backdate(oldest, "submitted_at", Duration::from_secs(500))
        .await;
    let later = submit(&*store).await;
    let token = claim(&*store, later, "w").await.token;
    store
        .requeue_for_retry(&token, &requeue(LONG))
        .await
        .unwrap()
        .unwrap();
    let running = submit(&*store).await;
    claim(&*store, running, "w").await;
    with_pending_leg(&*store).await;
    let refining = with_pending_leg(&*store).await;
    claim_leg(&*store, refining, "b").await;
    let failed = submit(&*store).await;
    let token = claim(&*store, failed, "w").await.token;
    store
        .mark_failed(&token, &error("x"))
        .await
        .unwrap()
        .unwrap();
    let _worker = store.register_worker("w").await.unwrap();

    let counts = store.counts().await.unwrap();
    assert_eq!((counts.queued, counts.running), (2, 1));
    assert_eq!((counts.legs_pending, counts.legs_running), (1, 1));
    assert_eq!((counts.deliveries_pending, counts.workers), (0, 1));
    assert!((499..520).contains(&counts.oldest_queued_s), "{counts:?}");
}

/// The total of every list, of each status and of each status of the leg, is the number of its items.
pub(crate) async fn totals_are_what_is_there(store: &dyn Store) {
    let everything = Filter {
        limit: 500,
        ..Filter::default()
    };
    let mut filters = vec![everything.clone()];
    filters.extend(Status::ALL.map(|status| Filter {
        status: vec![status],
        ..everything.clone()
    }));
    filters.extend(LegStatus::ALL.map(|leg| Filter {
        post_processing_status: vec![leg],
        ..everything.clone()
    }));
    for filter in filters {
        let (found, total) = ids(store, filter.clone()).await;
        assert!(found.len() < 500, "this looks at one page");
        assert_eq!(total, found.len() as u64, "{filter:?}");
    }
}
