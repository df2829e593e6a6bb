//! LISTEN on a connection of its own, never in a transaction. Whatever was sent while it was away is lost:
//! every (re)connect rings, so that everybody looks.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
    time::Duration,
};

use sqlx::{
    PgPool,
    postgres::{PgConnectOptions, PgListener, PgPoolOptions},
};
use tokio::{sync::watch, time::timeout};
use tokio_util::task::AbortOnDropHandle;
use tracing::{info, warn};

use super::notify::{Notifier, channel};
use crate::signal::Signal;

/// A network that was cut in silence is noticed after this long.
const SILENCE: Duration = Duration::from_secs(15);
const ANSWER: Duration = Duration::from_secs(3);
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

#[derive(Debug)]
pub(super) struct Listener {
    channels: watch::Sender<BTreeSet<String>>,
    /// What went wrong last, while it is down.
    trouble: Arc<Mutex<Option<String>>>,
    _task: AbortOnDropHandle<()>,
}

impl Listener {
    pub(super) fn start(
        connect: PgConnectOptions,
        signal: Signal,
        notifier: Arc<Notifier>,
    ) -> Self {
        let (channels, wanted) = watch::channel(BTreeSet::new());
        let trouble = Arc::new(Mutex::new(Some("not connected yet".to_owned())));
        let pool = PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(Duration::from_secs(5))
            .idle_timeout(None)
            .max_lifetime(None)
            .connect_lazy_with(connect);
        let task = Task {
            pool,
            wanted,
            signal,
            notifier,
            trouble: Arc::clone(&trouble),
        };
        Self {
            channels,
            trouble,
            _task: AbortOnDropHandle::new(tokio::spawn(task.run())),
        }
    }

    pub(super) fn add(&self, destinations: &[String]) {
        self.channels.send_if_modified(|channels| {
            let before = channels.len();
            channels.extend(destinations.iter().map(|destination| channel(destination)));
            channels.len() > before
        });
    }

    /// One sentence while notifications do not arrive.
    pub(super) fn trouble(&self) -> Option<String> {
        self.trouble
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

struct Task {
    pool: PgPool,
    wanted: watch::Receiver<BTreeSet<String>>,
    signal: Signal,
    notifier: Arc<Notifier>,
    trouble: Arc<Mutex<Option<String>>>,
}

impl Task {
    async fn run(mut self) {
        let mut pause = FIRST_PAUSE;
        loop {
            let ended = self.listen(&mut pause).await;
            self.down(&ended);
            // What is published from now on is found by polling.
            self.signal.ring();
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Listens until the connection breaks; says why it ended.
    async fn listen(&mut self, pause: &mut Duration) -> String {
        let mut listener = match PgListener::connect_with(&self.pool).await {
            Ok(listener) => listener,
            Err(error) => return error.to_string(),
        };
        // A lost connection must come to light here, where the looking again happens.
        listener.eager_reconnect(false);
        loop {
            let channels = self.wanted.borrow_and_update().clone();
            if let Err(error) = listener
                .listen_all(channels.iter().map(String::as_str))
                .await
            {
                return error.to_string();
            }
            self.up();
            *pause = FIRST_PAUSE;
            if let Some(ended) = self.hear(&mut listener).await {
                return ended;
            }
        }
    }

    /// Passes notifications on; `None` when there are new channels to listen to.
    async fn hear(&mut self, listener: &mut PgListener) -> Option<String> {
        loop {
            let heard = tokio::select! {
                heard = timeout(SILENCE, listener.try_recv()) => heard,
                changed = self.wanted.changed() => {
                    return changed.is_err().then(|| "the bus is gone".to_owned());
                }
            };
            match heard {
                Ok(Ok(Some(notification))) => {
                    if notification.payload() != self.notifier.instance {
                        self.signal.ring();
                    }
                }
                Ok(Ok(None)) => return Some("the connection was closed".to_owned()),
                Ok(Err(error)) => return Some(error.to_string()),
                Err(_silence) => {
                    let alive = sqlx::query("SELECT 1")
                        .persistent(false)
                        .execute(&mut *listener);
                    match timeout(ANSWER, alive).await {
                        Ok(Ok(_)) => {}
                        Ok(Err(error)) => return Some(error.to_string()),
                        Err(_late) => return Some("the server does not answer".to_owned()),
                    }
                }
            }
        }
    }

    fn up(&self) {
        self.notifier.listening.store(true, Ordering::Release);
        let before = self
            .trouble
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if before.is_some() {
            info!("listening for notifications");
        }
        self.signal.ring();
    }

    fn down(&self, why: &str) {
        self.notifier.listening.store(false, Ordering::Release);
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        if trouble.is_none() {
            warn!(why, "notifications stopped, polling meanwhile");
        }
        *trouble = Some(why.to_owned());
    }
}
