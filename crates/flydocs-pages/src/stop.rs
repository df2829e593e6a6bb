//! Cancellation between pages.

use tokio_util::sync::CancellationToken;

use crate::error::{Error, Result};

/// Fails when the work was cancelled. Called between pages and between members.
pub(crate) fn check(cancel: &CancellationToken) -> Result<()> {
    if cancel.is_cancelled() {
        return Err(Error::Cancelled);
    }
    Ok(())
}
