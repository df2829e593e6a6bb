//! The store and the bus together: what a transition announces reaches a consumer, and what a consumer lost is
//! announced again.

use std::{collections::HashSet, sync::Arc, time::Duration};

use flydocs_bus::{
    Bus, Consumer, Delivery, Settled, Start, Subscription,
    adapters::{postgres::PostgresBus, sqlite::SqliteBus},
};
use flydocs_contract::{EventType, Status, event};
use flydocs_store::{Claimed, OrphanClass, Reannounced, Store};
use tokio_util::sync::CancellationToken;

use crate::{
    conformance::liveness::child,
    place::{Place, claim, result, submit},
};

const PATIENCE: Duration = Duration::from_secs(30);

/// The bus of a database, with the lease of production.
pub(crate) async fn bus_of(url: &str) -> Arc<dyn Bus> {
    let options = flydocs_bus::Options::default();
    if let Some(path) = flydocs_store::sqlite_path(url) {
        let file = flydocs_bus::sqlite::open(&path).await.unwrap();
        return Arc::new(SqliteBus::new(file, options).unwrap());
    }
    let pool = sqlx::PgPool::connect(url).await.unwrap();
    Arc::new(PostgresBus::new(pool, url.parse().ok(), options))
}

/// Joins the group of the extraction workers.
pub(crate) async fn join(bus: &dyn Bus, consumer: &str) -> Arc<dyn Consumer> {
    bus.subscribe(Subscription {
        group: event::WORKERS_GROUP.into(),
        destinations: vec![event::JOBS_TOPIC.into()],
        event_types: vec![EventType::Submitted.as_str().into()],
        consumer: consumer.into(),
        start: Start::Earliest,
    })
    .await
    .unwrap()
}

/// What a worker had taken from the bus when it was killed, begun or not, does not wait for the end of its lease.
pub(crate) async fn what_a_killed_worker_had_taken_is_due_when_its_death_is_found(place: &Place) {
    let store = place.open().await;
    let bus = bus_of(&place.url).await;
    store.on_published(Arc::new({
        let bus = bus.clone();
        move |topic: &str| bus.wake(topic)
    }));
    let consumer = join(&*bus, "survivor").await;
    let mut ids = HashSet::new();
    for _ in 0..4 {
        ids.insert(submit(&*store).await);
    }
    let mut child = child(place, *ids.iter().next().unwrap(), ids.len());
    assert!(store.sweep_workers().await.unwrap().is_empty(), "it lives");
    let group = bus.status().await.unwrap().groups.remove(0);
    assert_eq!((group.in_flight, group.due), (4, 0), "its leases hold");

    let waiting = tokio::spawn(async move {
        let mut found = Vec::new();
        while found.len() < 4 {
            found.extend(consumer.claim(4, &CancellationToken::new()).await.unwrap());
        }
        found
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let noticed = async {
        while store.sweep_workers().await.unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, noticed)
        .await
        .expect("it is dead");
    let found: Vec<Delivery> = tokio::time::timeout(PATIENCE, waiting)
        .await
        .expect("its leases of a minute are over with it")
        .unwrap();
    let again: HashSet<_> = found
        .iter()
        .map(|delivery| {
            assert_eq!(delivery.attempts, 2, "its claim counts");
            let envelope: flydocs_contract::Envelope =
                serde_json::from_str(&delivery.payload).unwrap();
            envelope.extraction.id
        })
        .collect();
    assert_eq!(again, ids);
}

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
    let workers = join(&*bus, "w").await;
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
