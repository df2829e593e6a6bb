//! The audit: what callers were told, against rows, logs, events, results and webhooks. Pure, so that it can be
//! shown doctored facts: an audit that cannot fail proves nothing.

mod facts;
mod log;
mod rows;
mod webhooks;

use std::collections::{BTreeMap, HashMap};

pub(super) use self::facts::{
    Ended, Event, Facts, Hook, Moment, Owed, Received, Row, Submission, Wanted,
};

/// What was promised and not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Broken {
    /// Accepted, and gone; or ended, and nobody was told.
    Lost,
    /// Accepted twice: two rows for one key, two results, a result without the claim.
    Twice,
    /// Not settled when everything else was.
    Stuck,
    /// An event or a webhook that says what the row does not.
    Untrue,
    /// An ending that nothing explains.
    Unexplained,
}

impl Broken {
    pub(super) const ALL: [Self; 5] = [
        Self::Lost,
        Self::Twice,
        Self::Stuck,
        Self::Untrue,
        Self::Unexplained,
    ];

    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::Twice => "accepted twice",
            Self::Stuck => "stuck",
            Self::Untrue => "untrue announcements",
            Self::Unexplained => "unexplained",
        }
    }
}

/// One broken promise, with the row it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) broken: Broken,
    pub(super) about: String,
    pub(super) what: String,
}

/// From the death of a worker to the next claim of what it had.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Recovery {
    pub(super) seconds: f64,
    /// The database was away meanwhile.
    pub(super) over_outage: bool,
}

/// Every broken promise, and every recovery, the quickest first.
pub(super) fn audit(facts: &Facts) -> (Vec<Finding>, Vec<Recovery>) {
    let mut auditor = Auditor {
        facts,
        findings: Vec::new(),
    };
    let mut recoveries = auditor.everything();
    recoveries.sort_by(|one, other| one.seconds.total_cmp(&other.seconds));
    auditor.findings.sort_by_key(|finding| finding.broken);
    (auditor.findings, recoveries)
}

struct Auditor<'f> {
    facts: &'f Facts,
    findings: Vec<Finding>,
}

impl Auditor<'_> {
    fn found(&mut self, broken: Broken, about: &str, what: impl Into<String>) {
        self.findings.push(Finding {
            broken,
            about: about.to_owned(),
            what: what.into(),
        });
    }

    fn everything(&mut self) -> Vec<Recovery> {
        let facts = self.facts;
        let mut moments: BTreeMap<&str, Vec<&Moment>> = BTreeMap::new();
        for moment in &facts.moments {
            moments.entry(&moment.id).or_default().push(moment);
        }
        let mut events: BTreeMap<&str, Vec<&Event>> = BTreeMap::new();
        for event in &facts.events {
            events.entry(&event.id).or_default().push(event);
        }
        self.submissions();
        let submissions: HashMap<&str, &Submission> = facts
            .submissions
            .iter()
            .map(|submission| (submission.nonce.as_str(), submission))
            .collect();
        let mut recoveries = Vec::new();
        for row in &facts.rows {
            let log = moments.get(row.id.as_str()).map_or(&[][..], Vec::as_slice);
            let story = self.story(row, log);
            self.state(row);
            self.announcements(
                row,
                events.get(row.id.as_str()).map_or(&[][..], Vec::as_slice),
            );
            match submissions.get(row.nonce.as_str()) {
                Some(submission) => {
                    self.ending(row, submission, &story, log);
                    self.webhooks(row, submission);
                }
                None => self.found(Broken::Unexplained, &row.id, "nobody submitted it"),
            }
            recoveries.extend(story.recoveries);
        }
        self.received();
        for owed in &facts.undelivered {
            let what = format!(
                "{} is owed to {}: {}",
                owed.event_type, owed.group, owed.why
            );
            self.found(Broken::Stuck, &owed.id, what);
        }
        for letter in &facts.dead_letters {
            let what = format!(
                "{} is a dead letter of {}: {}",
                letter.event_type, letter.group, letter.why
            );
            self.found(Broken::Unexplained, &letter.id, what);
        }
        recoveries
    }
}

fn is_terminal(status: &str) -> bool {
    matches!(status, "succeeded" | "failed" | "cancelled")
}
