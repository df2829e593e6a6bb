//! The log of a row read from its beginning: who had the claim, who lost it, and whether that was right.

use super::{
    Auditor, Broken, Recovery,
    facts::{Facts, Moment, Row},
    is_terminal,
};

/// A settled row keeps no more claims than this without a death that explains them.
const SLACK: f64 = 0.25;

/// What the log of a row tells.
#[derive(Debug, Default)]
pub(super) struct Story {
    /// Claims, of the run or of the leg, whose worker did not settle them.
    pub(super) lost_claims: i64,
    pub(super) recoveries: Vec<Recovery>,
}

/// Who has the row, by the log.
#[derive(Debug, Clone)]
struct Holder {
    worker: String,
    attempts: i64,
    at: f64,
}

impl Auditor<'_> {
    /// The log from its beginning: each settlement by the one who has the claim, each claim of what is free or lost.
    pub(super) fn story(&mut self, row: &Row, log: &[&Moment]) -> Story {
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
