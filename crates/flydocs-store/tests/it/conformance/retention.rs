//! Retention.

use std::time::Duration;

use flydocs_contract::ExtractionId;
use flydocs_store::{Options, Retained, Store};

use crate::place::{
    Place, claim, error, new_extraction, put, request, result, submit, with_pending_leg,
};

const MONTH: Duration = Duration::from_hours(744);

async fn retain_all(store: &dyn Store, batch: u32) -> Retained {
    let mut all = Retained::default();
    loop {
        let one = store.retain(batch).await.unwrap();
        if one.is_done() {
            return all;
        }
        assert!(one.extractions <= u64::from(batch) && one.blobs <= u64::from(batch));
        all.extractions += one.extractions;
        all.blobs += one.blobs;
        all.workers += one.workers;
    }
}

async fn fail(store: &dyn Store, id: ExtractionId) {
    let token = claim(store, id, "w").await.token;
    store
        .mark_failed(&token, &error("x"))
        .await
        .unwrap()
        .unwrap();
}

async fn age_blobs(place: &Place) {
    place
        .execute(
            "UPDATE blobs SET touched_at = '2020-01-01T00:00:00.000Z'",
            "UPDATE blobs SET touched_at = '2020-01-01T00:00:00Z'",
        )
        .await;
}

pub(crate) async fn finished_extractions_go_after_their_time(place: &Place) {
    let store = place.open().await;
    let mut old = Vec::new();
    for _ in 0..5 {
        let mut new = new_extraction(&*store).await;
        new.callback_url = Some("https://example.com".into());
        old.push(new.id);
        store.submit(new).await.unwrap();
        let id = old[old.len() - 1];
        let token = claim(&*store, id, "w").await.token;
        store
            .mark_succeeded(&token, &result(id, "x"), false)
            .await
            .unwrap()
            .unwrap();
        place.backdate(id, "finished_at", MONTH).await;
    }
    place
        .execute(
            "UPDATE webhook_deliveries SET status = 'failed', next_attempt_at = NULL, finished_at = created_at",
            "UPDATE webhook_deliveries SET status = 'failed', next_attempt_at = NULL, finished_at = created_at",
        )
        .await;
    let young = submit(&*store).await;
    fail(&*store, young).await;
    let retained = retain_all(&*store, 2).await;
    assert_eq!(retained.extractions, 5);
    for id in old {
        assert_eq!(store.get(id, None).await.unwrap(), None);
        assert_eq!(store.result(id, None).await.unwrap(), None);
    }
    assert!(store.get(young, None).await.unwrap().is_some());
    for table in ["extraction_results", "webhook_deliveries"] {
        assert_eq!(
            place.number(&format!("SELECT count(*) FROM {table}")).await,
            0,
            "{table}"
        );
    }
    let left = place
        .number("SELECT count(DISTINCT extraction_id) FROM extraction_history")
        .await;
    assert_eq!(left, 1);
    crate::conformance::lists::totals_are_what_is_there(&*store).await;
}

pub(crate) async fn a_blob_goes_with_its_last_reference(place: &Place) {
    let store = place.open().await;
    let mut ids = Vec::new();
    for _ in 0..2 {
        let mut new = new_extraction(&*store).await;
        // The same file twice in one request.
        new.request.files.push(new.request.files[0].clone());
        ids.push(new.id);
        store.submit(new).await.unwrap();
    }
    let lonely = put(&*store, b"uploaded and never submitted").await;
    assert_eq!(
        retain_all(&*store, 10).await,
        Retained::default(),
        "within the grace"
    );
    age_blobs(place).await;
    assert_eq!(retain_all(&*store, 10).await.blobs, 1);
    assert!(store.get_blob(&lonely).await.unwrap().is_none());

    let shared = store.request(ids[0], None).await.unwrap().unwrap().files[0].sha256;
    for (n, &id) in ids.iter().enumerate() {
        assert!(store.get_blob(&shared).await.unwrap().is_some());
        fail(&*store, id).await;
        place.backdate(id, "finished_at", MONTH).await;
        let retained = retain_all(&*store, 10).await;
        assert_eq!(
            (retained.extractions, retained.blobs),
            (1, u64::from(n == 1))
        );
    }
    assert!(store.get_blob(&shared).await.unwrap().is_none());
    let mut gone = new_extraction(&*store).await;
    gone.request = request(lonely, 1);
    assert!(store.submit(gone).await.is_err());
}

pub(crate) async fn what_is_not_settled_stays(place: &Place) {
    let store = place.open().await;
    let queued = submit(&*store).await;
    place.backdate(queued, "submitted_at", MONTH).await;
    let with_leg = with_pending_leg(&*store).await;
    place.backdate(with_leg, "finished_at", MONTH).await;
    let mut new = new_extraction(&*store).await;
    new.callback_url = Some("https://example.com".into());
    let undelivered = new.id;
    store.submit(new).await.unwrap();
    fail(&*store, undelivered).await;
    place.backdate(undelivered, "finished_at", MONTH).await;
    assert_eq!(retain_all(&*store, 10).await, Retained::default());
}

pub(crate) async fn zero_days_keep_for_ever(place: &Place) {
    let store = place
        .open_with(Options {
            retention_days: 0,
            ..Options::default()
        })
        .await;
    let id = submit(&*store).await;
    fail(&*store, id).await;
    place.backdate(id, "finished_at", 100 * MONTH).await;
    assert_eq!(retain_all(&*store, 10).await, Retained::default());
}
