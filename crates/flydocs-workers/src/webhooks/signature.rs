//! Signatures of a delivery: flydocs's own header and those of Standard Webhooks.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, Mac as _};
use sha2::Sha256;
use subtle::ConstantTimeEq as _;

use crate::options::Secret;

/// A secret of Standard Webhooks is base64 behind this.
const STANDARD_PREFIX: &str = "whsec_";

/// The value of `X-Flydocs-Signature`: over the body, with the secret as it is written.
pub(super) fn own(secret: &Secret, body: &[u8]) -> String {
    let digest = hmac(secret.expose().as_bytes(), &[body]);
    format!("sha256={}", hex::encode(digest))
}

/// The value of `webhook-signature`: over id, time and body. A `whsec_` secret is decoded first.
pub(super) fn standard(secret: &Secret, id: &str, timestamp: i64, body: &[u8]) -> String {
    let text = secret.expose();
    let decoded = text
        .strip_prefix(STANDARD_PREFIX)
        .and_then(|encoded| STANDARD.decode(encoded).ok());
    let key = decoded.as_deref().unwrap_or(text.as_bytes());
    let head = format!("{id}.{timestamp}.");
    let digest = hmac(key, &[head.as_bytes(), body]);
    format!("v1,{}", STANDARD.encode(digest))
}

/// What a receiver was sent beside the body.
#[derive(Debug, Clone, Copy, Default)]
pub struct SignedHeaders<'a> {
    /// `X-Flydocs-Signature`.
    pub own: Option<&'a str>,
    /// `webhook-id`.
    pub id: Option<&'a str>,
    /// `webhook-timestamp`, in seconds.
    pub timestamp: Option<&'a str>,
    /// `webhook-signature`, one or several between spaces.
    pub standard: Option<&'a str>,
}

/// Why a body cannot be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotSigned {
    /// There is nothing to look at.
    #[error("there is neither X-Flydocs-Signature nor webhook-signature")]
    NoSignature,
    /// The headers of Standard Webhooks come together or not at all.
    #[error("webhook-signature needs webhook-id and webhook-timestamp beside it")]
    Incomplete,
    /// A signature was made with another secret, or over other bytes.
    #[error("{header} does not fit the body and the secret")]
    Wrong {
        /// Which.
        header: &'static str,
    },
    /// An old request, perhaps sent again by somebody else.
    #[error("webhook-timestamp is more than {} s away from now", tolerance.as_secs())]
    Stale {
        /// How far it may be.
        tolerance: Duration,
    },
}

/// Checks what a receiver was sent: every signature that is there must fit, and a time must be near `now`.
pub fn check_signature(
    secret: &Secret,
    headers: SignedHeaders<'_>,
    body: &[u8],
    now: i64,
    tolerance: Duration,
) -> Result<(), NotSigned> {
    if headers.own.is_none() && headers.standard.is_none() {
        return Err(NotSigned::NoSignature);
    }
    if let Some(given) = headers.own
        && !same(given.trim(), &own(secret, body))
    {
        return Err(NotSigned::Wrong {
            header: "X-Flydocs-Signature",
        });
    }
    let Some(given) = headers.standard else {
        return Ok(());
    };
    let (Some(id), Some(timestamp)) = (headers.id, headers.timestamp) else {
        return Err(NotSigned::Incomplete);
    };
    let wrong = NotSigned::Wrong {
        header: "webhook-signature",
    };
    let timestamp: i64 = timestamp.trim().parse().map_err(|_| wrong)?;
    let wanted = standard(secret, id.trim(), timestamp, body);
    if !given.split_whitespace().any(|one| same(one, &wanted)) {
        return Err(wrong);
    }
    if now.abs_diff(timestamp) > tolerance.as_secs() {
        return Err(NotSigned::Stale { tolerance });
    }
    Ok(())
}

/// Compares in constant time.
fn same(given: &str, wanted: &str) -> bool {
    given.len() == wanted.len() && bool::from(given.as_bytes().ct_eq(wanted.as_bytes()))
}

fn hmac(key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    #[expect(
        clippy::expect_used,
        reason = "HMAC takes keys of any length: the error cannot occur"
    )]
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length");
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_signature_is_that_of_rfc_4231() {
        // Test case 2.
        assert_eq!(
            own(&Secret::new("Jefe"), b"what do ya want for nothing?"),
            "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }

    #[test]
    fn the_standard_signature_is_that_of_its_specification() {
        // The example of the specification's libraries.
        let secret = Secret::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        assert_eq!(
            standard(
                &secret,
                "msg_p5jXN8AQM9LWM0D4loKWxJek",
                1_614_265_330,
                br#"{"test": 2432232314}"#
            ),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        );
    }

    #[test]
    fn a_receiver_trusts_what_is_signed_whole_and_fresh() {
        let secret = Secret::new("a secret");
        let body = br#"{"a":1}"#;
        let (own, signed) = (own(&secret, body), standard(&secret, "id", 1000, body));
        let several = format!("v1,AAAA {signed}");
        let all = SignedHeaders {
            own: Some(&own),
            id: Some("id"),
            timestamp: Some("1000"),
            standard: Some(&several),
        };
        let check = |headers, body: &[u8], now| {
            check_signature(&secret, headers, body, now, Duration::from_mins(5))
        };
        assert_eq!(check(all, body, 1100), Ok(()));
        let only_own = SignedHeaders {
            own: Some(&own),
            ..SignedHeaders::default()
        };
        assert_eq!(check(only_own, body, 99_999), Ok(()));
        assert!(matches!(
            check(all, b"{}", 1000),
            Err(NotSigned::Wrong { .. })
        ));
        assert!(matches!(
            check(all, body, 1301),
            Err(NotSigned::Stale { .. })
        ));
        assert!(matches!(
            check(all, body, 699),
            Err(NotSigned::Stale { .. })
        ));
        let nothing = SignedHeaders::default();
        assert_eq!(check(nothing, body, 1000), Err(NotSigned::NoSignature));
        let no_time = SignedHeaders {
            timestamp: None,
            ..all
        };
        assert_eq!(check(no_time, body, 1000), Err(NotSigned::Incomplete));
        let other_id = SignedHeaders {
            id: Some("x"),
            ..all
        };
        assert!(matches!(
            check(other_id, body, 1000),
            Err(NotSigned::Wrong { .. })
        ));
    }

    #[test]
    fn a_plain_secret_signs_as_it_is() {
        let plain = standard(&Secret::new("secret"), "id", 1, b"{}");
        assert_eq!(
            plain,
            standard(&Secret::new("whsec_c2VjcmV0"), "id", 1, b"{}")
        );
    }
}
