//! API keys: `ep_k_` and 43 base-62 characters (256 random bits). Only a keyed hash is ever stored.

use ep_store::KeyHash;
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretBox, SecretString};
use sha2::{Sha256, Sha512};

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const DIGITS: usize = 43;

/// Prefix of every key, for secret scanners.
pub const KEY_PREFIX: &str = "ep_k_";
/// Number of a key's characters stored in plain text, so that its owner recognises it.
pub const PREFIX_CHARS: usize = 10;

/// A plaintext key. It exists only when it is issued and in requests that present it. It is never stored.
#[derive(Debug)]
pub struct ApiKey(SecretString);

/// The service's secret key for hashes, stored outside the database.
#[derive(Debug)]
pub struct Pepper(SecretBox<[u8; 64]>);

impl ApiKey {
    /// Creates a key from 32 random bytes.
    pub fn from_random(bytes: [u8; 32]) -> Self {
        // The bytes as one number in base 62, least significant digit first.
        let mut number = bytes;
        let mut key = String::from(KEY_PREFIX);
        for _ in 0..DIGITS {
            let remainder = number.iter_mut().fold(0_u16, |carry, byte| {
                let value = carry << 8 | u16::from(*byte);
                *byte = (value / 62) as u8;
                value % 62
            });
            key.push(char::from(ALPHABET[usize::from(remainder)]));
        }
        Self(key.into())
    }

    /// Parses a key from a request. Returns `None` for text of another form, which needs no lookup.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(KEY_PREFIX)?;
        let fits = digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
        fits.then(|| Self(text.into()))
    }

    /// Returns the plaintext, for the one response that shows it.
    pub fn reveal(&self) -> &str {
        self.0.expose_secret()
    }

    /// Returns the first [`PREFIX_CHARS`] characters.
    pub fn prefix(&self) -> &str {
        &self.reveal()[..PREFIX_CHARS]
    }

    /// Returns the hash, which is stored and looked up.
    pub fn hash(&self, pepper: &Pepper) -> KeyHash {
        let mut mac = <Hmac<Sha256> as KeyInit>::new(&(*pepper.0.expose_secret()).into());
        mac.update(b"ep api key v1\0");
        mac.update(self.reveal().as_bytes());
        KeyHash::new(hex::encode(mac.finalize().into_bytes()))
    }
}

impl Pepper {
    /// Derives a pepper from the service's secret key (`EP_SECRET_KEY`), so that no two uses of that secret
    /// share a key.
    pub fn derive(secret: &[u8]) -> Self {
        use sha2::Digest;
        let mut digest = Sha512::new();
        digest.update(b"ep pepper v1\0");
        digest.update(secret);
        Self(SecretBox::new(Box::new(digest.finalize().into())))
    }

    /// Derives the key material from an idempotent request. Every repetition creates the same key, so retries
    /// never issue a second one.
    pub(crate) fn key_of(&self, request_ref: &str) -> KeyMaterial {
        let part = |part| self.part_of(request_ref, part);
        KeyMaterial { key: part(b"key\0"), id: half(part(b"id\0")) }
    }

    /// Derives the id of a pre-funded key's account in the same way.
    pub(crate) fn account_of(&self, request_ref: &str) -> [u8; 16] {
        half(self.part_of(request_ref, b"account\0"))
    }

    fn part_of(&self, request_ref: &str, part: &[u8]) -> [u8; 32] {
        let mut mac = <Hmac<Sha256> as KeyInit>::new(&(*self.0.expose_secret()).into());
        for bytes in [b"ep key of a request v1\0", part, request_ref.as_bytes()] {
            mac.update(bytes);
        }
        mac.finalize().into_bytes().into()
    }
}

/// The bytes of a new key and of its id.
pub(crate) struct KeyMaterial {
    /// Bytes of the key.
    pub(crate) key: [u8; 32],
    /// Bytes of its public id.
    pub(crate) id: [u8; 16],
}

fn half(bytes: [u8; 32]) -> [u8; 16] {
    std::array::from_fn(|index| bytes[index])
}

/// Redacts every key in a text, because callers put keys into wrong fields and messages repeat the input.
pub(crate) fn without_keys(text: String) -> String {
    if !text.contains(KEY_PREFIX) {
        return text;
    }
    let mut parts = text.split(KEY_PREFIX);
    let mut clean = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
        clean.extend([KEY_PREFIX, "…", rest.strip_prefix('…').unwrap_or(rest)]);
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_parsed_from_its_text() {
        let key = ApiKey::from_random([0xA7; 32]);
        let again = ApiKey::parse(key.reveal()).unwrap();
        let pepper = Pepper::derive(b"secret");
        assert_eq!(key.hash(&pepper), again.hash(&pepper));
        assert_ne!(key.hash(&pepper), key.hash(&Pepper::derive(b"other")));
        assert_eq!(key.prefix().len(), PREFIX_CHARS);
        assert_ne!(ApiKey::from_random([0xA8; 32]).reveal(), key.reveal());
    }

    #[test]
    fn keys_are_redacted_in_texts() {
        let key = ApiKey::from_random([7; 32]);
        let key = key.reveal();
        let clean = without_keys(format!("scope must be all, not `{key}`; nor {key}{key}é"));
        assert_eq!(clean, "scope must be all, not `ep_k_…`; nor ep_k_…ep_k_…é");
        for text in ["", "send Authorization: Bearer ep_k_… with a key", "ep_k"] {
            assert_eq!(without_keys(text.to_owned()), text);
        }
    }

    #[test]
    fn a_request_derives_one_key() {
        let pepper = Pepper::derive(b"secret");
        let (KeyMaterial { key, id }, account) = (pepper.key_of("one"), pepper.account_of("one"));
        let again = pepper.key_of("one");
        assert_eq!((key, id, account), (again.key, again.id, pepper.account_of("one")));
        let other = pepper.key_of("two");
        assert!(key != other.key && id != other.id && id != account && account != pepper.account_of("two"));
        assert_ne!(key, Pepper::derive(b"other").key_of("one").key);
    }

    #[test]
    fn other_text_is_not_a_key() {
        for text in [
            "",
            "ep_k_",
            "ep_k_short",
            &format!("ep_k_{}", "é".repeat(43)),
            &format!("xx_k_{}", "a".repeat(43)),
        ] {
            assert!(ApiKey::parse(text).is_none(), "{text}");
        }
        assert!(!format!("{:?}", ApiKey::from_random([1; 32])).contains("ep_k_"));
    }
}
