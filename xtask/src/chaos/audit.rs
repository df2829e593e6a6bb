//! The audit: what callers were told, against rows, logs, events, results and webhooks. Pure, so that it can be
//! shown doctored facts: an audit that cannot fail proves nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A settled row keeps no more claims than this without a death that explains them.
pub(super) const SLACK: f64 = 0.25;

/// What a caller submitted and was told.
#[derive(Debug, Clone)]
pub(super) struct Submission {
    pub(super) nonce: String,
    pub(super) wanted: Wanted,
    pub(super) key: Option<String>,
    pub(super) boxes: bool,
    pub(super) callback: bool,
    /// The ids of the 202 answers.
    pub(super) accepted: Vec<String>,
    /// Calls without an answer: they may have been accepted or not.
    pub(super) unsure: u32,
    /// Its caller asked to cancel it.
    pub(super) cancelled: bool,
}

/// How a document is to end when nobody cancels it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Succeeded.
    Result,
    /// Failed for its own reason.
    Refusal,
    /// Failed because every attempt lost its worker.
    WorkerLost,
}

/// A row of `extractions`.
#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    pub(super) id: String,
    pub(super) nonce: String,
    pub(super) status: String,
    pub(super) attempts: i64,
    pub(super) error: Option<String>,
    pub(super) results: i64,
    pub(super) leg: Option<String>,
    pub(super) leg_error: Option<String>,
}

/// A line of `extraction_history`.
#[derive(Debug, Clone, Default)]
pub(super) struct Moment {
    pub(super) id: String,
    pub(super) at: f64,
    pub(super) method: String,
    pub(super) status: String,
    pub(super) leg: Option<String>,
    pub(super) attempts: i64,
    pub(super) worker: Option<String>,
}

/// An event of the outbox.
#[expect(clippy::struct_field_names, reason = "the columns of the outbox")]
#[derive(Debug, Clone, Default)]
pub(super) struct Event {
    pub(super) event_id: String,
    pub(super) id: String,
    pub(super) event_type: String,
    /// What its payload says of the row.
    pub(super) status: String,
    pub(super) leg: Option<String>,
}

/// A delivery that no group has settled, or a letter that is dead.
#[derive(Debug, Clone, Default)]
pub(super) struct Owed {
    pub(super) group: String,
    pub(super) event_type: String,
    pub(super) id: String,
    pub(super) why: String,
}

/// A row of `webhook_deliveries`.
#[derive(Debug, Clone, Default)]
pub(super) struct Hook {
    pub(super) event_id: String,
    pub(super) id: String,
    pub(super) event_type: String,
    pub(super) status: String,
    pub(super) body: String,
}

/// A webhook as it came in.
#[derive(Debug, Clone, Default)]
pub(super) struct Received {
    pub(super) event_id: String,
    pub(super) body: String,
    /// Answered with 2xx.
    pub(super) accepted: bool,
}

/// The end of a process: its number and when.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ended {
    pub(super) pid: u32,
    pub(super) at: f64,
}

/// Everything that is looked at.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    pub(super) submissions: Vec<Submission>,
    pub(super) rows: Vec<Row>,
    pub(super) moments: Vec<Moment>,
    pub(super) events: Vec<Event>,
    pub(super) undelivered: Vec<Owed>,
    pub(super) dead_letters: Vec<Owed>,
    pub(super) hooks: Vec<Hook>,
    pub(super) received: Vec<Received>,
    pub(super) ended: Vec<Ended>,
    /// Worker sessions that the database counts as dead, and since when.
    pub(super) buried: HashMap<String, f64>,
    /// When the database was away.
    pub(super) outages: Vec<(f64, f64)>,
    /// After so many seconds without a word a claim is lost.
    pub(super) silence: f64,
}

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

/// What the log of a row tells.
#[derive(Debug, Default)]
struct Story {
    /// Claims, of the run or of the leg, whose worker did not settle them.
    lost_claims: i64,
    recoveries: Vec<Recovery>,
}

/// From the death of a worker to the next claim of what it had.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Recovery {
    pub(super) seconds: f64,
    /// The database was away meanwhile.
    pub(super) over_outage: bool,
}

/// Who has the row, by the log.
#[derive(Debug, Clone)]
struct Holder {
    worker: String,
    attempts: i64,
    at: f64,
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

    /// Every 202 has its row; a key has one row.
    fn submissions(&mut self) {
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

    /// The log from its beginning: each settlement by the one who has the claim, each claim of what is free or lost.
    fn story(&mut self, row: &Row, log: &[&Moment]) -> Story {
        let mut story = Story::default();
        let mut run: Option<Holder> = None;
        let mut leg: Option<Holder> = None;
        let mut ends = 0;
        for moment in log {
            let of_leg = moment.method.contains("bbox_refinement");
            let holder = if of_leg { &mut leg } else { &mut run };
            let claims = matches!(
                moment.method.as_str(),
                "mark_running" | "mark_bbox_refinement_running"
            );
            if claims {
                if let Some(held) = holder.take() {
                    story.lost_claims += 1;
                    if let Some(death) = death_of(self.facts, &held)
                        && death <= moment.at
                    {
                        story.recoveries.push(Recovery {
                            seconds: moment.at - death,
                            over_outage: self
                                .facts
                                .outages
                                .iter()
                                .any(|(from, to)| *from <= moment.at && death <= *to),
                        });
                    }
                    if let Some(why) = self.not_lost(&held, moment.at) {
                        self.found(Broken::Twice, &row.id, why);
                    }
                }
                let running = if of_leg {
                    moment.leg.as_deref() == Some("running")
                } else {
                    moment.status == "running"
                };
                if running {
                    let holder = if of_leg { &mut leg } else { &mut run };
                    *holder = Some(Holder {
                        worker: moment.worker.clone().unwrap_or_default(),
                        attempts: moment.attempts,
                        at: moment.at,
                    });
                }
            } else if let Some(back) = settles(&moment.method) {
                match holder.take() {
                    None => {
                        let what =
                            format!("{} by {:?} without a claim", moment.method, moment.worker);
                        self.found(Broken::Twice, &row.id, what);
                    }
                    Some(held) => {
                        // A settlement that met its caller's wish to cancel gives no attempt back.
                        let back = if moment.status == "cancelled" {
                            0
                        } else {
                            back
                        };
                        if held.attempts - back != moment.attempts {
                            let what = format!(
                                "{} of attempt {} while attempt {} has the claim",
                                moment.method, moment.attempts, held.attempts
                            );
                            self.found(Broken::Twice, &row.id, what);
                        }
                        if let Some(death) = death_of(self.facts, &held)
                            && death + SLACK < moment.at
                        {
                            let what = format!(
                                "{} {:.1} s after its worker {} had died",
                                moment.method,
                                moment.at - death,
                                held.worker
                            );
                            self.found(Broken::Twice, &row.id, what);
                        }
                    }
                }
            }
            ends += usize::from(!of_leg && is_terminal(&moment.status));
        }
        if ends > 1 {
            let what = format!("its run ended {ends} times");
            self.found(Broken::Twice, &row.id, what);
        }
        match log.last() {
            None => self.found(Broken::Lost, &row.id, "its log is empty"),
            Some(last) if last.status != row.status || last.leg != row.leg => {
                let what = format!(
                    "the row says {} {:?}, its log {} {:?}",
                    row.status, row.leg, last.status, last.leg
                );
                self.found(Broken::Untrue, &row.id, what);
            }
            Some(_) => {}
        }
        story
    }

    /// Why this claim was not to be taken away at that time.
    fn not_lost(&self, held: &Holder, at: f64) -> Option<String> {
        let died = death_of(self.facts, held).is_some_and(|death| death <= at + SLACK);
        let buried = self
            .facts
            .buried
            .get(&held.worker)
            .is_some_and(|buried| *buried <= at + SLACK);
        let silent = at - held.at >= self.facts.silence;
        (!died && !buried && !silent).then(|| {
            format!(
                "claimed {:.1} s after {}, which lived, had claimed it",
                at - held.at,
                held.worker
            )
        })
    }

    /// The row by itself.
    fn state(&mut self, row: &Row) {
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
    fn announcements(&mut self, row: &Row, events: &[&Event]) {
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
    fn ending(&mut self, row: &Row, submission: &Submission, story: &Story, log: &[&Moment]) {
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

    /// Each ending was sent, and received.
    fn webhooks(&mut self, row: &Row, submission: &Submission) {
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

    fn received(&mut self) {
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

/// When the process behind a claim ended.
fn death_of(facts: &Facts, held: &Holder) -> Option<f64> {
    let pid = pid_of(&held.worker)?;
    facts
        .ended
        .iter()
        .filter(|ended| ended.pid == pid && ended.at >= held.at - SLACK)
        .map(|ended| ended.at)
        .min_by(f64::total_cmp)
}

/// `worker@host:4711-nonce` -> 4711
fn pid_of(instance: &str) -> Option<u32> {
    let (_, number) = instance.rsplit_once(':')?;
    number.split('-').next()?.parse().ok()
}

/// What a settlement takes off the attempts; `None` for what is none.
fn settles(method: &str) -> Option<i64> {
    match method {
        "mark_succeeded"
        | "mark_failed"
        | "requeue_for_retry"
        | "settle_cancelled"
        | "mark_bbox_refinement_succeeded"
        | "mark_bbox_refinement_failed"
        | "requeue_bbox_refinement" => Some(0),
        "give_back" | "give_back_bbox_refinement" => Some(1),
        _ => None,
    }
}

fn is_terminal(status: &str) -> bool {
    matches!(status, "succeeded" | "failed" | "cancelled")
}
