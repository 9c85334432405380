//! Tokens of browser sessions. Only their hashes are stored.

use sha2::{Digest, Sha256};

/// SHA-256 of a session's token. The token has 256 random bits, so a plain hash cannot be reversed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenHash(String);

impl TokenHash {
    /// Returns the hash of a token.
    pub fn of(token: &str) -> Self {
        Self(hex::encode(Sha256::digest(token)))
    }

    /// Returns the hash in hexadecimal.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
