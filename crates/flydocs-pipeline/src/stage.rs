//! Runs one stage: trace entry, ceiling, and the isolation that keeps its failure out of the stages after it.

use std::{panic::AssertUnwindSafe, time::Duration};

use flydocs_contract::{
    ErrorCode, Timestamp,
    result::{TraceEntry, TraceStatus},
};
use futures::{FutureExt, future::BoxFuture};
use tracing::Instrument;

use crate::{
    error::{Error, Result},
    failure::Failure,
    options::Options,
    run::Run,
    scope::Scope,
};

/// How long after its ceiling a stage is given to hand in what its units did.
const HAND_IN: Duration = Duration::from_secs(1);

/// The work of a stage. It fails only with what ends the whole run.
pub(crate) type Work = for<'a> fn(&'a mut Run, &'a Scope) -> BoxFuture<'a, Result<()>>;

/// One stage as data.
pub(crate) struct Stage {
    /// The name in trace and errors.
    pub(crate) node: &'static str,
    /// The setting that holds its ceiling, when an operator can set it.
    pub(crate) setting: Option<&'static str>,
    /// Its ceiling.
    pub(crate) ceiling: fn(&Options) -> Duration,
    /// Whether it has anything to do here.
    pub(crate) applies: fn(&Run) -> bool,
    /// What it does.
    pub(crate) work: Work,
}

impl Stage {
    /// Runs or skips the stage; either way the trace says so.
    pub(crate) async fn pass(&self, run: &mut Run) -> Result<()> {
        if run.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let started_at = run.services.clock.now();
        if !(self.applies)(run) {
            run.close(trace_entry(
                self.node,
                started_at,
                started_at,
                TraceStatus::Skipped,
            ));
            return Ok(());
        }
        run.progress.stage_started(self.node);
        let ceiling = (self.ceiling)(&run.services.options);
        let scope = Scope::open(
            self.node,
            ceiling,
            &run.services,
            &run.progress,
            &run.cancel,
        );
        let span = tracing::info_span!("stage", stage.name = self.node);
        let work = AssertUnwindSafe((self.work)(run, &scope)).catch_unwind();
        let ended = tokio::time::timeout_at(scope.deadline + HAND_IN, work)
            .instrument(span)
            .await;
        match ended {
            Ok(Ok(done)) => done?,
            Ok(Err(_panic)) if self.node == crate::stages::LOAD => {
                return Err(Error::Internal { node: self.node });
            }
            Ok(Err(_panic)) => run.ledger.note(
                self.node,
                Failure::transient(
                    ErrorCode::Internal,
                    format!("{} stopped unexpectedly", self.node),
                ),
            ),
            Err(_elapsed) => self.note_timeout(run, ceiling, None),
        }
        if scope.late() > 0 {
            self.note_timeout(run, ceiling, Some(scope.late()));
        }
        let status = if run.ledger.has_failures_of(self.node) {
            TraceStatus::Failed
        } else {
            TraceStatus::Success
        };
        run.close(trace_entry(
            self.node,
            started_at,
            run.services.clock.now(),
            status,
        ));
        Ok(())
    }

    fn note_timeout(&self, run: &mut Run, ceiling: Duration, late: Option<usize>) {
        let seconds = ceiling.as_secs_f64();
        let mut message = format!("{} ran into its ceiling of {seconds} s", self.node);
        if let Some(late) = late {
            let parts = if late == 1 { "part" } else { "parts" };
            message.push_str(&format!("; {late} {parts} of it did not finish"));
        }
        if let Some(setting) = self.setting {
            message.push_str(&format!(" ({setting})"));
        }
        run.ledger.note(
            self.node,
            Failure::transient(ErrorCode::StageTimeout, message),
        );
    }
}

/// A trace entry with its latency.
pub(crate) fn trace_entry(
    node: &'static str,
    started_at: Timestamp,
    completed_at: Timestamp,
    status: TraceStatus,
) -> TraceEntry {
    TraceEntry {
        node: node.to_owned(),
        started_at,
        completed_at,
        latency_ms: latency_ms(started_at, completed_at),
        status,
    }
}

/// Milliseconds between two times, two decimals, never negative.
pub(crate) fn latency_ms(from: Timestamp, to: Timestamp) -> f64 {
    let micros = (to - from).num_microseconds().unwrap_or(i64::MAX).max(0);
    two_decimals(micros as f64 / 1_000.0)
}

/// Rounded to two decimals.
pub(crate) fn two_decimals(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}
