//! Stripe webhooks: signed event notifications.

use std::time::Duration;

use ep_kernel::CardEvent;
use ep_polling::Timestamp;
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

use super::events::Event;
use super::is_live;

/// Maximum age of a signature, and maximum clock skew, to limit replays.
const TOLERANCE: Duration = Duration::from_mins(5);
/// Maximum number of signatures checked.
const MAX_SIGNATURES: usize = 8;

/// A verifier and parser of webhooks.
pub struct StripeWebhooks {
    /// Two or more during rotation.
    secrets: Vec<SecretString>,
    live: bool,
}

/// The reason for rejecting a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WebhookError {
    /// No known secret signed the body.
    #[error("the Stripe-Signature header does not sign this body with a known secret")]
    Signature,
    /// The signature is too old or from the future.
    #[error("the Stripe-Signature header is older than five minutes, or from the future")]
    Time,
    /// The body is signed, but is not a known event.
    #[error("the body is not a known event")]
    Body,
}

impl StripeWebhooks {
    /// Creates a verifier for these secrets and the account with this key.
    pub fn new(secrets: Vec<SecretString>, secret_key: &SecretString) -> Self {
        Self { secrets, live: is_live(secret_key) }
    }

    /// Verifies the signature of a body and parses its event.
    pub fn read(&self, signature: &WebhookSignature, body: &[u8]) -> Result<CardEvent, WebhookError> {
        if !self.secrets.iter().any(|secret| signature.signs(body, secret)) {
            return Err(WebhookError::Signature);
        }
        let event: Event = serde_json::from_slice(body).map_err(|_| WebhookError::Body)?;
        event.read(self.live).ok_or(WebhookError::Body)
    }
}

/// A well-formed and recent `Stripe-Signature` header. Its signatures are not verified yet.
pub struct WebhookSignature {
    time: String,
    signatures: Vec<Vec<u8>>,
}

impl WebhookSignature {
    /// Parses a header. This is cheaper than reading the body and rejects most forged requests.
    pub fn parse(header: &str, now: Timestamp) -> Result<Self, WebhookError> {
        let mut time = None;
        let mut signatures = Vec::new();
        for part in header.split(',') {
            match part.trim().split_once('=') {
                Some(("t", value)) => time = Some(value),
                Some(("v1", value)) if signatures.len() < MAX_SIGNATURES => {
                    signatures.extend(hex::decode(value).ok());
                }
                _ => {}
            }
        }
        let time = time.filter(|_| !signatures.is_empty()).ok_or(WebhookError::Signature)?;
        let seconds: i64 = time.parse().map_err(|_| WebhookError::Time)?;
        let apart = now.millis().abs_diff(seconds.saturating_mul(1000));
        if u128::from(apart) > TOLERANCE.as_millis() {
            return Err(WebhookError::Time);
        }
        Ok(Self { time: time.to_owned(), signatures })
    }

    fn signs(&self, body: &[u8], secret: &SecretString) -> bool {
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.expose_secret().as_bytes()) else {
            return false;
        };
        mac.update(self.time.as_bytes());
        mac.update(b".");
        mac.update(body);
        // Hash the body once for all signatures.
        self.signatures.iter().any(|signature| mac.clone().verify_slice(signature).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_795_262_400_000);

    fn signed(secret: &str, time: i64, body: &str) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
        mac.update(format!("{time}.{body}").as_bytes());
        format!("t={time},v1={}", hex::encode(mac.finalize().into_bytes()))
    }

    #[test]
    fn only_recent_bodies_signed_with_a_known_secret_are_accepted() {
        let secrets = vec!["whsec_new".to_owned().into(), "whsec_old".to_owned().into()];
        let webhooks = StripeWebhooks::new(secrets, &"sk_test_1".to_owned().into());
        let body = r#"{ "type": "price.created", "livemode": false, "data": { "object": {} } }"#;
        let now = NOW.millis() / 1000;
        let read_body = |signature: &str, body: &str| {
            webhooks.read(&WebhookSignature::parse(signature, NOW)?, body.as_bytes())
        };
        let read = |signature: &str| read_body(signature, body);
        for secret in ["whsec_new", "whsec_old"] {
            assert_eq!(read(&signed(secret, now, body)), Ok(CardEvent::Nothing));
        }
        let valid = signed("whsec_new", now, body);
        let wrong = format!("t={now},v1={},v1={}", "00".repeat(32), valid.split("v1=").nth(1).unwrap());
        assert_eq!(read(&wrong), Ok(CardEvent::Nothing), "one of several signatures is valid");
        for refused in [
            String::new(),
            format!("t={now}"),
            valid.replace("v1=", "v0="),
            valid.replace(&format!("t={now}"), &format!("t={}", now + 1)),
            signed("whsec_other", now, body),
            signed("whsec_new", now, "{}"),
            format!("t={now},{}", "v1=00,".repeat(1000)),
        ] {
            assert_eq!(read(&refused), Err(WebhookError::Signature), "{refused:.80}");
        }
        for seconds in [-300, 300] {
            assert_eq!(read(&signed("whsec_new", now + seconds, body)), Ok(CardEvent::Nothing));
        }
        for seconds in [-301, 301] {
            assert_eq!(read(&signed("whsec_new", now + seconds, body)), Err(WebhookError::Time));
        }
        let live = body.replace("false", "true");
        assert_eq!(read_body(&signed("whsec_new", now, &live), &live), Ok(CardEvent::Nothing));
        for unreadable in
            ["", "[]", "{}", r#"{ "type": "charge.refunded", "livemode": false, "data": { "object": {} } }"#]
        {
            let read = read_body(&signed("whsec_new", now, unreadable), unreadable);
            assert_eq!(read, Err(WebhookError::Body), "{unreadable}");
        }
    }
}
