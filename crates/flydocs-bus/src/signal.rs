//! The wake-up of this process's consumers: a counter that is read before the look and waited on after it, so
//! that nothing published in between is missed.

use tokio::sync::watch;

/// Clones ring the same bell.
#[derive(Debug, Clone)]
pub(crate) struct Signal(watch::Sender<u64>);

impl Signal {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(0))
    }

    pub(crate) fn ring(&self) {
        self.0.send_modify(|rings| *rings = rings.wrapping_add(1));
    }

    pub(crate) fn listen(&self) -> Ear {
        Ear(self.0.subscribe())
    }
}

/// One listener.
#[derive(Debug)]
pub(crate) struct Ear(watch::Receiver<u64>);

impl Ear {
    /// From here on a ring counts.
    pub(crate) fn attend(&mut self) {
        self.0.borrow_and_update();
    }

    /// Waits for a ring since `attend`.
    pub(crate) async fn rung(&mut self) {
        if self.0.changed().await.is_err() {
            // The bus is gone: nobody will ring.
            std::future::pending::<()>().await;
        }
    }
}
