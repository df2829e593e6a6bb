//! Signatures of a delivery: flydocs's own header and those of Standard Webhooks.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, Mac as _};
use sha2::Sha256;

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
    fn a_plain_secret_signs_as_it_is() {
        let plain = standard(&Secret::new("secret"), "id", 1, b"{}");
        assert_eq!(
            plain,
            standard(&Secret::new("whsec_c2VjcmV0"), "id", 1, b"{}")
        );
    }
}
