//! Orphans: rows that nothing is going to deliver to, by the five classes of the reapers.

use flydocs_contract::{EventType, ExtractionId, Timestamp};

/// The five ways in which an extraction can be left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OrphanClass {
    /// 1: queued, never claimed, waiting for longer than the threshold.
    Queued,
    /// 2: running and lost.
    Running,
    /// 3: queued after a retry, due for longer than the threshold.
    Retrying,
    /// 4: succeeded, its leg pending for longer than the threshold.
    LegPending,
    /// 5: its leg running and lost.
    LegRunning,
}

impl OrphanClass {
    /// Every class, in the order of the reapers' table.
    pub const ALL: [Self; 5] = [
        Self::Queued,
        Self::Running,
        Self::Retrying,
        Self::LegPending,
        Self::LegRunning,
    ];
    /// The classes of the ExtractionReaper.
    pub const EXTRACTION: [Self; 3] = [Self::Queued, Self::Running, Self::Retrying];
    /// The classes of the BboxReaper.
    pub const BBOX: [Self; 2] = [Self::LegPending, Self::LegRunning];

    /// The word in logs, metrics and `flydocs ops orphans`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running_lost",
            Self::Retrying => "retrying",
            Self::LegPending => "leg_pending",
            Self::LegRunning => "leg_running_lost",
        }
    }

    /// The event that brings such a row back to a worker.
    pub const fn event_type(self) -> EventType {
        match self {
            Self::Queued | Self::Running | Self::Retrying => EventType::Submitted,
            Self::LegPending | Self::LegRunning => EventType::PostProcessingRequested,
        }
    }
}

/// A row with the signature of an orphan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Orphan {
    /// The extraction.
    pub id: ExtractionId,
    /// Which signature.
    pub class: OrphanClass,
    /// Since when: due, started or requested.
    pub since: Timestamp,
    /// The attempts so far, of the run or of the leg.
    pub attempts: u32,
    /// The worker that had it last.
    pub claimed_by: Option<String>,
    /// The row's fence: what is announced is this state, and no later one.
    pub fence: u64,
}

/// Where a page of orphans goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrphanCursor {
    /// `since` of the last one seen.
    pub since: Timestamp,
    /// Its id.
    pub id: ExtractionId,
}

impl From<&Orphan> for OrphanCursor {
    fn from(orphan: &Orphan) -> Self {
        Self {
            since: orphan.since,
            id: orphan.id,
        }
    }
}

/// What a re-announcement did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reannounced {
    /// A fresh event is in the outbox.
    Announced,
    /// An event for this state is on its way already: nothing was added.
    AlreadyAnnounced,
    /// The row has moved on meanwhile: nothing was added.
    Moved,
}
