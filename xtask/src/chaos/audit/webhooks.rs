//! The webhooks: each ending was sent, came in with its own bytes, and nothing else did.

use std::collections::BTreeSet;

use super::{
    Auditor, Broken,
    facts::{Hook, Row, Submission},
    is_terminal,
};

impl Auditor<'_> {
    /// Each ending was sent, and received.
    pub(super) fn webhooks(&mut self, row: &Row, submission: &Submission) {
        let facts = self.facts;
        let hooks: Vec<&Hook> = facts
            .hooks
            .iter()
            .filter(|hook| hook.id == row.id)
            .collect();
        let leg_ended = matches!(row.leg.as_deref(), Some("succeeded" | "failed"));
        for (kind, ended) in [
            ("extraction.completed", is_terminal(&row.status)),
            ("extraction.post_processing.completed", leg_ended),
        ] {
            let wanted = usize::from(ended && submission.callback);
            let found = hooks.iter().filter(|hook| hook.event_type == kind).count();
            if found != wanted {
                let broken = if found < wanted {
                    Broken::Lost
                } else {
                    Broken::Twice
                };
                let what = format!("{found} webhooks of {kind}, {wanted} wanted");
                self.found(broken, &row.id, what);
            }
        }
        for hook in hooks {
            let came = facts
                .received
                .iter()
                .filter(|received| received.event_id == hook.event_id);
            let accepted = came.clone().filter(|received| received.accepted).count();
            if hook.status != "delivered" {
                let what = format!("webhook {} is {}", hook.event_id, hook.status);
                self.found(Broken::Stuck, &row.id, what);
            }
            if accepted == 0 {
                let what = format!("webhook {} ({}) never came", hook.event_id, hook.event_type);
                self.found(Broken::Lost, &row.id, what);
            }
            if came.clone().any(|received| received.body != hook.body) {
                let what = format!("webhook {} came with other bytes", hook.event_id);
                self.found(Broken::Untrue, &row.id, what);
            }
            if !facts
                .events
                .iter()
                .any(|event| event.event_id == hook.event_id)
            {
                let what = format!("webhook {} has no event", hook.event_id);
                self.found(Broken::Untrue, &row.id, what);
            }
        }
    }

    pub(super) fn received(&mut self) {
        let facts = self.facts;
        let known: BTreeSet<&str> = facts
            .hooks
            .iter()
            .map(|hook| hook.event_id.as_str())
            .collect();
        for received in &facts.received {
            if !known.contains(received.event_id.as_str()) {
                let about = received.event_id.clone();
                self.found(Broken::Untrue, &about, "a webhook came that nobody owes");
            }
        }
    }
}
