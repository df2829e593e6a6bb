//! One token for the whole process: it fires on SIGTERM and SIGINT; a second signal ends the process at once.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// The exit code of a process that a signal ended.
const INTERRUPTED: i32 = 130;

/// Listens from now on.
pub(crate) fn token() -> CancellationToken {
    let token = CancellationToken::new();
    let fired = token.clone();
    match (
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
    ) {
        (Ok(terminate), Ok(interrupt)) => {
            // lives as long as the process and holds nothing
            drop(tokio::spawn(listen(terminate, interrupt, fired)));
        }
        (Err(error), _) | (_, Err(error)) => {
            tracing::warn!(%error, "signals cannot be listened to");
        }
    }
    token
}

async fn listen(mut terminate: Signal, mut interrupt: Signal, token: CancellationToken) {
    either(&mut terminate, &mut interrupt).await;
    tracing::info!("shutting down; a second signal ends at once");
    token.cancel();
    either(&mut terminate, &mut interrupt).await;
    now();
}

async fn either(terminate: &mut Signal, interrupt: &mut Signal) {
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

#[expect(
    clippy::exit,
    reason = "a second signal means now: nothing may be waited for"
)]
fn now() {
    std::process::exit(INTERRUPTED);
}
