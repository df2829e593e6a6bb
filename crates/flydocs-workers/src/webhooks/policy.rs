//! What becomes of a delivery after an attempt: quick attempts first, slow ones for a day, then no more.

use std::time::Duration;

use flydocs_store::{AfterAttempt, DueDelivery};

use crate::{options::WebhookOptions, ports::Chance};

/// The longest a quick attempt is put off.
const QUICK_CAP: Duration = Duration::from_secs(30);

/// What an attempt says about the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The receiver took it.
    Taken,
    /// It may be taken later; the receiver may have said when.
    Later(Option<Duration>),
    /// It will never be taken.
    Never,
}

/// What a status says.
pub(super) const fn of_status(status: u16, retry_after: Option<Duration>) -> Verdict {
    match status {
        200..=299 => Verdict::Taken,
        429 | 503 => Verdict::Later(retry_after),
        408 | 500..=599 => Verdict::Later(None),
        _ => Verdict::Never,
    }
}

pub(super) fn after(
    verdict: &Verdict,
    delivery: &DueDelivery,
    options: &WebhookOptions,
    chance: &dyn Chance,
) -> AfterAttempt {
    let asked = match verdict {
        Verdict::Taken => return AfterAttempt::Delivered,
        Verdict::Never => return AfterAttempt::GiveUp,
        Verdict::Later(asked) => asked.unwrap_or_default(),
    };
    let attempt = delivery.attempt_of_round.max(1);
    let delay = if attempt < options.max_attempts {
        let doubled = Duration::from_secs(1 << (attempt - 1).min(10));
        let jitter = Duration::from_secs_f64(chance.share().clamp(0.0, 1.0));
        (doubled + jitter).min(QUICK_CAP)
    } else {
        options.slow_interval
    };
    let delay = delay.max(asked);
    if delivery.tried_for + delay > options.give_up_after {
        AfterAttempt::GiveUp
    } else {
        AfterAttempt::RetryIn(delay)
    }
}

#[cfg(test)]
mod tests {
    use flydocs_contract::{EventType, ExtractionId};
    use flydocs_store::{Correlation, DeliveryToken};

    use super::*;

    #[derive(Debug)]
    struct Half;

    impl Chance for Half {
        fn share(&self) -> f64 {
            0.5
        }
    }

    fn due(attempt_of_round: u32, tried_for: Duration) -> DueDelivery {
        DueDelivery {
            token: DeliveryToken {
                event_id: uuid::Uuid::nil(),
                attempt: attempt_of_round,
                fence: 1,
            },
            extraction_id: ExtractionId::from_parts(1, 1),
            event_type: EventType::Completed,
            url: "https://example.com".to_owned(),
            body: Vec::new(),
            correlation: Correlation::default(),
            attempt_of_round,
            tried_for,
        }
    }

    #[test]
    fn attempts_are_quick_then_slow_then_over() {
        let options = WebhookOptions::default();
        let hour = Duration::from_hours(1);
        let seconds = |attempt, tried_for, asked: Option<u64>| {
            let asked = Verdict::Later(asked.map(Duration::from_secs));
            match after(&asked, &due(attempt, tried_for), &options, &Half) {
                AfterAttempt::RetryIn(delay) => Some(delay.as_secs_f64()),
                AfterAttempt::GiveUp | AfterAttempt::Delivered => None,
            }
        };
        assert_eq!(seconds(1, Duration::ZERO, None), Some(1.5));
        assert_eq!(seconds(2, Duration::ZERO, None), Some(2.5));
        assert_eq!(seconds(4, Duration::ZERO, None), Some(8.5));
        assert_eq!(seconds(5, hour, None), Some(900.0));
        assert_eq!(seconds(90, 23 * hour, None), Some(900.0));
        assert_eq!(seconds(91, 24 * hour, None), None);
        // what the receiver asked for, when it is longer
        assert_eq!(seconds(1, Duration::ZERO, Some(120)), Some(120.0));
        assert_eq!(seconds(5, hour, Some(10)), Some(900.0));
        assert_eq!(seconds(1, Duration::ZERO, Some(90_000)), None);
    }

    #[test]
    fn the_status_decides() {
        for (status, wanted) in [
            (200, Verdict::Taken),
            (204, Verdict::Taken),
            (301, Verdict::Never),
            (307, Verdict::Never),
            (400, Verdict::Never),
            (404, Verdict::Never),
            (408, Verdict::Later(None)),
            (410, Verdict::Never),
            (429, Verdict::Later(Some(Duration::from_secs(7)))),
            (500, Verdict::Later(None)),
            (503, Verdict::Later(Some(Duration::from_secs(7)))),
            (599, Verdict::Later(None)),
        ] {
            assert_eq!(
                of_status(status, Some(Duration::from_secs(7))),
                wanted,
                "{status}"
            );
        }
    }
}
