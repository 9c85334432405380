//! Browser sessions, and what may be used once to start one.

use async_trait::async_trait;

use super::StoreError;
use crate::caller::UserId;
use crate::session_token::TokenHash;
use ep_polling::time::Timestamp;

/// A session that begins.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// The hash of its token.
    pub hash: TokenHash,
    /// Who is signed in.
    pub user: UserId,
    /// When it begins.
    pub created_at: Timestamp,
    /// What the identity provider is signed out with, encrypted.
    pub provider_token: Option<String>,
}

/// A session as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSession {
    /// Who is signed in.
    pub user: UserId,
    /// When it began.
    pub created_at: Timestamp,
    /// When it was last used, to within the time between two writes.
    pub used_at: Timestamp,
    /// What the identity provider is signed out with, encrypted.
    pub provider_token: Option<String>,
}

/// Keeps sessions and used nonces.
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Begins a session. [`StoreError::NotFound`] for an unknown user.
    async fn start_session(&self, session: &NewSession) -> Result<(), StoreError>;

    /// The session with this hash.
    async fn session(&self, hash: &TokenHash) -> Result<Option<StoredSession>, StoreError>;

    /// Notes that a session was used. A power loss may undo it.
    async fn touch_session(&self, hash: &TokenHash, at: Timestamp) -> Result<(), StoreError>;

    /// Ends a session; gives it, unless it had ended. Acknowledged once a power loss cannot undo it.
    async fn end_session(&self, hash: &TokenHash) -> Result<Option<StoredSession>, StoreError>;

    /// Uses a nonce up; `false` if it was used before. Acknowledged once a power loss cannot undo it.
    async fn use_nonce(&self, nonce: &str, expires_at: Timestamp) -> Result<bool, StoreError>;

    /// Deletes sessions that were last used before `used_before` or began before `started_before`, and used
    /// nonces that have expired.
    async fn delete_old_sessions(
        &self,
        used_before: Timestamp,
        started_before: Timestamp,
        now: Timestamp,
    ) -> Result<u64, StoreError>;
}
