//! How often one caller may call: a bucket each, full at the start, filled evenly.

use std::{collections::HashMap, net::IpAddr, num::NonZeroU32, time::Duration};

use axum::http::{HeaderValue, header};
use flydocs_contract::ErrorCode;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::problem::Refusal;

const MINUTE: Duration = Duration::from_mins(1);
/// With so many callers those whose bucket is full again are forgotten.
const MANY: usize = 10_000;

/// Who calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Caller {
    /// Whoever has this key.
    Key([u8; 32]),
    /// Whoever calls from this address without one.
    Address(IpAddr),
    /// Whoever calls without a socket.
    Unknown,
}

/// The address at the other end of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub IpAddr);

/// The buckets.
#[derive(Debug)]
pub(crate) struct Rates {
    per_minute: NonZeroU32,
    /// When each caller's bucket will be full again.
    full_at: Mutex<HashMap<Caller, Instant>>,
}

impl Rates {
    pub(crate) fn new(per_minute: NonZeroU32) -> Self {
        Self {
            per_minute,
            full_at: Mutex::new(HashMap::new()),
        }
    }

    /// Takes one call out of the caller's bucket, or refuses it.
    pub(crate) fn admit(&self, caller: Caller) -> Result<(), Refusal> {
        self.take(caller, Instant::now())
            .map_err(|wait| refusal(self.per_minute, wait))
    }

    /// The error is how long to wait for the next.
    fn take(&self, caller: Caller, now: Instant) -> Result<(), Duration> {
        let each = MINUTE / self.per_minute.get();
        let mut full_at = self.full_at.lock();
        if full_at.len() >= MANY {
            full_at.retain(|_, at| *at > now);
        }
        let slot = full_at.entry(caller).or_insert(now);
        let next = (*slot).max(now) + each;
        let over = next.duration_since(now).saturating_sub(MINUTE);
        if over.is_zero() {
            *slot = next;
            Ok(())
        } else {
            Err(over)
        }
    }
}

fn refusal(per_minute: NonZeroU32, wait: Duration) -> Refusal {
    metrics::counter!("flydocs_api_rate_limited_total").increment(1);
    let seconds = wait.as_secs_f64().ceil().max(1.0) as u64;
    Refusal::new(
        ErrorCode::TooManyRequests,
        format!(
            "this caller may call {per_minute} times a minute (FLYDOCS_RATE_LIMIT_PER_MINUTE); ask again in {seconds} s"
        ),
    )
    .with("setting", "FLYDOCS_RATE_LIMIT_PER_MINUTE")
    .with("limit", per_minute.get())
    .header(header::RETRY_AFTER, HeaderValue::from(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_empties_and_fills_evenly_and_callers_do_not_share_one() {
        let rates = Rates::new(NonZeroU32::new(60).unwrap());
        let now = Instant::now();
        let one = Caller::Key([1; 32]);
        for _ in 0..60 {
            assert_eq!(rates.take(one, now), Ok(()));
        }
        assert_eq!(rates.take(one, now), Err(Duration::from_secs(1)));
        assert_eq!(rates.take(Caller::Unknown, now), Ok(()));
        let later = now + Duration::from_secs(2);
        assert_eq!(rates.take(one, later), Ok(()));
        assert_eq!(rates.take(one, later), Ok(()));
        assert_eq!(rates.take(one, later), Err(Duration::from_secs(1)));
        let much_later = later + Duration::from_hours(1);
        for _ in 0..60 {
            assert_eq!(rates.take(one, much_later), Ok(()));
        }
        assert!(rates.take(one, much_later).is_err());
    }

    #[test]
    fn callers_whose_bucket_is_full_again_are_forgotten() {
        let rates = Rates::new(NonZeroU32::new(1).unwrap());
        let now = Instant::now();
        for n in 0..MANY as u32 {
            rates
                .take(Caller::Address(IpAddr::from(n.to_be_bytes())), now)
                .unwrap();
        }
        rates.take(Caller::Unknown, now + 2 * MINUTE).unwrap();
        assert_eq!(rates.full_at.lock().len(), 1);
    }
}
