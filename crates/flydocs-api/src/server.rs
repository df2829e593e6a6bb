//! Serves the routes on a socket until shutdown: a caller that dribbles its headers is let go, a caller in the
//! middle of an answer gets it.

use std::time::Duration;

use axum::{Router, http::Request};
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto, graceful::GracefulShutdown},
    service::TowerToHyperService,
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use crate::rate::Peer;

/// How long the head of a request may take.
const HEAD: Duration = Duration::from_secs(30);
/// How long to wait when the process has no file descriptor left for one more caller.
const BREATH: Duration = Duration::from_millis(50);

/// Serves until `shutdown`, then lets open calls end, at most for `grace`.
pub async fn serve(
    listener: TcpListener,
    routes: Router,
    shutdown: CancellationToken,
    grace: Duration,
) {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(Some(HEAD));
    let graceful = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = shutdown.cancelled() => break,
        };
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a caller could not be accepted");
                tokio::time::sleep(BREATH).await;
                continue;
            }
        };
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "no delay could not be set");
        }
        let peer = Peer(address.ip());
        let service = routes
            .clone()
            .map_request(move |mut request: Request<Incoming>| {
                request.extensions_mut().insert(peer);
                request
            });
        let service = TowerToHyperService::new(service);
        let connection = builder
            .serve_connection_with_upgrades(TokioIo::new(stream), service)
            .into_owned();
        let connection = graceful.watch(connection);
        // counted by `graceful`, which is waited for below
        drop(tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended early");
            }
        }));
    }
    drop(listener);
    if tokio::time::timeout(grace, graceful.shutdown())
        .await
        .is_err()
    {
        tracing::warn!(
            seconds = grace.as_secs_f64(),
            "callers were cut off at the end of FLYDOCS_SHUTDOWN_GRACE_S"
        );
    }
}
