//! The retry policy: what becomes of an attempt that failed. Typed errors decide, never message text.

use std::time::Duration;

use flydocs_contract::{ErrorCode, status::ExtractionError};

use crate::{options::Options, ports::Chance};

/// Why an attempt gave no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The pipeline said no.
    #[error("{0}")]
    Pipeline(flydocs_pipeline::Error),
    /// The store did not give what the attempt needs.
    #[error("the bytes of {filename} could not be read from the store")]
    Read {
        filename: String,
        #[source]
        source: flydocs_store::Error,
    },
    /// The bytes of a file are gone.
    #[error("the bytes of {filename} are not stored any more")]
    BytesMissing { filename: String },
    /// The stored result, or the new one, is not what this version writes.
    #[error("the result cannot be {verb}")]
    Result {
        verb: &'static str,
        #[source]
        source: serde_json::Error,
    },
    /// The attempt took longer than its ceiling.
    #[error("not finished within {} s ({setting})", ceiling.as_secs())]
    Ceiling {
        ceiling: Duration,
        setting: &'static str,
    },
    /// The work panicked.
    #[error("the work stopped unexpectedly")]
    Panicked,
}

/// What becomes of an extraction, or of its boxes, after an attempt without a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Disposition {
    /// Again, after a while.
    Retry(ExtractionError),
    /// It would end the same way.
    Fail(ExtractionError),
}

impl Failure {
    pub(crate) const fn code(&self) -> ErrorCode {
        match self {
            Self::Pipeline(flydocs_pipeline::Error::Cancelled)
            | Self::Result { .. }
            | Self::Panicked => ErrorCode::Internal,
            Self::Pipeline(error) => error.code(),
            Self::Read { .. } => ErrorCode::Unavailable,
            Self::BytesMissing { .. } => ErrorCode::BlobMissing,
            Self::Ceiling { .. } => ErrorCode::ExtractionTimeout,
        }
    }

    const fn is_permanent(&self) -> bool {
        match self {
            Self::Pipeline(error) => error.is_permanent(),
            Self::BytesMissing { .. } | Self::Result { .. } => true,
            Self::Read { .. } | Self::Ceiling { .. } | Self::Panicked => false,
        }
    }

    /// When a provider wants to be asked again.
    pub(crate) const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Pipeline(error) => error.retry_after(),
            _ => None,
        }
    }

    /// What becomes of it when `attempts` of `max_attempts` are used up.
    pub(crate) fn disposition(&self, attempts: u32, max_attempts: u32) -> Disposition {
        let error = ExtractionError {
            code: self.code().as_str().to_owned(),
            message: self.to_string(),
        };
        if self.is_permanent() || attempts >= max_attempts {
            Disposition::Fail(error)
        } else {
            Disposition::Retry(error)
        }
    }
}

/// How long a row stays away from workers after attempt number `attempt`, from 1; as long as a provider asked for, when
/// that is longer and no longer than the longest wait.
pub(crate) fn retry_delay(
    options: &Options,
    attempt: u32,
    asked: Option<Duration>,
    chance: &dyn Chance,
) -> Duration {
    let doubled = options
        .retry_base_delay
        .saturating_mul(1_u32 << attempt.saturating_sub(1).min(20));
    let delay = doubled
        .max(asked.unwrap_or_default())
        .min(options.retry_max_delay);
    delay + delay.mul_f64(0.2 * chance.share().clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Always(f64);

    impl Chance for Always {
        fn share(&self) -> f64 {
            self.0
        }
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "whole seconds")]
    fn the_delay_doubles_up_to_its_cap_with_up_to_a_fifth_on_top() {
        let options = Options::default();
        let asking = |attempt, asked, share| {
            retry_delay(&options, attempt, asked, &Always(share)).as_secs_f64()
        };
        let seconds = |attempt, share| asking(attempt, None, share);
        assert_eq!(
            [1, 2, 3, 7, 100].map(|n| seconds(n, 0.0)),
            [5.0, 10.0, 20.0, 300.0, 300.0]
        );
        assert!((seconds(1, 1.0) - 6.0).abs() < 1e-9);
        assert!((seconds(9, 0.5) - 330.0).abs() < 1e-9);
        assert_eq!(asking(1, Some(Duration::from_secs(42)), 0.0), 42.0);
        assert_eq!(asking(4, Some(Duration::from_secs(2)), 0.0), 40.0);
        assert_eq!(asking(1, Some(Duration::from_hours(1)), 0.0), 300.0);
    }

    #[test]
    fn the_kind_of_failure_decides_and_then_the_attempts() {
        use flydocs_pipeline::Error as Pipeline;
        let refused = || flydocs_pages::Error::Refused {
            code: ErrorCode::EncryptedPdf,
            filename: "a.pdf".to_owned(),
            detail: "a.pdf opens only with a password".to_owned(),
            facts: flydocs_contract::JsonObject::new(),
        };
        let transient = || flydocs_engines::Error::Transient {
            model: "x:y".to_owned(),
            detail: "429".to_owned(),
            retry_after: Some(Duration::from_secs(7)),
        };
        for (failure, code, retries) in [
            (
                Failure::Pipeline(Pipeline::Load {
                    source: Box::new(refused()),
                }),
                "encrypted_pdf",
                false,
            ),
            (
                Failure::Pipeline(Pipeline::Model {
                    source: transient(),
                }),
                "engine_error",
                true,
            ),
            (
                Failure::Pipeline(Pipeline::Internal { node: "load" }),
                "internal",
                true,
            ),
            (Failure::Pipeline(Pipeline::Cancelled), "internal", true),
            (
                Failure::BytesMissing {
                    filename: "a.pdf".to_owned(),
                },
                "blob_missing",
                false,
            ),
            (Failure::Panicked, "internal", true),
            (
                Failure::Ceiling {
                    ceiling: Duration::from_secs(9),
                    setting: "S",
                },
                "extraction_timeout",
                true,
            ),
        ] {
            let first = failure.disposition(1, 3);
            assert_eq!(matches!(first, Disposition::Retry(_)), retries, "{failure}");
            let asked = (code == "engine_error").then_some(Duration::from_secs(7));
            assert_eq!(failure.retry_after(), asked, "{failure}");
            let (Disposition::Retry(error) | Disposition::Fail(error)) = first;
            assert_eq!(
                (error.code.as_str(), error.message),
                (code, failure.to_string())
            );
            assert!(
                matches!(failure.disposition(3, 3), Disposition::Fail(_)),
                "{failure}"
            );
        }
    }
}
