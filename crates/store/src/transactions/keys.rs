//! API keys.

use std::collections::BTreeMap;

use async_trait::async_trait;
use futures::FutureExt;

use ep_kernel::api_key::KeyHash;
use ep_kernel::caller::{KeyId, UserId};
use ep_kernel::ports::{
    Added, KeyOwner, KeyStore, MAX_ACTIVE_KEYS, MAX_LISTED_KEYS, NewKey, StoreError, StoredKey,
};
use ep_polling::time::Timestamp;

use super::Database;
use crate::engine::{Connection, Durability, Engine};
use crate::rows::{AvailableRow, KeyOwnerRow, StoredKeyRow};
use crate::statements as sql;
use crate::value::values;

#[async_trait]
impl<E: Engine> KeyStore for Database<E> {
    async fn add_key(&self, key: &NewKey) -> Result<Added, StoreError> {
        let key = key.clone();
        self.0.transact(Durability::PowerLoss, move |db| async move { add(db, &key).await }.boxed()).await
    }

    async fn keys_of(&self, user: UserId) -> Result<Vec<StoredKey>, StoreError> {
        let keys: Vec<StoredKeyRow> =
            self.0.fetch_all(sql::KEYS_OF_USER, values![user, MAX_LISTED_KEYS]).await?;
        keys.into_iter().map(TryInto::try_into).collect()
    }

    async fn key_owner(&self, hash: &KeyHash, now: Timestamp) -> Result<Option<KeyOwner>, StoreError> {
        let owner: Option<KeyOwnerRow> =
            self.0.fetch_optional(sql::KEY_OWNER, values![hash.as_str(), now]).await?;
        owner.map(TryInto::try_into).transpose()
    }

    async fn revoke_key(&self, user: UserId, key: KeyId, at: Timestamp) -> Result<bool, StoreError> {
        let revoked = self.0.execute(Durability::PowerLoss, sql::REVOKE_KEY, values![key, user, at]).await?;
        Ok(revoked == 1)
    }

    async fn rotate_keys(&self, key: &NewKey) -> Result<u32, StoreError> {
        let key = key.clone();
        self.0.transact(Durability::PowerLoss, move |db| async move { rotate(db, &key).await }.boxed()).await
    }

    async fn touch_keys(&self, used: &[(KeyId, Timestamp)]) -> Result<(), StoreError> {
        let mut last_uses = BTreeMap::new();
        for (key, at) in used {
            let last = last_uses.entry(key.to_string()).or_insert(at.millis());
            *last = at.millis().max(*last);
        }
        self.0.touch_keys(last_uses.into_iter().collect()).await
    }
}

/// Adds a key. The account is locked first, so that keys added at once are counted one after the other.
pub(super) async fn add<C: Connection>(db: &mut C, key: &NewKey) -> Result<Added, StoreError> {
    let NewKey { id, user, hash, prefix, label, terms, created_at } = key;
    lock_account(db, *user).await?;
    let values = values![
        *id,
        *user,
        hash.as_str(),
        &**prefix,
        label.as_str(),
        *created_at,
        MAX_ACTIVE_KEYS,
        terms.expires_at,
        terms.scope.as_str(),
    ];
    Ok(match db.execute(sql::ADD_KEY, values).await? {
        1 => Added::Active,
        _ => Added::TooMany,
    })
}

/// Replaces all active keys by this one. The account is locked first, so that no key that is added meanwhile stays.
async fn rotate<C: Connection>(db: &mut C, key: &NewKey) -> Result<u32, StoreError> {
    lock_account(db, key.user).await?;
    let revoked = db.execute(sql::REVOKE_KEYS, values![key.user, key.created_at]).await?;
    add(db, key).await?;
    Ok(revoked as u32)
}

async fn lock_account<C: Connection>(db: &mut C, user: UserId) -> Result<(), StoreError> {
    let account: Option<AvailableRow> = db.fetch_optional(C::AVAILABLE, values![user]).await?;
    account.map(drop).ok_or(StoreError::NotFound("account"))
}
