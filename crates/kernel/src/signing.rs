//! Publicly verifiable signatures: JSON Web Signatures (RFC 7515) with ES256. The keys are derived from the
//! service's secret, so every replica has the same ones.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use p256::ecdsa::signature::Signer;
use p256::ecdsa::{Signature, SigningKey};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::canonical;

/// The signing key of the agent card, and the keys published with it.
pub struct SigningKeys {
    signing_key: SigningKey,
    /// The id of the signing key.
    id: String,
    published: Vec<Value>,
}

impl SigningKeys {
    /// Derives the key of this number. Publishes the previous and the next key too, so that a change of the
    /// number does not invalidate recent signatures.
    pub fn derive(secret: &[u8], number: u32) -> Self {
        let numbers = number.saturating_sub(1)..=number.saturating_add(1);
        let published = numbers.map(|number| public(&key(secret, number))).collect();
        let signing_key = key(secret, number);
        let id = thumbprint(&public_point(&signing_key));
        Self { signing_key, id, published }
    }

    /// Returns the public keys (RFC 7517).
    pub fn key_set(&self) -> Value {
        json!({ "keys": self.published })
    }

    /// Returns a detached signature of this text. `keys_url` is the URL of the public keys.
    pub fn sign(&self, payload: &str, keys_url: &str) -> Value {
        let header = json!({ "alg": "ES256", "typ": "JOSE", "kid": self.id, "jku": keys_url });
        let header = URL_SAFE_NO_PAD.encode(header.to_string());
        // Deterministic (RFC 6979), so every replica serves the same bytes.
        let signature: Signature =
            self.signing_key.sign(format!("{header}.{}", URL_SAFE_NO_PAD.encode(payload)).as_bytes());
        json!({ "protected": header, "signature": URL_SAFE_NO_PAD.encode(signature.to_bytes()) })
    }
}

impl std::fmt::Debug for SigningKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SigningKeys(..)")
    }
}

fn key(secret: &[u8], number: u32) -> SigningKey {
    let mut attempt: u32 = 0;
    loop {
        let mut digest = Sha256::new();
        digest.update(b"ep signing v1\0");
        digest.update(number.to_be_bytes());
        digest.update(attempt.to_be_bytes());
        digest.update(secret);
        // One digest in 2^32 is not below the curve's order.
        if let Ok(key) = SigningKey::from_slice(&digest.finalize()) {
            return key;
        }
        attempt += 1;
    }
}

/// Returns the fields of a public key used for its thumbprint (RFC 7638 §3.2).
fn public_point(key: &SigningKey) -> Value {
    let point = key.verifying_key().to_sec1_point(false);
    let coordinate = |bytes: Option<&[u8]>| URL_SAFE_NO_PAD.encode(bytes.unwrap_or_default());
    let (x, y) = (coordinate(point.x().map(AsRef::as_ref)), coordinate(point.y().map(AsRef::as_ref)));
    json!({ "crv": "P-256", "kty": "EC", "x": x, "y": y })
}

fn public(key: &SigningKey) -> Value {
    let mut public = public_point(key);
    let id = thumbprint(&public);
    public["kid"] = id.into();
    public["alg"] = "ES256".into();
    public["use"] = "sig".into();
    public
}

fn thumbprint(public: &Value) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(canonical::text(public)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_signatures_are_deterministic() {
        let of = |secret: &[u8], number| SigningKeys::derive(secret, number);
        let signed = of(b"secret", 1).sign("{}", "https://polls.example/keys");
        assert_eq!(of(b"secret", 1).sign("{}", "https://polls.example/keys"), signed);
        assert_ne!(of(b"other", 1).sign("{}", "https://polls.example/keys"), signed);
        assert_ne!(of(b"secret", 2).sign("{}", "https://polls.example/keys"), signed);
        assert!(!of(b"secret", 1).key_set().to_string().contains("\"d\""));
    }

    #[test]
    fn adjacent_keys_are_published_too() {
        let ids = |number| -> Vec<String> {
            let keys = SigningKeys::derive(b"secret", number).key_set();
            keys["keys"].as_array().unwrap().iter().map(|key| key["kid"].to_string()).collect()
        };
        assert_eq!(ids(1)[1..], ids(2)[..2]);
        assert_eq!((ids(0).len(), ids(1).len(), ids(u32::MAX).len()), (2, 3, 2));
    }
}
