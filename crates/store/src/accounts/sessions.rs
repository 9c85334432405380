//! Browser sessions, and single-use nonces for starting one.

use ep_polling::Timestamp;

use crate::accounts::TokenHash;
use crate::accounts::account;
use crate::connection::Durability;
use crate::handles::Vault;
use crate::ids::UserId;
use crate::row::from_row;
use crate::store_error::Result;
use crate::value::values;

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

const START_SESSION: &str = "INSERT INTO sessions (hash, user_id, created_at, used_at, provider_token) \
     VALUES ($1, $2, $3, $3, $4)";
const SESSION: &str = "SELECT user_id, created_at, used_at, provider_token FROM sessions WHERE hash = $1";
const TOUCH_SESSION: &str = "UPDATE sessions SET used_at = $2 WHERE hash = $1 AND used_at < $2";
const END_SESSION: &str =
    "DELETE FROM sessions WHERE hash = $1 RETURNING user_id, created_at, used_at, provider_token";
const DELETE_OLD_SESSIONS: &str = "DELETE FROM sessions WHERE used_at < $1 OR created_at < $2";
pub(crate) const USE_NONCE: &str =
    "INSERT INTO used_nonces (nonce, expires_at) VALUES ($1, $2) ON CONFLICT (nonce) DO NOTHING";
const DELETE_USED_NONCES: &str = "DELETE FROM used_nonces WHERE expires_at <= $1";

/// Stores sessions and used nonces.
impl Vault {
    /// Starts a session. [`StoreError::NotFound`](crate::StoreError::NotFound) for an unknown user.
    pub async fn start_session(&self, session: &NewSession) -> Result<()> {
        let NewSession { hash, user, created_at, provider_token } = session.clone();
        transact!(self.0, ProcessCrash, |db| {
            // No session begins once the account is deleted.
            account::lock_live(db, user).await?;
            let values = values![hash.as_str(), user, created_at, provider_token.as_deref()];
            db.execute(START_SESSION, values).await.map(drop)
        })
    }

    /// Returns the session with this hash.
    pub async fn session(&self, hash: &TokenHash) -> Result<Option<StoredSession>> {
        self.0.fetch_by_key(SESSION, values![hash.as_str()]).await
    }

    /// Records a use of a session. A power loss may undo it.
    pub async fn touch_session(&self, hash: &TokenHash, at: Timestamp) -> Result<()> {
        self.0.execute(Durability::ProcessCrash, TOUCH_SESSION, values![hash.as_str(), at]).await.map(drop)
    }

    /// Ends a session and returns it, or `None` if it had already ended. Acknowledged once a power loss
    /// cannot undo it.
    pub async fn end_session(&self, hash: &TokenHash) -> Result<Option<StoredSession>> {
        let ended = self.0.fetch_changed(Durability::PowerLoss, END_SESSION, values![hash.as_str()]).await?;
        Ok(ended.into_iter().next())
    }

    /// Uses up a nonce. Returns `false` if it was already used. Acknowledged once a power loss cannot undo
    /// it.
    pub async fn use_nonce(&self, nonce: &str, expires_at: Timestamp) -> Result<bool> {
        Ok(self.0.execute(Durability::PowerLoss, USE_NONCE, values![nonce, expires_at]).await? == 1)
    }

    /// Deletes sessions last used before `used_before` or started before `started_before`, and expired
    /// nonces.
    pub async fn delete_old_sessions(
        &self,
        used_before: Timestamp,
        started_before: Timestamp,
        now: Timestamp,
    ) -> Result<u64> {
        self.0.execute(Durability::ProcessCrash, DELETE_USED_NONCES, values![now]).await?;
        let before = values![used_before, started_before];
        self.0.execute(Durability::ProcessCrash, DELETE_OLD_SESSIONS, before).await
    }
}
