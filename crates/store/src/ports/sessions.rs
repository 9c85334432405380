//! Browser sessions, and single-use nonces for starting one.

use async_trait::async_trait;
use ep_polling::time::Timestamp;

use super::StoreError;
use crate::ids::UserId;
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

/// Stores sessions and used nonces.
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Starts a session. [`StoreError::NotFound`] for an unknown user.
    async fn start_session(&self, session: &NewSession) -> Result<(), StoreError>;

    /// Returns the session with this hash.
    async fn session(&self, hash: &TokenHash) -> Result<Option<StoredSession>, StoreError>;

    /// Records a use of a session. A power loss may undo it.
    async fn touch_session(&self, hash: &TokenHash, at: Timestamp) -> Result<(), StoreError>;

    /// Ends a session and returns it, or `None` if it had already ended. Acknowledged once a power loss
    /// cannot undo it.
    async fn end_session(&self, hash: &TokenHash) -> Result<Option<StoredSession>, StoreError>;

    /// Uses up a nonce. Returns `false` if it was already used. Acknowledged once a power loss cannot undo
    /// it.
    async fn use_nonce(&self, nonce: &str, expires_at: Timestamp) -> Result<bool, StoreError>;

    /// Deletes sessions last used before `used_before` or started before `started_before`, and expired
    /// nonces.
    async fn delete_old_sessions(
        &self,
        used_before: Timestamp,
        started_before: Timestamp,
        now: Timestamp,
    ) -> Result<u64, StoreError>;
}
