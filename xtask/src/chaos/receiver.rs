//! The receiver of webhooks: keeps everything that came, and now and then refuses or is slow.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use anyhow::Result;
use axum::{Router, body::Bytes, extract::State, http::StatusCode, routing::post};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use tokio::{net::TcpListener, task::AbortHandle, time::sleep};

use super::{audit::Received, fleet::lock};

/// One webhook in so many is refused.
const REFUSED: f64 = 0.1;

/// Listens until it is dropped.
pub(super) struct Receiver {
    /// Where callbacks go.
    pub(super) url: String,
    book: Arc<Book>,
    task: AbortHandle,
}

struct Book {
    received: Mutex<Vec<Received>>,
    random: Mutex<StdRng>,
}

impl Receiver {
    pub(super) async fn start(seed: u64) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/hook", listener.local_addr()?);
        let book = Arc::new(Book {
            received: Mutex::default(),
            random: Mutex::new(StdRng::seed_from_u64(seed ^ 0x00c0_ffee)),
        });
        let routes = Router::new()
            .route("/hook", post(hook))
            .with_state(Arc::clone(&book));
        let task = tokio::spawn(async move { axum::serve(listener, routes).await });
        Ok(Self {
            url,
            book,
            task: task.abort_handle(),
        })
    }

    /// Everything so far.
    pub(super) fn received(&self) -> Vec<Received> {
        lock(&self.book.received).clone()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn hook(State(book): State<Arc<Book>>, body: Bytes) -> StatusCode {
    let (refused, pause) = {
        let mut random = lock(&book.random);
        (random.random_bool(REFUSED), random.random_range(0..40))
    };
    sleep(Duration::from_millis(pause)).await;
    let body = String::from_utf8_lossy(&body).into_owned();
    let event_id = serde_json::from_str::<serde_json::Value>(&body)
        .ok()
        .and_then(|envelope| Some(envelope.get("event_id")?.as_str()?.to_owned()))
        .unwrap_or_default();
    lock(&book.received).push(Received {
        event_id,
        body,
        accepted: !refused,
    });
    if refused {
        StatusCode::SERVICE_UNAVAILABLE
    } else {
        StatusCode::NO_CONTENT
    }
}
