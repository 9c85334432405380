//! Browser sessions and used nonces.

use async_trait::async_trait;
use ep_polling::time::Timestamp;
use futures::FutureExt;

use super::{Database, accounts};
use crate::engine::{Connection, Durability};
use crate::ports::{NewSession, SessionStore, StoreError, StoredSession};
use crate::rows::SessionRow;
use crate::statements as sql;
use crate::token_hash::TokenHash;
use crate::value::values;

#[async_trait]
impl SessionStore for Database {
    async fn start_session(&self, session: &NewSession) -> Result<(), StoreError> {
        let session = session.clone();
        self.0
            .transact(Durability::ProcessCrash, move |db| async move { start(db, &session).await }.boxed())
            .await
    }

    async fn session(&self, hash: &TokenHash) -> Result<Option<StoredSession>, StoreError> {
        let row: Option<SessionRow> = self.0.fetch_by_key(sql::SESSION, values![hash.as_str()]).await?;
        row.map(TryInto::try_into).transpose()
    }

    async fn touch_session(&self, hash: &TokenHash, at: Timestamp) -> Result<(), StoreError> {
        let values = values![hash.as_str(), at];
        self.0.execute(Durability::ProcessCrash, sql::TOUCH_SESSION, values).await.map(drop)
    }

    async fn end_session(&self, hash: &TokenHash) -> Result<Option<StoredSession>, StoreError> {
        let ended: Vec<SessionRow> =
            self.0.fetch_changed(Durability::PowerLoss, sql::END_SESSION, values![hash.as_str()]).await?;
        ended.into_iter().next().map(TryInto::try_into).transpose()
    }

    async fn use_nonce(&self, nonce: &str, expires_at: Timestamp) -> Result<bool, StoreError> {
        Ok(self.0.execute(Durability::PowerLoss, sql::USE_NONCE, values![nonce, expires_at]).await? == 1)
    }

    async fn delete_old_sessions(
        &self,
        used_before: Timestamp,
        started_before: Timestamp,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        self.0.execute(Durability::ProcessCrash, sql::DELETE_USED_NONCES, values![now]).await?;
        let before = values![used_before, started_before];
        self.0.execute(Durability::ProcessCrash, sql::DELETE_OLD_SESSIONS, before).await
    }
}

/// Stores a session. The account is locked first, so that none begins once it is deleted.
async fn start(db: &mut Connection<'_>, session: &NewSession) -> Result<(), StoreError> {
    let NewSession { hash, user, created_at, provider_token } = session;
    accounts::lock_live(db, *user).await?;
    let values = values![hash.as_str(), *user, *created_at, provider_token.as_deref()];
    db.execute(sql::START_SESSION, values).await.map(drop)
}
