//! Webhooks: what Stripe tells by itself, signed.

use std::time::Duration;

use ep_kernel::ports::CardEvent;
use ep_polling::time::Timestamp;
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

use super::events::Event;
use super::is_live;

/// How old a signature may be, and how far its time may be ahead: a copy is worth nothing afterwards.
const TOLERANCE: Duration = Duration::from_mins(5);
/// Most signatures that are looked at.
const MAX_SIGNATURES: usize = 8;

/// Reads webhooks.
pub struct StripeWebhooks {
    /// Several while one replaces the other.
    secrets: Vec<SecretString>,
    live: bool,
}

/// Why a webhook is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WebhookError {
    /// It is not signed with any of the secrets.
    #[error("the Stripe-Signature header does not sign this body with a known secret")]
    Signature,
    /// It was signed too long ago, or in the future.
    #[error("the Stripe-Signature header is older than five minutes, or from the future")]
    Time,
    /// It is signed, but no event that can be read.
    #[error("the body is not an event of a known form")]
    Body,
}

impl StripeWebhooks {
    /// Webhooks signed with any of these secrets, of the account with this key.
    pub fn new(secrets: Vec<SecretString>, secret_key: &SecretString) -> Self {
        Self { secrets, live: is_live(secret_key) }
    }

    /// The event of a body, once its signature has been checked.
    pub fn read(&self, signature: &WebhookSignature<'_>, body: &[u8]) -> Result<CardEvent, WebhookError> {
        if !self.secrets.iter().any(|secret| signature.signs(body, secret)) {
            return Err(WebhookError::Signature);
        }
        let event: Event = serde_json::from_slice(body).map_err(|_| WebhookError::Body)?;
        event.read(self.live).ok_or(WebhookError::Body)
    }
}

/// A `Stripe-Signature` header of the right form and time. Its signatures are not checked yet.
pub struct WebhookSignature<'h> {
    time: &'h str,
    signatures: Vec<Vec<u8>>,
}

impl<'h> WebhookSignature<'h> {
    /// Parses a header. This costs less than reading the body, so most forged requests end here.
    pub fn parse(header: &'h str, now: Timestamp) -> Result<Self, WebhookError> {
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
        Ok(Self { time, signatures })
    }

    fn signs(&self, body: &[u8], secret: &SecretString) -> bool {
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.expose_secret().as_bytes()) else {
            return false;
        };
        mac.update(self.time.as_bytes());
        mac.update(b".");
        mac.update(body);
        // The body is hashed once, whatever the number of signatures.
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
    fn only_what_is_signed_now_with_a_known_secret_is_read() {
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
        assert_eq!(read(&wrong), Ok(CardEvent::Nothing), "one of several signatures is right");
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
