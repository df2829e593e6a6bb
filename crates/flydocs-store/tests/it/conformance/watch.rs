//! Waiting for a change.

use std::time::Duration;

use flydocs_contract::{ExtractionId, Status};
use flydocs_store::{Beat, DeliveryClaim, DeliveryWatch, Progress, Store, Watch};

use crate::place::{Place, claim, new_extraction, submit};

/// Waits until the row is in a status, as a long poll does; a test that is never woken fails.
async fn until(store: &dyn Store, watch: &mut Watch, id: ExtractionId, status: Option<Status>) {
    let reached = async {
        loop {
            let row = store.get(id, None).await.unwrap();
            if row.map(|r| r.extraction.status) == status {
                return;
            }
            watch.changed().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), reached)
        .await
        .expect("never woken");
}

pub(crate) async fn a_watch_is_woken_by_a_change_in_this_process(place: &Place) {
    let store = place.open().await;
    let id = submit(&*store).await;
    let mut watch = store.watch(id);
    let (waited, claim) = tokio::join!(
        until(&*store, &mut watch, id, Some(Status::Running)),
        claim(&*store, id, "w"),
    );
    let () = waited;
    let progress = Progress {
        stage: "load".into(),
        pages_done: None,
        pages_total: None,
    };
    let mut watch = store.watch(id);
    store
        .heartbeat(&[Beat::of(&claim.token, Some(progress))])
        .await
        .unwrap();
    tokio::time::timeout(Duration::from_secs(20), watch.changed())
        .await
        .expect("never woken");
}

pub(crate) async fn a_watch_is_woken_by_a_change_in_another_store(place: &Place) {
    let stores = place.open_many(2).await;
    for _ in 0..3 {
        let id = submit(&*stores[0]).await;
        let mut watch = stores[0].watch(id);
        let (waited, _) = tokio::join!(
            until(&*stores[0], &mut watch, id, Some(Status::Running)),
            claim(&*stores[1], id, "w"),
        );
        let () = waited;
    }
}

pub(crate) async fn a_watch_is_woken_when_the_row_goes(place: &Place) {
    let stores = place.open_many(2).await;
    let id = submit(&*stores[0]).await;
    stores[0].mark_cancelled(id, None).await.unwrap().unwrap();
    place
        .backdate(id, "finished_at", Duration::from_hours(960))
        .await;
    let mut watch = stores[0].watch(id);
    let (waited, retained) = tokio::join!(
        until(&*stores[0], &mut watch, id, None),
        stores[1].retain(10),
    );
    let () = waited;
    assert_eq!(retained.unwrap().extractions, 1);
}

/// Waits until a delivery is due, woken and not by looking.
async fn until_due(store: &dyn Store, watch: &mut DeliveryWatch) {
    let due = async {
        loop {
            watch.changed().await;
            let next = store.next_delivery_in().await.unwrap();
            // its time is rounded
            if next.is_some_and(|wait| wait < Duration::from_millis(100)) {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), due)
        .await
        .expect("never woken");
}

pub(crate) async fn a_deliverer_is_woken_by_a_delivery_of_this_and_of_another_store(place: &Place) {
    let stores = place.open_many(2).await;
    for writer in [&stores[0], &stores[1], &stores[0]] {
        let mut new = new_extraction(&**writer).await;
        new.callback_url = Some("https://example.com/hook".into());
        let id = new.id;
        writer.submit(new).await.unwrap();
        let mut watch = stores[0].watch_deliveries();
        let cancelled = writer.mark_cancelled(id, None).await.unwrap();
        assert!(cancelled.is_some());
        until_due(&*stores[0], &mut watch).await;
        let all = DeliveryClaim {
            worker: "d".into(),
            limit: 10,
            lease: Duration::from_mins(1),
            except_receivers: Vec::new(),
        };
        let mut claimed = stores[0].claim_deliveries(&all).await.unwrap();
        while claimed.is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
            claimed = stores[0].claim_deliveries(&all).await.unwrap();
        }
        assert_eq!(claimed[0].extraction_id, id);
    }
}
