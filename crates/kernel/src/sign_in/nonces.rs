//! Nonces of sign-in messages.
//!
//! A nonce carries its expiry and an authentication code of this service over everything it is bound to.
//! Issuing one stores nothing. The database stores used nonces until they expire.

use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretBox};
use sha2::{Digest, Sha256, Sha512};

use crate::purpose::Purpose;
use ep_polling::Timestamp;
use ep_store::WalletAddress;

/// Time for which a nonce can be used.
pub const NONCE_LIFETIME: Duration = Duration::from_mins(5);

/// Bytes of the expiry in a nonce: seconds since the epoch.
const EXPIRY: usize = 5;
/// Random bytes of a nonce.
const RANDOM: usize = 9;
/// Bytes of the authentication code; the full code is truncated (RFC 2104 §5).
const CODE: usize = 16;

/// Issues and checks nonces.
pub struct ChallengeNonces {
    key: SecretBox<[u8; 64]>,
    domain: String,
}

impl ChallengeNonces {
    /// Creates nonces for messages to this domain, under a key derived from the service's secret.
    pub fn derive(secret: &[u8], domain: &str) -> Self {
        let key = Sha512::new().chain_update(b"ep sign-in nonces v1\0").chain_update(secret).finalize();
        Self { key: SecretBox::new(Box::new(key.into())), domain: domain.to_owned() }
    }

    /// Returns a nonce for this address and purpose, in hexadecimal digits, as EIP-4361 allows, and its
    /// expiry.
    pub fn issue(
        &self,
        address: WalletAddress,
        purpose: Purpose,
        now: Timestamp,
        random: [u8; RANDOM],
    ) -> (String, Timestamp) {
        let expires_s = now.after(NONCE_LIFETIME).millis().div_euclid(1000);
        let [.., a, b, c, d, e] = expires_s.to_be_bytes();
        let code = self.code([a, b, c, d, e], random, address, purpose);
        let nonce = [&[a, b, c, d, e][..], &random, &code].concat();
        (hex::encode(nonce), Timestamp::from_millis(expires_s * 1000))
    }

    /// Returns the expiry of a nonce; `None` if it has expired, or was not issued in exactly this form for
    /// this address and purpose.
    pub fn check(
        &self,
        nonce: &str,
        address: WalletAddress,
        purpose: Purpose,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let bytes: [u8; EXPIRY + RANDOM + CODE] = hex::decode(nonce).ok()?.try_into().ok()?;
        // Used nonces are stored as text, so another spelling of the same bytes would count as unused.
        if hex::encode(bytes) != nonce {
            return None;
        }
        let (expiry, rest) = bytes.split_first_chunk::<EXPIRY>()?;
        let (random, code) = rest.split_first_chunk::<RANDOM>()?;
        let fits = |purpose| self.mac(*expiry, *random, address, purpose).verify_truncated_left(code).is_ok();
        if !fits(purpose) && !fits(Purpose::Any) {
            return None;
        }
        let [a, b, c, d, e] = *expiry;
        let expires_at = Timestamp::from_millis(i64::from_be_bytes([0, 0, 0, a, b, c, d, e]) * 1000);
        (now < expires_at).then_some(expires_at)
    }

    fn code(
        &self,
        expiry: [u8; EXPIRY],
        random: [u8; RANDOM],
        address: WalletAddress,
        purpose: Purpose,
    ) -> [u8; CODE] {
        let full: [u8; 32] = self.mac(expiry, random, address, purpose).finalize().into_bytes().into();
        let mut code = [0; CODE];
        code.copy_from_slice(&full[..CODE]);
        code
    }

    fn mac(
        &self,
        expiry: [u8; EXPIRY],
        random: [u8; RANDOM],
        address: WalletAddress,
        purpose: Purpose,
    ) -> Hmac<Sha256> {
        let mut mac = <Hmac<Sha256> as KeyInit>::new(&(*self.key.expose_secret()).into());
        mac.update(&expiry);
        mac.update(&random);
        mac.update(&address.bytes());
        mac.update(purpose.as_str().as_bytes());
        mac.update(b"\0");
        mac.update(self.domain.as_bytes());
        mac
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_795_262_400_000);

    #[test]
    fn a_nonce_is_bound_to_its_address_purpose_domain_and_time() {
        let nonces = ChallengeNonces::derive(b"secret", "ep.example");
        let (address, other) = (WalletAddress::new([1; 20]), WalletAddress::new([2; 20]));
        let (nonce, expires_at) = nonces.issue(address, Purpose::SignIn, NOW, [7; RANDOM]);
        assert_eq!(expires_at, NOW.after(NONCE_LIFETIME));
        assert!(nonce.len() >= 17 && nonce.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        let last = NOW.after(Duration::from_millis(299_999));
        for now in [NOW, last] {
            let expires_at = Some(NOW.after(NONCE_LIFETIME));
            assert_eq!(nonces.check(&nonce, address, Purpose::SignIn, now), expires_at);
        }
        assert_eq!(nonces.check(&nonce, address, Purpose::SignIn, NOW.after(NONCE_LIFETIME)), None);
        assert_eq!(nonces.check(&nonce, other, Purpose::SignIn, NOW), None);
        assert_eq!(nonces.check(&nonce, address, Purpose::RevokeKey, NOW), None);
        let elsewhere = ChallengeNonces::derive(b"secret", "other.example");
        assert_eq!(elsewhere.check(&nonce, address, Purpose::SignIn, NOW), None);
        let forged = ChallengeNonces::derive(b"guess", "ep.example");
        assert_eq!(forged.check(&nonce, address, Purpose::SignIn, NOW), None);
        let changes = [
            format!("ff{}", &nonce[2..]),
            nonce[2..].to_owned(),
            nonce.to_uppercase(),
            String::new(),
            "é".repeat(30),
        ];
        for changed in changes {
            assert_eq!(nonces.check(&changed, address, Purpose::SignIn, NOW), None, "{changed}");
        }
    }

    #[test]
    fn a_nonce_for_any_purpose_is_valid_for_each() {
        let nonces = ChallengeNonces::derive(b"secret", "ep.example");
        let address = WalletAddress::new([1; 20]);
        let (nonce, _) = nonces.issue(address, Purpose::Any, NOW, [7; RANDOM]);
        for purpose in [Purpose::SignIn, Purpose::RevokeKey, Purpose::RotateKey] {
            assert!(nonces.check(&nonce, address, purpose, NOW).is_some());
        }
    }
}
