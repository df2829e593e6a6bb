//! What an operator can set of this room; the composition root fills it.

use std::{num::NonZeroU32, time::Duration};

use crate::{cors::Origins, keys::Keys};

/// How much one request may carry. All three are refused while it arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// `FLYDOCS_MAX_BYTES`: the largest file.
    pub max_bytes: u64,
    /// `FLYDOCS_MAX_REQUEST_BYTES`: the largest request, contents of files apart.
    pub max_request_bytes: u64,
    /// `FLYDOCS_MAX_FILES`: the most files.
    pub max_files: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_bytes: 100 << 20,
            max_request_bytes: 16 << 20,
            max_files: 100,
        }
    }
}

/// Settings of the HTTP surface.
#[derive(Debug, Clone)]
pub struct Options {
    /// How much one request may carry.
    pub limits: Limits,
    /// `FLYDOCS_SYNC_TIMEOUT_S`: the ceiling of `POST /extract`.
    pub sync_timeout: Duration,
    /// `FLYDOCS_SYNC_CONCURRENCY`: how many synchronous extractions run at once; the rest waits its turn.
    pub sync_concurrency: usize,
    /// `FLYDOCS_API_KEYS` and `FLYDOCS_API_KEYS_FILE`.
    pub keys: Keys,
    /// `FLYDOCS_RATE_LIMIT_PER_MINUTE`: how often one caller may call; `None` = as often as it likes.
    pub rate_limit_per_minute: Option<NonZeroU32>,
    /// `FLYDOCS_CORS_ORIGINS`: pages of which origins a browser lets call; `None` = of no other.
    pub cors_origins: Option<Origins>,
    /// The version answered by `/api/v1/version`.
    pub version: String,
    /// The model of requests that name none.
    pub model: String,
    /// `FLYDOCS_FALLBACK_MODEL`.
    pub fallback_model: Option<String>,
    /// The word of `FLYDOCS_EDA_ADAPTER`.
    pub eda_adapter: String,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            sync_timeout: Duration::from_mins(2),
            sync_concurrency: 8,
            keys: Keys::default(),
            rate_limit_per_minute: None,
            cors_origins: None,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            model: "local:layout".to_owned(),
            fallback_model: None,
            eda_adapter: "memory".to_owned(),
        }
    }
}
