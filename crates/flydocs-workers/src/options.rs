//! The settings of this room, filled by the composition root; leases, heartbeats, ceilings and attempts are the
//! store's ([`flydocs_store::Options`]).

use std::{fmt, num::NonZeroUsize, time::Duration};

/// Settings of the services, with the defaults of the contract.
#[derive(Debug, Clone)]
pub struct Options {
    /// What the worker is called in `claimed_by` and in logs: host and process.
    pub name: String,
    /// `FLYDOCS_WORKER_CONCURRENCY`: extractions at once (CPU count).
    pub worker_concurrency: NonZeroUsize,
    /// `FLYDOCS_BBOX_WORKER_CONCURRENCY`: groundings at once (CPU count).
    pub bbox_worker_concurrency: NonZeroUsize,
    /// `FLYDOCS_LIVENESS_INTERVAL_S`: how often dead workers are looked for.
    pub liveness_interval: Duration,
    /// `FLYDOCS_REAPER_SWEEP_INTERVAL_S`: how often the reapers sweep every class.
    pub reaper_sweep_interval: Duration,
    /// How many orphans a reaper reads at a time.
    pub reaper_batch: u32,
    /// `FLYDOCS_RETRY_BASE_DELAY_S`.
    pub retry_base_delay: Duration,
    /// `FLYDOCS_RETRY_MAX_DELAY_S`.
    pub retry_max_delay: Duration,
    /// `FLYDOCS_SHUTDOWN_GRACE_S`: how long running work may go on after the shutdown began.
    pub shutdown_grace: Duration,
    /// How long an event waits whose extraction another worker has.
    pub held_elsewhere_delay: Duration,
    /// How often the retention looks for what is over its time.
    pub retention_interval: Duration,
    /// How many extractions the retention deletes at a time.
    pub retention_batch: u32,
    /// Settings of the webhook deliverer.
    pub webhooks: WebhookOptions,
}

impl Default for Options {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Self {
            name: "worker".to_owned(),
            worker_concurrency: processors,
            bbox_worker_concurrency: processors,
            liveness_interval: Duration::from_secs(2),
            reaper_sweep_interval: Duration::from_mins(1),
            reaper_batch: 500,
            retry_base_delay: Duration::from_secs(5),
            retry_max_delay: Duration::from_mins(5),
            shutdown_grace: Duration::from_secs(30),
            held_elsewhere_delay: Duration::from_secs(30),
            retention_interval: Duration::from_hours(1),
            retention_batch: 200,
            webhooks: WebhookOptions::default(),
        }
    }
}

/// Settings of the webhook deliverer.
#[derive(Debug, Clone)]
pub struct WebhookOptions {
    /// `FLYDOCS_WEBHOOK_HMAC_SECRET`: `None` = deliveries are not signed.
    pub hmac_secret: Option<Secret>,
    /// `FLYDOCS_WEBHOOK_MAX_ATTEMPTS`: quick attempts before the slow ones.
    pub max_attempts: u32,
    /// `FLYDOCS_WEBHOOK_TIMEOUT_S`: how long a receiver may take.
    pub timeout: Duration,
    /// `FLYDOCS_WEBHOOK_ALLOW_PRIVATE`: callbacks to loopback, private and link-local addresses.
    pub allow_private: bool,
    /// How long the slow attempts are apart.
    pub slow_interval: Duration,
    /// How long a delivery is tried at all.
    pub give_up_after: Duration,
    /// Deliveries at once.
    pub concurrency: usize,
    /// Deliveries at once to one receiver.
    pub per_receiver: usize,
    /// How often to look for new deliveries.
    pub poll: Duration,
    /// How long a delivery under way is kept from others without a word of its deliverer, who says it every third
    /// of that.
    pub lease: Duration,
}

impl Default for WebhookOptions {
    fn default() -> Self {
        Self {
            hmac_secret: None,
            max_attempts: 5,
            timeout: Duration::from_mins(5),
            allow_private: false,
            slow_interval: Duration::from_mins(15),
            give_up_after: Duration::from_hours(24),
            concurrency: 64,
            per_receiver: 8,
            poll: Duration::from_secs(1),
            lease: Duration::from_secs(30),
        }
    }
}

/// A text that is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps the text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}
