//! Hashes of API keys.

/// HMAC-SHA-256 of a key under the service's pepper. Useless without the pepper, which is not in the
/// database.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KeyHash(String);

impl KeyHash {
    /// Wraps a hash in hexadecimal.
    pub fn new(hash: String) -> Self {
        Self(hash)
    }

    /// Returns the hash in hexadecimal.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
