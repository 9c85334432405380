//! Browser sessions, and single-use nonces for starting one.

use ep_polling::time::Timestamp;

use crate::ids::UserId;
use crate::row::from_row;
use crate::token_hash::TokenHash;

/// A new session.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// The hash of its token.
    pub hash: TokenHash,
    /// The user.
    pub user: UserId,
    /// The time of the start.
    pub created_at: Timestamp,
    /// The token for signing out at the identity provider, encrypted.
    pub provider_token: Option<String>,
}

/// A session as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSession {
    /// The user.
    pub user: UserId,
    /// The time of the start.
    pub created_at: Timestamp,
    /// The time of the last use, to within the interval between two writes.
    pub used_at: Timestamp,
    /// The token for signing out at the identity provider, encrypted.
    pub provider_token: Option<String>,
}

from_row!(StoredSession { user, created_at, used_at, provider_token });
