//! Browser sessions and used nonces.

use ep_polling::time::Timestamp;
use futures::FutureExt;

use super::accounts;
use crate::connection::{Connection, Durability};
use crate::handles::Vault;
use crate::records::{NewSession, StoreError, StoredSession};
use crate::statements as sql;
use crate::token_hash::TokenHash;
use crate::value::values;

/// Stores sessions and used nonces.
impl Vault {
    /// Starts a session. [`StoreError::NotFound`] for an unknown user.
    pub async fn start_session(&self, session: &NewSession) -> Result<(), StoreError> {
        let session = session.clone();
        self.0
            .engine
            .transact(Durability::ProcessCrash, move |db| async move { start(db, &session).await }.boxed())
            .await
    }

    /// Returns the session with this hash.
    pub async fn session(&self, hash: &TokenHash) -> Result<Option<StoredSession>, StoreError> {
        self.0.engine.fetch_by_key(sql::SESSION, values![hash.as_str()]).await
    }

    /// Records a use of a session. A power loss may undo it.
    pub async fn touch_session(&self, hash: &TokenHash, at: Timestamp) -> Result<(), StoreError> {
        let values = values![hash.as_str(), at];
        self.0.engine.execute(Durability::ProcessCrash, sql::TOUCH_SESSION, values).await.map(drop)
    }

    /// Ends a session and returns it, or `None` if it had already ended. Acknowledged once a power loss
    /// cannot undo it.
    pub async fn end_session(&self, hash: &TokenHash) -> Result<Option<StoredSession>, StoreError> {
        let hash = values![hash.as_str()];
        let ended = self.0.engine.fetch_changed(Durability::PowerLoss, sql::END_SESSION, hash).await?;
        Ok(ended.into_iter().next())
    }

    /// Uses up a nonce. Returns `false` if it was already used. Acknowledged once a power loss cannot undo
    /// it.
    pub async fn use_nonce(&self, nonce: &str, expires_at: Timestamp) -> Result<bool, StoreError> {
        Ok(self.0.engine.execute(Durability::PowerLoss, sql::USE_NONCE, values![nonce, expires_at]).await?
            == 1)
    }

    /// Deletes sessions last used before `used_before` or started before `started_before`, and expired
    /// nonces.
    pub async fn delete_old_sessions(
        &self,
        used_before: Timestamp,
        started_before: Timestamp,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        self.0.engine.execute(Durability::ProcessCrash, sql::DELETE_USED_NONCES, values![now]).await?;
        let before = values![used_before, started_before];
        self.0.engine.execute(Durability::ProcessCrash, sql::DELETE_OLD_SESSIONS, before).await
    }
}

/// Stores a session. The account is locked first, so that none begins once it is deleted.
async fn start(db: &mut Connection<'_>, session: &NewSession) -> Result<(), StoreError> {
    let NewSession { hash, user, created_at, provider_token } = session;
    accounts::lock_live(db, *user).await?;
    let values = values![hash.as_str(), *user, *created_at, provider_token.as_deref()];
    db.execute(sql::START_SESSION, values).await.map(drop)
}
