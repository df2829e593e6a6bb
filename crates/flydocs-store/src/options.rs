//! The settings the store reads, with their defaults; contradictions are refused at start.

use std::time::Duration;

use flydocs_contract::event::{BBOX_REFINE_TOPIC, JOBS_TOPIC};

use crate::error::{Error, Result};

/// The settings of the store. Field docs name the environment variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// `FLYDOCS_EXTRACTION_RUN_LEASE_S`: a run older than this lost its claim.
    pub extraction_run_lease: Duration,
    /// `FLYDOCS_BBOX_REFINEMENT_LEASE_S`: the same for the bbox leg.
    pub bbox_refinement_lease: Duration,
    /// `FLYDOCS_ASYNC_TIMEOUT_S`: the ceiling of one run, which the worker keeps.
    pub async_timeout: Duration,
    /// `FLYDOCS_BBOX_REFINE_TIMEOUT_S`: the ceiling of one bbox leg, which the bbox worker keeps.
    pub bbox_refine_timeout: Duration,
    /// `FLYDOCS_HEARTBEAT_INTERVAL_S`: how often a worker says that it is alive.
    pub heartbeat_interval: Duration,
    /// `FLYDOCS_HEARTBEAT_TIMEOUT_S`: a claim that was silent for longer is lost.
    pub heartbeat_timeout: Duration,
    /// `FLYDOCS_JOB_MAX_ATTEMPTS`: a lost run that used them all fails with `worker_lost`.
    pub job_max_attempts: u32,
    /// `FLYDOCS_BBOX_REFINE_MAX_ATTEMPTS`: the same for the bbox leg.
    pub bbox_refine_max_attempts: u32,
    /// `FLYDOCS_QUEUED_ORPHAN_THRESHOLD_S`: a due row waits this long before a reaper looks at it.
    pub queued_orphan_threshold: Duration,
    /// `FLYDOCS_POST_PROCESSING_PENDING_ORPHAN_THRESHOLD_S`: the same for a pending bbox leg.
    pub post_processing_pending_orphan_threshold: Duration,
    /// `FLYDOCS_MAX_QUEUED`: more queued rows than this and a submission is refused; `None` = no limit.
    pub max_queued: Option<u64>,
    /// `FLYDOCS_JOBS_TOPIC`.
    pub jobs_topic: String,
    /// `FLYDOCS_BBOX_REFINE_TOPIC`.
    pub bbox_refine_topic: String,
    /// `FLYDOCS_BLOB_URL`: `db:` or `file:///dir`.
    pub blob_url: String,
    /// `FLYDOCS_RETENTION_DAYS`: finished extractions older than this are deleted; 0 keeps them.
    pub retention_days: u32,
    /// How long bytes may lie in the blob store before the submission that refers to them.
    pub blob_grace: Duration,
    /// How many connections read (and, on PostgreSQL, write) at a time.
    pub max_connections: u32,
    /// How long a statement waits for a connection, or for another process's write.
    pub acquire_timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            extraction_run_lease: Duration::from_mins(21),
            bbox_refinement_lease: Duration::from_mins(11),
            async_timeout: Duration::from_mins(20),
            bbox_refine_timeout: Duration::from_mins(10),
            heartbeat_interval: Duration::from_secs(5),
            heartbeat_timeout: Duration::from_secs(30),
            job_max_attempts: 3,
            bbox_refine_max_attempts: 3,
            queued_orphan_threshold: Duration::from_mins(10),
            post_processing_pending_orphan_threshold: Duration::from_mins(22),
            max_queued: None,
            jobs_topic: JOBS_TOPIC.to_owned(),
            bbox_refine_topic: BBOX_REFINE_TOPIC.to_owned(),
            blob_url: "db:".to_owned(),
            retention_days: 30,
            blob_grace: Duration::from_hours(1),
            max_connections: 8,
            acquire_timeout: Duration::from_secs(10),
        }
    }
}

impl Options {
    /// Refuses settings that contradict each other, with a sentence that names both.
    pub fn check(&self) -> Result<()> {
        longer(
            ("FLYDOCS_EXTRACTION_RUN_LEASE_S", self.extraction_run_lease),
            ("FLYDOCS_ASYNC_TIMEOUT_S", self.async_timeout),
            "else a run that is still allowed to work would be taken from its worker",
        )?;
        longer(
            (
                "FLYDOCS_BBOX_REFINEMENT_LEASE_S",
                self.bbox_refinement_lease,
            ),
            ("FLYDOCS_BBOX_REFINE_TIMEOUT_S", self.bbox_refine_timeout),
            "else a refinement that is still allowed to work would be taken from its worker",
        )?;
        longer(
            ("FLYDOCS_HEARTBEAT_TIMEOUT_S", self.heartbeat_timeout),
            ("FLYDOCS_HEARTBEAT_INTERVAL_S", self.heartbeat_interval),
            "else a worker would lose its claim between two beats",
        )?;
        for (setting, value) in [
            ("FLYDOCS_JOB_MAX_ATTEMPTS", self.job_max_attempts),
            (
                "FLYDOCS_BBOX_REFINE_MAX_ATTEMPTS",
                self.bbox_refine_max_attempts,
            ),
        ] {
            if value == 0 {
                return Err(Error::Settings(format!(
                    "{setting} is 0; at least 1 is needed"
                )));
            }
        }
        if self.jobs_topic == self.bbox_refine_topic {
            return Err(Error::Settings(format!(
                "FLYDOCS_JOBS_TOPIC and FLYDOCS_BBOX_REFINE_TOPIC are both {:?}; they must differ, \
                 else each kind of worker would be handed the other's events",
                self.jobs_topic
            )));
        }
        Ok(())
    }
}

fn longer(
    (long, long_value): (&str, Duration),
    (short, short_value): (&str, Duration),
    why: &str,
) -> Result<()> {
    if long_value > short_value {
        return Ok(());
    }
    Err(Error::Settings(format!(
        "{long} ({} s) must be longer than {short} ({} s), {why}",
        long_value.as_secs_f64(),
        short_value.as_secs_f64(),
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_agree_with_each_other() {
        Options::default().check().unwrap();
    }

    #[test]
    fn a_lease_that_is_not_longer_than_its_ceiling_is_refused_and_both_are_named() {
        let cases = [
            (
                Options {
                    extraction_run_lease: Duration::from_mins(20),
                    ..Options::default()
                },
                ["FLYDOCS_EXTRACTION_RUN_LEASE_S", "FLYDOCS_ASYNC_TIMEOUT_S"],
            ),
            (
                Options {
                    bbox_refinement_lease: Duration::from_secs(1),
                    ..Options::default()
                },
                [
                    "FLYDOCS_BBOX_REFINEMENT_LEASE_S",
                    "FLYDOCS_BBOX_REFINE_TIMEOUT_S",
                ],
            ),
            (
                Options {
                    heartbeat_timeout: Duration::from_secs(5),
                    ..Options::default()
                },
                [
                    "FLYDOCS_HEARTBEAT_TIMEOUT_S",
                    "FLYDOCS_HEARTBEAT_INTERVAL_S",
                ],
            ),
        ];
        for (options, names) in cases {
            let said = options.check().unwrap_err().to_string();
            assert!(names.iter().all(|name| said.contains(name)), "{said}");
        }
    }

    #[test]
    fn no_attempts_and_one_topic_for_both_are_refused() {
        for options in [
            Options {
                job_max_attempts: 0,
                ..Options::default()
            },
            Options {
                bbox_refine_max_attempts: 0,
                ..Options::default()
            },
            Options {
                jobs_topic: "one".into(),
                bbox_refine_topic: "one".into(),
                ..Options::default()
            },
        ] {
            assert!(options.check().is_err());
        }
    }
}
