//! The state of an extraction: two small machines and their legal moves, as data.
//!
//! `MOVES` and `LEG_MOVES` are the only list of moves; the store's SQL, the drawing in
//! `docs/state-machine.md` and the property tests are held against them.

use std::{fmt, str::FromStr};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::ExtractionId;

/// Where an extraction stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Accepted, waiting for a worker.
    Queued,
    /// A worker has it.
    Running,
    /// Finished with a result.
    Succeeded,
    /// Finished without one; `error` says why.
    Failed,
    /// Stopped by the caller.
    Cancelled,
}

impl Status {
    /// Every status, in the order of the drawing.
    pub const ALL: [Self; 5] = [
        Self::Queued,
        Self::Running,
        Self::Succeeded,
        Self::Failed,
        Self::Cancelled,
    ];

    /// The word on the wire and in the table.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// True when no worker will touch it again by itself.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled)
    }
}

/// Where the bbox_refinement leg of a succeeded extraction stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum LegStatus {
    /// Wanted, waiting for a bbox worker.
    Pending,
    /// A bbox worker has it.
    Running,
    /// The result carries refined boxes.
    Succeeded,
    /// The boxes stayed as the main extraction left them.
    Failed,
}

impl LegStatus {
    /// Every leg status.
    pub const ALL: [Self; 4] = [Self::Pending, Self::Running, Self::Succeeded, Self::Failed];

    /// The word on the wire and in the table.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
        }
    }

    /// True when the leg is settled.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }
}

/// A word that names no status.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not a status; known are {known}")]
pub struct UnknownStatus {
    /// What was given.
    pub given: String,
    /// The words that would do.
    pub known: &'static str,
}

impl FromStr for Status {
    type Err = UnknownStatus;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|s| s.as_str() == text)
            .ok_or_else(|| UnknownStatus {
                given: text.chars().take(64).collect(),
                known: "queued, running, succeeded, failed, cancelled",
            })
    }
}

impl FromStr for LegStatus {
    type Err = UnknownStatus;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|s| s.as_str() == text)
            .ok_or_else(|| UnknownStatus {
                given: text.chars().take(64).collect(),
                known: "pending, running, succeeded, failed",
            })
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for LegStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One legal move of a machine with states `S`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Move<S: 'static> {
    /// The repository method that makes it.
    pub method: &'static str,
    /// The state before.
    pub from: S,
    /// The state after.
    pub to: S,
    /// What must hold besides the state; empty when nothing.
    pub when: &'static str,
}

const fn mv<S: Copy>(method: &'static str, from: S, to: S, when: &'static str) -> Move<S> {
    Move {
        method,
        from,
        to,
        when,
    }
}

/// Every legal move of an extraction.
pub const MOVES: &[Move<Status>] = &[
    mv("mark_running", Status::Queued, Status::Running, "due"),
    mv(
        "mark_running",
        Status::Running,
        Status::Running,
        "lost, attempts left",
    ),
    mv(
        "mark_running",
        Status::Running,
        Status::Failed,
        "lost, no attempts left: worker_lost",
    ),
    mv(
        "mark_succeeded",
        Status::Running,
        Status::Succeeded,
        "token current",
    ),
    mv(
        "mark_failed",
        Status::Running,
        Status::Failed,
        "token current",
    ),
    mv(
        "requeue_for_retry",
        Status::Running,
        Status::Queued,
        "token current",
    ),
    mv(
        "give_back",
        Status::Running,
        Status::Queued,
        "token current; the attempt is not counted",
    ),
    mv(
        "mark_running",
        Status::Running,
        Status::Cancelled,
        "lost, cancel requested",
    ),
    mv(
        "mark_succeeded",
        Status::Running,
        Status::Cancelled,
        "token current, cancel requested",
    ),
    mv(
        "mark_failed",
        Status::Running,
        Status::Cancelled,
        "token current, cancel requested",
    ),
    mv(
        "requeue_for_retry",
        Status::Running,
        Status::Cancelled,
        "token current, cancel requested",
    ),
    mv(
        "give_back",
        Status::Running,
        Status::Cancelled,
        "token current, cancel requested",
    ),
    mv("mark_cancelled", Status::Queued, Status::Cancelled, ""),
    mv("request_cancel", Status::Queued, Status::Cancelled, ""),
    mv(
        "settle_cancelled",
        Status::Running,
        Status::Cancelled,
        "token current, cancel requested",
    ),
    mv("retry", Status::Failed, Status::Queued, "attempts reset"),
    mv("retry", Status::Cancelled, Status::Queued, "attempts reset"),
];

/// Every legal move of the bbox_refinement leg. The leg exists only on a succeeded extraction.
pub const LEG_MOVES: &[Move<LegStatus>] = &[
    mv(
        "start_bbox_refinement",
        LegStatus::Pending,
        LegStatus::Pending,
        "",
    ),
    mv(
        "mark_bbox_refinement_running",
        LegStatus::Pending,
        LegStatus::Running,
        "due",
    ),
    mv(
        "mark_bbox_refinement_running",
        LegStatus::Running,
        LegStatus::Running,
        "lost, attempts left",
    ),
    mv(
        "mark_bbox_refinement_running",
        LegStatus::Running,
        LegStatus::Failed,
        "lost, no attempts left: worker_lost",
    ),
    mv(
        "mark_bbox_refinement_succeeded",
        LegStatus::Running,
        LegStatus::Succeeded,
        "token current",
    ),
    mv(
        "mark_bbox_refinement_failed",
        LegStatus::Running,
        LegStatus::Failed,
        "token current",
    ),
    mv(
        "requeue_bbox_refinement",
        LegStatus::Pending,
        LegStatus::Pending,
        "",
    ),
    mv(
        "requeue_bbox_refinement",
        LegStatus::Running,
        LegStatus::Pending,
        "token current",
    ),
    mv(
        "give_back_bbox_refinement",
        LegStatus::Running,
        LegStatus::Pending,
        "token current; the attempt is not counted",
    ),
];

/// The text of `docs/state-machine.md`: both machines as Mermaid and as a table, from the moves above.
pub fn state_machine_page() -> String {
    let mut text = String::from(
        "# The states of an extraction\n\nMade by `cargo xtask state-machine` from `MOVES` and `LEG_MOVES` in \
         `crates/flydocs-contract/src/status.rs`; a test holds this page to them.\nA move is made by the named method of the \
         store, in one conditional UPDATE; whoever loses a race gets nothing.\n\n",
    );
    text.push_str("## The extraction\n\n```mermaid\nstateDiagram-v2\n    [*] --> queued: submit\n");
    for m in MOVES {
        push_arrow(&mut text, m.from.as_str(), m.to.as_str(), m.method, m.when);
    }
    text.push_str("    succeeded --> [*]\n    failed --> [*]\n    cancelled --> [*]\n```\n\n");
    text.push_str("| method | from | to | when |\n|---|---|---|---|\n");
    for m in MOVES {
        push_row(&mut text, m.method, m.from.as_str(), m.to.as_str(), m.when);
    }
    text.push_str(
        "\n## The bbox_refinement leg of a succeeded extraction\n\n```mermaid\nstateDiagram-v2\n",
    );
    text.push_str("    [*] --> pending: mark_succeeded (bbox wanted)\n");
    for m in LEG_MOVES {
        push_arrow(&mut text, m.from.as_str(), m.to.as_str(), m.method, m.when);
    }
    text.push_str("    succeeded --> [*]\n    failed --> [*]\n```\n\n");
    text.push_str("| method | from | to | when |\n|---|---|---|---|\n");
    for m in LEG_MOVES {
        push_row(&mut text, m.method, m.from.as_str(), m.to.as_str(), m.when);
    }
    text
}

fn push_arrow(text: &mut String, from: &str, to: &str, method: &str, when: &str) {
    // a colon or semicolon would end a Mermaid label
    let when = when.replace([':', ';'], ",");
    let label = if when.is_empty() {
        method.to_owned()
    } else {
        format!("{method} ({when})")
    };
    text.push_str(&format!("    {from} --> {to}: {label}\n"));
}

fn push_row(text: &mut String, method: &str, from: &str, to: &str, when: &str) {
    text.push_str(&format!("| {method} | {from} | {to} | {when} |\n"));
}

/// Why an extraction or its leg failed: a stable code and a sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ExtractionError {
    /// A stable code, see `docs/errors/`.
    pub code: String,
    /// What happened and what to do about it.
    pub message: String,
}

/// The leg as a caller sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct BboxRefinement {
    /// Where the leg stands.
    pub status: LegStatus,
    /// When the current or last attempt started.
    pub started_at: Option<DateTime<Utc>>,
    /// When it settled.
    pub finished_at: Option<DateTime<Utc>>,
    /// How often it was claimed.
    pub attempts: u32,
    /// Why it failed, or why it was last put back.
    pub error: Option<ExtractionError>,
}

/// Work that follows a succeeded extraction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct PostProcessing {
    /// The grounding of the boxes, out of band.
    pub bbox_refinement: BboxRefinement,
}

/// An extraction as lists, polls, events and webhooks carry it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Extraction {
    /// The id.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "ext_01ARZ3NDEKTSV4RRFFQ69G5FAV"))]
    pub id: ExtractionId,
    /// Where it stands.
    pub status: Status,
    /// When it was accepted.
    pub submitted_at: DateTime<Utc>,
    /// When the current or last attempt started.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// How often it was claimed.
    pub attempts: u32,
    /// Why it failed, or why it was last put back.
    pub error: Option<ExtractionError>,
    /// Work that follows success; `null` when none was wanted.
    pub post_processing: Option<PostProcessing>,
}

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ExtractionList {
    /// Newest first.
    pub items: Vec<Extraction>,
    /// How many match the filter.
    pub total: u64,
    /// At most this many were asked for.
    pub limit: u32,
    /// How many were passed over.
    pub offset: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_succeeded() {
        assert!(MOVES.iter().all(|m| m.from != Status::Succeeded));
    }

    #[test]
    fn every_status_can_be_reached_from_queued() {
        let mut reached = vec![Status::Queued];
        while let Some(m) = MOVES
            .iter()
            .find(|m| reached.contains(&m.from) && !reached.contains(&m.to))
        {
            reached.push(m.to);
        }
        reached.sort();
        assert_eq!(reached, Status::ALL);
    }

    #[test]
    fn the_page_shows_the_moves() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/state-machine.md");
        let page = std::fs::read_to_string(path).unwrap();
        assert_eq!(
            page,
            state_machine_page(),
            "run `cargo xtask state-machine`"
        );
    }

    #[test]
    fn a_status_reads_back_from_its_word() {
        for status in Status::ALL {
            assert_eq!(status.as_str().parse(), Ok(status));
            assert_eq!(serde_json::to_value(status).unwrap(), status.as_str());
        }
        for status in LegStatus::ALL {
            assert_eq!(status.as_str().parse(), Ok(status));
        }
        assert!("done".parse::<Status>().is_err());
    }
}
