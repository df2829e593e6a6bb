//! NOTIFY: a hint after the commit, never in the transaction that writes (it would serialise all commits), and
//! at most one a window for each destination: the first at once, the rest of a burst at the window's end.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use sha2::{Digest as _, Sha256};
use tokio::{sync::Notify, time::sleep};
use tokio_util::task::AbortOnDropHandle;
use tracing::debug;
use uuid::Uuid;

use super::session::Server;

const WINDOW: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub(super) struct Notifier {
    pending: Arc<Pending>,
    /// Kept by the listener: true while notifications arrive.
    pub(super) listening: AtomicBool,
    /// In every notification of this bus: its own listener need not ring for them.
    pub(super) instance: String,
    _task: AbortOnDropHandle<()>,
}

#[derive(Debug, Default)]
struct Pending {
    channels: Mutex<BTreeSet<String>>,
    some: Notify,
}

impl Notifier {
    pub(super) fn start(server: Server) -> Self {
        let pending = Arc::new(Pending::default());
        let instance = Uuid::new_v4().simple().to_string();
        let task = tokio::spawn(send(server, Arc::clone(&pending), instance.clone()));
        let listening = AtomicBool::new(false);
        Self {
            pending,
            listening,
            instance,
            _task: AbortOnDropHandle::new(task),
        }
    }

    pub(super) fn notify(&self, destination: &str) {
        self.pending.lock().insert(channel(destination));
        self.pending.some.notify_one();
    }

    pub(super) fn listening(&self) -> bool {
        self.listening.load(Ordering::Acquire)
    }
}

impl Pending {
    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn send(server: Server, pending: Arc<Pending>, instance: String) {
    loop {
        pending.some.notified().await;
        let channels: Vec<String> = std::mem::take(&mut *pending.lock()).into_iter().collect();
        if channels.is_empty() {
            continue;
        }
        let query = server
            .query("SELECT pg_notify(channel, $2) FROM unnest($1::text[]) AS c (channel)")
            .bind(channels)
            .bind(instance.clone());
        if let Err(error) = server.execute(query).await {
            debug!(
                error = &error as &dyn std::error::Error,
                "could not notify; consumers will poll"
            );
        }
        sleep(WINDOW).await;
    }
}

/// `bus_` and 64 bits of the destination's hash: a channel name has at most 63 bytes.
pub(super) fn channel(destination: &str) -> String {
    use std::fmt::Write as _;
    let mut name = String::from("bus_");
    for byte in Sha256::digest(destination.as_bytes()).iter().take(8) {
        // Writing to a String cannot fail.
        write!(name, "{byte:02x}").unwrap_or_default();
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_is_a_short_stable_name() {
        assert_eq!(channel("flydocs.extractions").len(), 20);
        assert_ne!(
            channel("flydocs.extractions"),
            channel("flydocs.extractions.post_processing")
        );
        assert!(
            channel(&"x".repeat(500))
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        );
    }
}
