//! Each submission and its row: there once, ended as the document asks, announced once and truthfully.

use std::collections::{BTreeSet, HashMap};

use super::{
    Auditor, Broken,
    facts::{Event, Moment, Row, Submission, Wanted},
    is_terminal,
    log::Story,
};

impl Auditor<'_> {
    /// Every 202 has its row; a key has one row.
    pub(super) fn submissions(&mut self) {
        let facts = self.facts;
        let rows: BTreeSet<&str> = facts.rows.iter().map(|row| row.id.as_str()).collect();
        let mut of_nonce: HashMap<&str, usize> = HashMap::new();
        for row in &facts.rows {
            *of_nonce.entry(&row.nonce).or_default() += 1;
        }
        for submission in &facts.submissions {
            let told: BTreeSet<&str> = submission.accepted.iter().map(String::as_str).collect();
            for id in &told {
                if !rows.contains(id) {
                    self.found(Broken::Lost, id, "answered with 202, and there is no row");
                }
            }
            let found = of_nonce
                .get(submission.nonce.as_str())
                .copied()
                .unwrap_or_default();
            let (least, most) = if submission.key.is_some() {
                (usize::from(!told.is_empty()), 1)
            } else {
                (told.len(), told.len() + submission.unsure as usize)
            };
            if found < least {
                let what = format!("{least} accepted, {found} rows");
                self.found(Broken::Lost, &submission.nonce, what);
            }
            if found > most || (submission.key.is_some() && told.len() > 1) {
                let what = format!("{found} rows, {} ids told, at most {most}", told.len());
                self.found(Broken::Twice, &submission.nonce, what);
            }
        }
    }

    /// The row by itself.
    pub(super) fn state(&mut self, row: &Row) {
        if !is_terminal(&row.status) {
            let what = format!("it is {} (attempt {})", row.status, row.attempts);
            self.found(Broken::Stuck, &row.id, what);
        }
        if let Some(leg @ ("pending" | "running")) = row.leg.as_deref() {
            let what = format!("its boxes are {leg}");
            self.found(Broken::Stuck, &row.id, what);
        }
        let wanted = i64::from(row.status == "succeeded");
        if row.results != wanted {
            let broken = if row.results < wanted {
                Broken::Lost
            } else {
                Broken::Twice
            };
            let what = format!("it is {} and has {} results", row.status, row.results);
            self.found(broken, &row.id, what);
        }
    }

    /// One completed event for each ending, and none without it.
    pub(super) fn announcements(&mut self, row: &Row, events: &[&Event]) {
        let count = |kind: &str| {
            events
                .iter()
                .filter(|event| event.event_type == kind)
                .count()
        };
        if count("extraction.submitted") == 0 {
            self.found(Broken::Lost, &row.id, "it was never announced");
        }
        let leg_ended = matches!(row.leg.as_deref(), Some("succeeded" | "failed"));
        for (kind, ended) in [
            ("extraction.completed", is_terminal(&row.status)),
            ("extraction.post_processing.completed", leg_ended),
        ] {
            let told = count(kind);
            if told < usize::from(ended) {
                self.found(Broken::Lost, &row.id, format!("ended without {kind}"));
            }
            if told > usize::from(ended) {
                let broken = if ended { Broken::Twice } else { Broken::Untrue };
                self.found(broken, &row.id, format!("{told} times {kind}"));
            }
        }
        if row.leg.is_some() && count("extraction.post_processing.requested") == 0 {
            self.found(Broken::Lost, &row.id, "its boxes were never asked for");
        }
        for event in events {
            let true_of_row = match event.event_type.as_str() {
                "extraction.completed" => event.status == row.status,
                "extraction.post_processing.completed" => event.leg == row.leg,
                _ => true,
            };
            if !true_of_row {
                let what = format!(
                    "{} {} says {} {:?}, the row {} {:?}",
                    event.event_type, event.event_id, event.status, event.leg, row.status, row.leg
                );
                self.found(Broken::Untrue, &row.id, what);
            }
        }
    }

    /// The ending that the document asked for, or one that deaths explain.
    pub(super) fn ending(
        &mut self,
        row: &Row,
        submission: &Submission,
        story: &Story,
        log: &[&Moment],
    ) {
        let wanted = match (row.status.as_str(), row.error.as_deref()) {
            ("failed", Some("worker_lost")) => {
                let explained = story.lost_claims >= row.attempts && row.attempts > 0;
                submission.wanted == Wanted::WorkerLost || explained
            }
            ("failed", Some("encrypted_pdf")) => submission.wanted == Wanted::Refusal,
            ("succeeded", _) => submission.wanted == Wanted::Result,
            ("cancelled", _) => submission.cancelled,
            _ => !is_terminal(&row.status),
        };
        if !wanted {
            let how: Vec<&str> = log.iter().map(|moment| moment.method.as_str()).collect();
            let what = format!(
                "wanted {:?}, ended {} {:?} in attempt {}: {}",
                submission.wanted,
                row.status,
                row.error,
                row.attempts,
                how.join(" ")
            );
            self.found(Broken::Unexplained, &row.id, what);
        }
        if row.status == "succeeded" && submission.boxes != row.leg.is_some() {
            let what = format!("boxes asked for: {}, leg {:?}", submission.boxes, row.leg);
            self.found(Broken::Lost, &row.id, what);
        }
        if row.leg.as_deref() == Some("failed") && row.leg_error.as_deref() != Some("worker_lost") {
            let what = format!("its boxes failed: {:?}", row.leg_error);
            self.found(Broken::Unexplained, &row.id, what);
        }
    }
}
