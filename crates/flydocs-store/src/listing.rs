//! Filters and pages of the list.

use flydocs_contract::{Extraction, LegStatus, Status, Timestamp};

/// What a list is narrowed to; conditions are joined by "and".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// Only this tenant's; `None` = everybody's.
    pub tenant_id: Option<String>,
    /// One of these; empty = any.
    pub status: Vec<Status>,
    /// A leg in one of these; empty = any, also none.
    pub post_processing_status: Vec<LegStatus>,
    /// Submitted with exactly this key.
    pub idempotency_key: Option<String>,
    /// Submitted then or later.
    pub created_after: Option<Timestamp>,
    /// Submitted then or earlier.
    pub created_before: Option<Timestamp>,
    /// At most so many.
    pub limit: u32,
    /// Passing over so many.
    pub offset: u64,
}

impl Default for Filter {
    fn default() -> Self {
        Self {
            tenant_id: None,
            status: Vec::new(),
            post_processing_status: Vec::new(),
            idempotency_key: None,
            created_after: None,
            created_before: None,
            limit: 50,
            offset: 0,
        }
    }
}

/// One page: newest first, ties by id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The page.
    pub items: Vec<Extraction>,
    /// How many match, on all pages.
    pub total: u64,
}

/// Figures for metrics. Finished rows are not counted: that would read the whole table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Rows that wait for a worker, due or not.
    pub queued: u64,
    /// Rows that a worker has.
    pub running: u64,
    /// Legs that wait for a bbox worker.
    pub legs_pending: u64,
    /// Legs that a bbox worker has.
    pub legs_running: u64,
    /// Webhook deliveries that are not finished.
    pub deliveries_pending: u64,
    /// How long the oldest due row has waited, in seconds.
    pub oldest_queued_s: u64,
    /// Workers that are registered and not known to be dead.
    pub workers: u64,
}
