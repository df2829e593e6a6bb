//! Waiting for a change.

use std::time::Duration;

use flydocs_contract::{ExtractionId, Status};
use flydocs_store::{Beat, Progress, Store, Watch};

use crate::place::{Place, claim, submit};

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
