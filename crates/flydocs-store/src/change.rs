//! Waiting for a row to change, or for a webhook delivery to be written: woken by the change, in this process or another
//! one.
//!
//! Ask for a [`Watch`] first, read the row then, and wait: a change in between is not missed.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use flydocs_contract::ExtractionId;
use tokio::sync::{Notify, watch};

/// Who waits for what.
#[derive(Clone, Default)]
pub(crate) struct Changes {
    hub: Arc<Hub>,
}

#[derive(Default)]
struct Hub {
    watched: Mutex<HashMap<ExtractionId, watch::Sender<u64>>>,
    /// Told when the first watch begins, so that nothing looks at the database for nobody.
    begun: Notify,
    /// Counts the moments at which deliveries may have become due.
    deliveries: watch::Sender<u64>,
}

impl Hub {
    fn watched(&self) -> MutexGuard<'_, HashMap<ExtractionId, watch::Sender<u64>>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Changes {
    pub(crate) fn watch(&self, id: ExtractionId) -> Watch {
        let receiver = {
            let mut watched = self.hub.watched();
            watched
                .entry(id)
                .or_insert_with(|| watch::channel(0).0)
                .subscribe()
        };
        self.hub.begun.notify_waiters();
        self.hub.begun.notify_one();
        Watch {
            id,
            receiver: Some(receiver),
            hub: Arc::clone(&self.hub),
        }
    }

    /// Wakes everybody who waits for `id`.
    pub(crate) fn tell(&self, id: ExtractionId) {
        if let Some(sender) = self.hub.watched().get(&id) {
            sender.send_modify(|n| *n += 1);
        }
    }

    pub(crate) fn watch_deliveries(&self) -> DeliveryWatch {
        let receiver = self.hub.deliveries.subscribe();
        self.hub.begun.notify_waiters();
        self.hub.begun.notify_one();
        DeliveryWatch { receiver }
    }

    /// Wakes the deliverers.
    pub(crate) fn tell_deliveries(&self) {
        self.hub.deliveries.send_modify(|n| *n += 1);
    }

    /// True while somebody waits for deliveries.
    pub(crate) fn watches_deliveries(&self) -> bool {
        self.hub.deliveries.receiver_count() > 0
    }

    /// Wakes everybody: something may have been missed.
    pub(crate) fn tell_all(&self) {
        self.tell_deliveries();
        for sender in self.hub.watched().values() {
            sender.send_modify(|n| *n += 1);
        }
    }

    /// The rows somebody waits for.
    pub(crate) fn watched(&self) -> Vec<ExtractionId> {
        self.hub.watched().keys().copied().collect()
    }

    /// Returns when somebody waits for a row.
    pub(crate) async fn somebody_waits(&self) {
        loop {
            let begun = self.hub.begun.notified();
            if !self.hub.watched().is_empty() {
                return;
            }
            begun.await;
        }
    }

    /// Returns when somebody waits for a row or for deliveries.
    pub(crate) async fn somebody_listens(&self) {
        loop {
            let begun = self.hub.begun.notified();
            if self.watches_deliveries() || !self.hub.watched().is_empty() {
                return;
            }
            begun.await;
        }
    }
}

impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changes")
            .field("watched", &self.hub.watched().len())
            .finish()
    }
}

/// The revisions of the watched rows at the last look.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    revisions: HashMap<ExtractionId, Option<i64>>,
}

impl Seen {
    /// True when every one of these was looked at before.
    pub(crate) fn knows(&self, watched: &[ExtractionId]) -> bool {
        watched.iter().all(|id| self.revisions.contains_key(id))
    }

    /// Wakes those whose row has another revision than at the last look, or was never looked at:
    /// it may have changed between the watch and this look.
    pub(crate) fn compare(
        &mut self,
        watched: &[ExtractionId],
        found: &HashMap<String, i64>,
        changes: &Changes,
    ) {
        let mut next = HashMap::with_capacity(watched.len());
        for &id in watched {
            let revision = found.get(&id.to_string()).copied();
            if self.revisions.get(&id) != Some(&revision) {
                changes.tell(id);
            }
            next.insert(id, revision);
        }
        self.revisions = next;
    }
}

/// Waits for webhook deliveries.
#[derive(Debug)]
pub struct DeliveryWatch {
    receiver: watch::Receiver<u64>,
}

impl DeliveryWatch {
    /// Returns when a delivery may have become due since the watch began or since the last call returned.
    pub async fn changed(&mut self) {
        if self.receiver.changed().await.is_err() {
            // the store is gone: nothing more can come
            std::future::pending::<()>().await;
        }
    }
}

/// Waits for changes of one extraction.
pub struct Watch {
    id: ExtractionId,
    receiver: Option<watch::Receiver<u64>>,
    hub: Arc<Hub>,
}

impl Watch {
    /// Returns when the row may have changed since the watch began or since the last call returned.
    /// Read the row then; it may also be gone.
    pub async fn changed(&mut self) {
        if let Some(receiver) = &mut self.receiver
            && receiver.changed().await.is_ok()
        {
            return;
        }
        // The sender lives in the hub as long as this watch: nothing more can come.
        std::future::pending::<()>().await;
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut watched = self.hub.watched();
        drop(self.receiver.take());
        if watched
            .get(&self.id)
            .is_some_and(|sender| sender.receiver_count() == 0)
        {
            watched.remove(&self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u128) -> ExtractionId {
        ExtractionId::from_parts(1, n)
    }

    #[tokio::test]
    async fn a_change_between_watching_and_waiting_is_not_missed() {
        let changes = Changes::default();
        let mut watch = changes.watch(id(1));
        changes.tell(id(1));
        watch.changed().await;
    }

    #[tokio::test]
    async fn only_the_row_that_changed_wakes() {
        let changes = Changes::default();
        let mut one = changes.watch(id(1));
        let mut two = changes.watch(id(2));
        changes.tell(id(2));
        two.changed().await;
        let one_woke = futures::FutureExt::now_or_never(one.changed());
        assert!(one_woke.is_none());
        changes.tell_all();
        one.changed().await;
    }

    #[tokio::test]
    async fn a_delivery_wakes_those_who_wait_for_deliveries_and_no_row() {
        let changes = Changes::default();
        assert!(!changes.watches_deliveries());
        let mut deliveries = changes.watch_deliveries();
        let mut row = changes.watch(id(1));
        changes.tell_deliveries();
        deliveries.changed().await;
        assert!(futures::FutureExt::now_or_never(deliveries.changed()).is_none());
        assert!(futures::FutureExt::now_or_never(row.changed()).is_none());
        drop((deliveries, row));
        assert!(!changes.watches_deliveries());
    }

    #[tokio::test]
    async fn nothing_is_kept_for_those_who_left() {
        let changes = Changes::default();
        let (a, b) = (changes.watch(id(1)), changes.watch(id(1)));
        drop(a);
        assert_eq!(changes.watched(), [id(1)]);
        drop(b);
        assert!(changes.watched().is_empty());
    }

    #[tokio::test]
    async fn somebody_waits_returns_for_a_watch_that_began_before_or_after() {
        let changes = Changes::default();
        let waiting = tokio::spawn({
            let changes = changes.clone();
            async move { changes.somebody_waits().await }
        });
        tokio::task::yield_now().await;
        let _watch = changes.watch(id(1));
        waiting.await.unwrap();
        changes.somebody_waits().await;
    }
}
