//! The keys of callers: from the settings, and from a file that is read again when it changes and on SIGHUP.

use std::{path::Path, time::Duration};

use flydocs_api::{Api, Keys};
use flydocs_contract::{ErrorCode, Fault};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::{exit::Exit, failure::Failure, files, settings::Settings};

/// How often the file is looked at.
const LOOK: Duration = Duration::from_secs(2);

/// The keys as they are now; a file that cannot be read is a wrong setting.
pub(crate) async fn keys(settings: &Settings) -> Result<Keys, Failure> {
    let wrong = |name: &'static str, why: String| {
        Failure::new(
            ErrorCode::InvalidSetting,
            "a setting is wrong",
            Exit::Settings,
        )
        .with_faults(vec![Fault::new(name, why)])
    };
    let listed = settings
        .api_keys
        .as_ref()
        .map_or("", |keys| keys.0.as_str());
    let listed: Keys = listed
        .parse()
        .map_err(|error: flydocs_api::InvalidKeys| wrong("FLYDOCS_API_KEYS", error.to_string()))?;
    let Some(path) = &settings.api_keys_file else {
        return Ok(listed);
    };
    let wrong = |why: String| {
        let what = format!("{}: {why}", path.display());
        wrong("FLYDOCS_API_KEYS_FILE", what)
    };
    let place = path.clone();
    let read = tokio::task::spawn_blocking(move || files::at_most(&place, files::SMALL));
    let text = read
        .await
        .map_err(anyhow::Error::new)?
        .map_err(|error| wrong(error.to_string()))?
        .ok_or_else(|| wrong(format!("it has more than {} bytes", files::SMALL)))?;
    let text = String::from_utf8(text)
        .map_err(|_| wrong("it is not UTF-8; save it as UTF-8".to_owned()))?;
    let filed = Keys::from_lines(&text).map_err(|error| wrong(error.to_string()))?;
    Ok(listed.and(filed))
}

/// Keeps the keys of the API as the file has them, until `end`. A file with a mistake changes nothing.
pub(crate) async fn follow(api: Api, settings: Settings, end: CancellationToken) {
    // without a file too: a SIGHUP that nobody takes ends the process
    let mut hangup = match signal(SignalKind::hangup()) {
        Ok(hangup) => hangup,
        Err(error) => {
            tracing::warn!(%error, "SIGHUP cannot be listened to");
            return end.cancelled().await;
        }
    };
    let mut look = tokio::time::interval(LOOK);
    let mut seen = None;
    loop {
        let asked = tokio::select! {
            _ = hangup.recv() => true,
            _ = look.tick(), if settings.api_keys_file.is_some() => false,
            () = end.cancelled() => return,
        };
        let Some(path) = settings.api_keys_file.as_deref() else {
            tracing::info!("SIGHUP: there is no FLYDOCS_API_KEYS_FILE to read again");
            continue;
        };
        let now = stamp(path).await;
        let first = seen.is_none();
        let changed = seen.replace(now) != Some(now);
        // at the first look the keys are those the process began with, unless the file changed in between
        if !asked && !changed {
            continue;
        }
        match keys(&settings).await {
            Ok(keys) => {
                if !first {
                    tracing::info!(keys = keys.len(), "the keys of callers were read again");
                }
                api.replace_keys(keys);
            }
            Err(failure) => tracing::warn!("{failure}; the keys stay as they are"),
        }
    }
}

/// What changes when a file does, also when another is put in its place.
async fn stamp(path: &Path) -> Option<(u64, u64, i64, i64)> {
    use std::os::unix::fs::MetadataExt as _;
    let facts = tokio::fs::metadata(path).await.ok()?;
    Some((facts.ino(), facts.len(), facts.mtime(), facts.mtime_nsec()))
}
