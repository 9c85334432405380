//! Signatures of notifications (Standard Webhooks 1.0.0, "Webhook Signatures").

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretBox, SecretString};
use sha2::{Digest, Sha256, Sha512};

use crate::ports::PreparedNotification;
use ep_polling::Timestamp;
use ep_store::{UserId, WebhookSecretNumber, WebhookUrl};

/// The headers of a notification: its id, the time of sending in seconds since 1970, and its signatures.
pub const HEADERS: [&str; 3] = ["webhook-id", "webhook-timestamp", "webhook-signature"];

/// Time for which a replaced secret continues to sign, so that receivers can switch to the new one.
const OVERLAP: Duration = Duration::from_hours(24);

/// The secrets of all accounts, derived from the service's own, so that none is stored.
pub struct WebhookSecrets(SecretBox<[u8; 64]>);

impl WebhookSecrets {
    /// Derives the secrets from the service's own.
    pub fn derive(secret: &[u8]) -> Self {
        let key = Sha512::new().chain_update(b"ep webhook secrets v1\0").chain_update(secret).finalize();
        Self(SecretBox::new(Box::new(key.into())))
    }

    /// Returns an account's secret in the format for receivers.
    pub(super) fn shown(&self, user: UserId, number: u32) -> SecretString {
        format!("whsec_{}", STANDARD.encode(self.bytes(user, number))).into()
    }

    fn bytes(&self, user: UserId, number: u32) -> [u8; 32] {
        mac(self.0.expose_secret(), &[user.to_string().as_bytes(), b"\0", &number.to_be_bytes()])
    }

    /// Signs a notification, also with the previous secret while the current one is new.
    pub(super) fn sign(
        &self,
        (user, secret): (UserId, WebhookSecretNumber),
        (id, url, body): (&str, WebhookUrl, String),
        now: Timestamp,
    ) -> PreparedNotification {
        let seconds = now.millis().div_euclid(1000).to_string();
        let sign = |number| {
            let signed = [id.as_bytes(), b".", seconds.as_bytes(), b".", body.as_bytes()];
            format!("v1,{}", STANDARD.encode(mac(&self.bytes(user, number), &signed)))
        };
        let mut signatures = sign(secret.number);
        let is_new = secret.replaced_at.is_some_and(|at| now.since(at) < OVERLAP);
        if let Some(before) = secret.number.checked_sub(1).filter(|_| is_new) {
            signatures = format!("{signatures} {}", sign(before));
        }
        let headers = HEADERS.into_iter().zip([id.to_owned(), seconds, signatures]).collect();
        PreparedNotification { url, media_type: "application/json", headers, body }
    }
}

fn mac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    #[expect(clippy::expect_used, reason = "HMAC takes keys of any length (RFC 2104 §3)")]
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length");
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_795_262_400_000);

    #[test]
    fn every_account_and_number_has_its_own_secret() {
        let secrets = WebhookSecrets::derive(b"secret");
        let shown = |user, number| secrets.shown(UserId::from_random([user; 16]), number);
        let all = [shown(1, 0), shown(1, 1), shown(2, 0), shown(2, 1)];
        let distinct: std::collections::HashSet<&str> = all.iter().map(ExposeSecret::expose_secret).collect();
        assert_eq!(distinct.len(), 4);
        assert!(distinct.iter().all(|secret| secret.starts_with("whsec_") && secret.len() == 50));
        let other = WebhookSecrets::derive(b"other").shown(UserId::from_random([1; 16]), 0);
        assert!(!distinct.contains(other.expose_secret()));
    }

    #[test]
    fn a_replaced_secret_signs_for_a_day() {
        let secrets = WebhookSecrets::derive(b"secret");
        let user = UserId::from_random([1; 16]);
        let signatures = |number, replaced_at, now| {
            let what = ("id", WebhookUrl::checked("https://example.com"), "{}".to_owned());
            let signed = secrets.sign((user, WebhookSecretNumber { number, replaced_at }), what, now);
            signed.headers[2].1.clone()
        };
        assert_eq!(signatures(0, None, NOW).split(' ').count(), 1);
        let both = signatures(1, Some(NOW), NOW);
        assert_eq!(both.split(' ').count(), 2);
        assert!(both.ends_with(&signatures(0, None, NOW)));
        assert_eq!(signatures(1, Some(NOW), NOW.after(OVERLAP)).split(' ').count(), 1);
    }
}
