//! The store and the bus together: what a transition announces reaches a consumer, and what a consumer lost is
//! announced again.

use std::{sync::Arc, time::Duration};

use flydocs_bus::{Bus, Settled, Start, Subscription};
use flydocs_contract::{EventType, Status, event};
use flydocs_store::{Claimed, OrphanClass, Reannounced, Store};
use tokio_util::sync::CancellationToken;

use crate::place::{Place, claim, result, submit};

/// Connects the two as a process does.
pub(crate) async fn the_store_and_the_bus_go_round(
    place: &Place,
    store: Arc<dyn Store>,
    bus: Arc<dyn Bus>,
) {
    store.on_published(Arc::new({
        let bus = bus.clone();
        move |topic: &str| bus.wake(topic)
    }));
    let workers = bus
        .subscribe(Subscription {
            group: event::WORKERS_GROUP.into(),
            destinations: vec![event::JOBS_TOPIC.into()],
            event_types: vec![EventType::Submitted.as_str().into()],
            consumer: "w".into(),
            start: Start::Earliest,
        })
        .await
        .unwrap();
    let stop = CancellationToken::new();
    let next = async || {
        let due = tokio::time::timeout(Duration::from_secs(30), workers.claim(1, &stop));
        let mut due = due.await.expect("no event arrived").unwrap();
        assert_eq!(due.len(), 1);
        due.remove(0)
    };

    let mut open: Vec<_> = Vec::new();
    for _ in 0..5 {
        open.push(submit(&*store).await);
    }
    while !open.is_empty() {
        let delivery = next().await;
        let envelope: flydocs_contract::Envelope = serde_json::from_str(&delivery.payload).unwrap();
        let id = envelope.extraction.id;
        let token = claim(&*store, id, "w").await.token;
        store
            .mark_succeeded(&token, &result(id, "x"), false)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(
            workers.done(&delivery.ticket).await.unwrap(),
            Settled::Settled
        );
        open.retain(|o| *o != id);
    }

    // A consumer that takes the event and does nothing: the event is gone, the row is not.
    let id = submit(&*store).await;
    let delivery = next().await;
    place
        .backdate(id, "submitted_at", Duration::from_secs(700))
        .await;
    let orphan = store
        .orphans(OrphanClass::Queued, None, 10)
        .await
        .unwrap()
        .remove(0);
    assert_eq!(orphan.id, id);
    let said = store.reannounce(&orphan).await.unwrap();
    assert_eq!(
        said,
        Reannounced::AlreadyAnnounced,
        "it is in somebody's hands"
    );
    assert_eq!(
        workers.done(&delivery.ticket).await.unwrap(),
        Settled::Settled
    );
    assert_eq!(
        store.reannounce(&orphan).await.unwrap(),
        Reannounced::Announced
    );
    let again = next().await;
    assert_eq!(
        again.event_id, delivery.event_id,
        "the same state, the same event"
    );
    assert!(matches!(
        store.mark_running(id, "w").await.unwrap(),
        Claimed::Won(_)
    ));
    let row = store.get(id, None).await.unwrap().unwrap();
    assert_eq!(row.extraction.status, Status::Running);
    workers.close().await.unwrap();
}
