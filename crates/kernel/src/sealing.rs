//! Encryption of secrets at rest.

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use secrecy::{ExposeSecret, SecretBox};
use sha2::{Digest, Sha256};

use crate::fault::{Fault, Result};

/// Bytes of a nonce: enough to choose it at random (draft-irtf-cfrg-xchacha §2).
const NONCE: usize = 24;

/// Encrypts secrets for the database, under a key derived from the service's secret.
#[derive(Debug)]
pub struct Sealer(SecretBox<[u8; 32]>);

impl Sealer {
    /// Derives the sealer of one purpose. Each purpose has its own key.
    pub fn derive(secret: &[u8], purpose: &str) -> Self {
        let mut digest = Sha256::new();
        digest.update(b"ep sealing v1\0");
        digest.update((purpose.len() as u64).to_be_bytes());
        digest.update(purpose.as_bytes());
        digest.update(secret);
        Self(SecretBox::new(Box::new(digest.finalize().into())))
    }

    /// Encrypts a text. Decryption requires the same `context`, so a sealed text cannot be moved to another
    /// record.
    pub fn seal(&self, text: &str, context: &str, nonce: [u8; NONCE]) -> Result<String> {
        let payload = Payload { msg: text.as_bytes(), aad: context.as_bytes() };
        let sealed = self.cipher().encrypt(&XNonce::from(nonce), payload);
        let sealed = sealed.map_err(|_| Fault::internal("failed to encrypt a text"))?;
        Ok(format!("{}{}", hex::encode(nonce), hex::encode(sealed)))
    }

    /// Decrypts a sealed text. Fails if the text, its context or the service's secret has changed.
    pub fn open(&self, sealed: &str, context: &str) -> Result<String> {
        let unreadable = || Fault::internal("a sealed text cannot be decrypted; has EP_SECRET_KEY changed?");
        let bytes = hex::decode(sealed).map_err(|_| unreadable())?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE>().ok_or_else(unreadable)?;
        let payload = Payload { msg: sealed, aad: context.as_bytes() };
        let text = self.cipher().decrypt(&XNonce::from(*nonce), payload).map_err(|_| unreadable())?;
        String::from_utf8(text).map_err(|_| unreadable())
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(self.0.expose_secret().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opening_requires_the_same_secret_purpose_and_context() {
        let sealer = Sealer::derive(b"secret", "replies");
        let sealed = sealer.seal("ep_k_plain", "scope", [7; NONCE]).unwrap();
        assert!(!sealed.contains("ep_k_") && !sealed.contains(&hex::encode("ep_k_plain")));
        assert_eq!(sealer.open(&sealed, "scope").unwrap(), "ep_k_plain");
        assert!(sealer.open(&sealed, "other").is_err());
        assert!(Sealer::derive(b"other", "replies").open(&sealed, "scope").is_err());
        assert!(Sealer::derive(b"secret", "cookies").open(&sealed, "scope").is_err());
        for garbage in ["", "zz", "00", &sealed[..sealed.len() - 2]] {
            assert!(sealer.open(garbage, "scope").is_err(), "{garbage}");
        }
    }
}
