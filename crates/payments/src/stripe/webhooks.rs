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

    /// What an event says, once its signature has been checked.
    pub fn read(&self, signature: &str, body: &[u8], now: Timestamp) -> Result<CardEvent, WebhookError> {
        let mut time = None;
        let mut signatures = Vec::new();
        for part in signature.split(',') {
            match part.trim().split_once('=') {
                Some(("t", value)) => time = Some(value),
                Some(("v1", value)) if signatures.len() < MAX_SIGNATURES => {
                    signatures.extend(hex::decode(value).ok());
                }
                _ => {}
            }
        }
        let time = time.ok_or(WebhookError::Signature)?;
        let signed = self
            .secrets
            .iter()
            .any(|secret| signatures.iter().any(|signature| is_signed(secret, time, body, signature)));
        if !signed {
            return Err(WebhookError::Signature);
        }
        let seconds: i64 = time.parse().map_err(|_| WebhookError::Time)?;
        let apart = now.millis().abs_diff(seconds.saturating_mul(1000));
        if u128::from(apart) > TOLERANCE.as_millis() {
            return Err(WebhookError::Time);
        }
        let event: Event = serde_json::from_slice(body).map_err(|_| WebhookError::Body)?;
        event.read(self.live).ok_or(WebhookError::Body)
    }
}

fn is_signed(secret: &SecretString, time: &str, body: &[u8], signature: &[u8]) -> bool {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.expose_secret().as_bytes()) else { return false };
    mac.update(time.as_bytes());
    mac.update(b".");
    mac.update(body);
    mac.verify_slice(signature).is_ok()
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
        let read = |signature: &str| webhooks.read(signature, body.as_bytes(), NOW);
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
        assert_eq!(
            webhooks.read(&signed("whsec_new", now, &live), live.as_bytes(), NOW),
            Ok(CardEvent::Nothing)
        );
        for unreadable in
            ["", "[]", "{}", r#"{ "type": "charge.refunded", "livemode": false, "data": { "object": {} } }"#]
        {
            let read = webhooks.read(&signed("whsec_new", now, unreadable), unreadable.as_bytes(), NOW);
            assert_eq!(read, Err(WebhookError::Body), "{unreadable}");
        }
    }
}
