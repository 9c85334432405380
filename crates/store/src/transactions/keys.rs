//! API keys.

use std::collections::BTreeMap;

use ep_polling::money::MicroUsd;
use ep_polling::time::Timestamp;
use futures::FutureExt;

use super::{accounts, day, transfers};
use crate::connection::{Connection, Durability};
use crate::handles::Vault;
use crate::ids::{KeyId, UserId};
use crate::key_hash::KeyHash;
use crate::key_terms::Creator;
use crate::records::{
    Added, KeyAccount, KeyFunds, KeyOwner, MAX_ACTIVE_KEYS, MAX_LISTED_KEYS, NewKey, StoreError, StoredKey,
};
use crate::statements as sql;
use crate::value::values;

/// Stores API keys. Adding and revoking are acknowledged once a power loss cannot undo them.
impl Vault {
    /// Adds a key. [`StoreError::NotFound`] for an unknown user, [`StoreError::Conflict`] if the id or the
    /// hash exists.
    pub async fn add_key(&self, key: &NewKey) -> Result<Added, StoreError> {
        let key = key.clone();
        self.0
            .engine
            .transact(Durability::PowerLoss, move |db| async move { add(db, &key, key.user).await }.boxed())
            .await
    }

    /// Adds a pre-funded key, creates its account, and moves an amount from the funder's account to it, in
    /// one transaction. Otherwise like [`Self::add_key`]; [`StoreError::InsufficientBalance`] if the
    /// funder has less, [`StoreError::Frozen`] if the funder is frozen.
    pub async fn add_funded_key(&self, key: &NewKey, account: &KeyAccount) -> Result<Added, StoreError> {
        let (key, account) = (key.clone(), account.clone());
        self.0
            .engine
            .transact(Durability::PowerLoss, move |db| {
                async move { add_funded(db, &key, &account).await }.boxed()
            })
            .await
    }

    /// Moves an amount from an account to its active pre-funded key, once per `reference`. Returns the money
    /// on the key. [`StoreError::NotFound`] if the account has no such key, [`StoreError::Conflict`] if the
    /// reference was used differently; otherwise like [`Self::add_funded_key`].
    pub async fn fund_key(
        &self,
        funder: UserId,
        key: KeyId,
        amount: MicroUsd,
        reference: &str,
        at: Timestamp,
    ) -> Result<KeyFunds, StoreError> {
        let reference = reference.to_owned();
        self.0
            .engine
            .transact(Durability::PowerLoss, move |db| {
                async move { fund(db, funder, key, amount, &reference, at).await }.boxed()
            })
            .await
    }

    /// Returns the newest [`MAX_LISTED_KEYS`] keys of this user, including those it has funded, newest first.
    pub async fn keys_of(&self, user: UserId, now: Timestamp) -> Result<Vec<StoredKey>, StoreError> {
        let values = values![user, MAX_LISTED_KEYS, day(now)];
        self.0.engine.fetch_all(sql::KEYS_OF_USER, values).await
    }

    /// Returns the id, user and terms of the key with this hash, unless it is revoked or expired.
    pub async fn key_owner(&self, hash: &KeyHash, now: Timestamp) -> Result<Option<KeyOwner>, StoreError> {
        self.0.engine.fetch_by_key(sql::KEY_OWNER, values![hash.as_str(), now]).await
    }

    /// Revokes a key of this user, or one that it has funded, for good. Returns `false` if the user has no
    /// such active key. The remaining money of a pre-funded key returns to the funder; holds return when
    /// their polls are settled.
    pub async fn revoke_key(&self, user: UserId, key: KeyId, at: Timestamp) -> Result<bool, StoreError> {
        self.0.engine.transact(Durability::PowerLoss, move |db| revoke(db, user, key, at).boxed()).await
    }

    /// Revokes all active keys of the new key's user, including those it has funded, and adds the new key, in
    /// one transaction. Returns the number of revoked keys. [`StoreError::NotFound`] for an unknown user.
    pub async fn rotate_keys(&self, key: &NewKey) -> Result<u32, StoreError> {
        let key = key.clone();
        self.0
            .engine
            .transact(Durability::PowerLoss, move |db| async move { rotate(db, &key).await }.boxed())
            .await
    }

    /// Stores the times of the last uses of keys. Unknown keys are ignored. A power loss may undo it.
    pub async fn touch_keys(&self, used: &[(KeyId, Timestamp)]) -> Result<(), StoreError> {
        let mut last_uses = BTreeMap::new();
        for (key, at) in used {
            let last = last_uses.entry(key.to_string()).or_insert(at.millis());
            *last = at.millis().max(*last);
        }
        self.0.engine.touch_keys(last_uses.into_iter().collect()).await
    }
}

/// Adds a key that counts for an account. Locks the account first, so that concurrent additions are counted
/// one after the other.
pub(super) async fn add(
    db: &mut Connection<'_>,
    key: &NewKey,
    counts_for: UserId,
) -> Result<Added, StoreError> {
    let NewKey { id, user, hash, prefix, label, terms, creator, created_at } = key;
    accounts::lock_live(db, counts_for).await?;
    let creator: Option<UserId> = match creator {
        Creator::Key(key) => db.fetch_optional(sql::ACTIVE_KEY, values![*key, *created_at]).await?,
        Creator::Session => db.fetch_optional(sql::ANY_SESSION_OF, values![counts_for]).await?,
        Creator::Proof => Some(counts_for),
    };
    if creator.is_none() {
        return Ok(Added::CreatorEnded);
    }
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
        terms.caps.total,
        terms.caps.daily,
        counts_for,
    ];
    Ok(match db.execute(sql::ADD_KEY, values).await? {
        1 => Added::Active,
        _ => Added::TooMany,
    })
}

/// Replaces all active keys with this one. Locks the account first, so that no concurrently added key
/// remains.
async fn rotate(db: &mut Connection<'_>, key: &NewKey) -> Result<u32, StoreError> {
    let revoked = revoke_all(db, key.user, key.created_at).await?;
    add(db, key, key.user).await?;
    Ok(revoked as u32)
}

/// Adds a key with its own account, and moves an amount to that account.
async fn add_funded(
    db: &mut Connection<'_>,
    key: &NewKey,
    KeyAccount { funder, amount, email }: &KeyAccount,
) -> Result<Added, StoreError> {
    accounts::may_spend(db, *funder).await?;
    accounts::create(db, key.user, email, Some(*funder), key.created_at).await?;
    let added = add(db, key, *funder).await?;
    if added == Added::Active {
        let reference = format!("fund:{}", key.id);
        transfers::move_funds(db, *funder, key.user, *amount, &reference, key.created_at).await?;
    }
    Ok(added)
}

async fn fund(
    db: &mut Connection<'_>,
    funder: UserId,
    key: KeyId,
    amount: MicroUsd,
    reference: &str,
    at: Timestamp,
) -> Result<KeyFunds, StoreError> {
    accounts::may_spend(db, funder).await?;
    let account = db.fetch_optional(sql::FUNDED_ACCOUNT, values![key, funder, at]).await?;
    let account: UserId = account.ok_or(StoreError::NotFound("pre-funded key"))?;
    accounts::lock(db, account).await?;
    transfers::move_funds(db, funder, account, amount, reference, at).await?;
    db.fetch_one(sql::FUNDS, values![account]).await
}

async fn revoke(
    db: &mut Connection<'_>,
    user: UserId,
    key: KeyId,
    at: Timestamp,
) -> Result<bool, StoreError> {
    accounts::lock(db, user).await?;
    match db.fetch_optional(sql::REVOKE_KEY, values![key, user, at]).await? {
        Some(account) => return_from(db, account, user, at).await.map(|()| true),
        None => Ok(false),
    }
}

/// Revokes all active keys of a user, including the pre-funded ones; returns their number. Locks the account
/// first, so that no concurrently added key remains.
pub(super) async fn revoke_all(
    db: &mut Connection<'_>,
    user: UserId,
    at: Timestamp,
) -> Result<u64, StoreError> {
    accounts::lock(db, user).await?;
    let revoked: Vec<UserId> = db.fetch_all(sql::REVOKE_KEYS, values![user, at]).await?;
    for account in &revoked {
        return_from(db, *account, user, at).await?;
    }
    Ok(revoked.len() as u64)
}

/// Returns the balance of a revoked key to its funder, if the key has its own account.
async fn return_from(
    db: &mut Connection<'_>,
    account: UserId,
    funder: UserId,
    at: Timestamp,
) -> Result<(), StoreError> {
    if account == funder {
        return Ok(());
    }
    transfers::return_funds(db, account, funder, &format!("return:{account}"), at).await
}

/// Returns the available balances of the pre-funded keys of a locked account, and locks their accounts.
pub(super) async fn available_on_keys(
    db: &mut Connection<'_>,
    funder: UserId,
) -> Result<Vec<(UserId, MicroUsd)>, StoreError> {
    let mut accounts = Vec::new();
    for account in db.fetch_all(sql::FUNDED_BY, values![funder]).await? {
        accounts.push((account, accounts::lock(db, account).await?.available));
    }
    Ok(accounts)
}

/// Debits an amount from pre-funded keys with these available balances.
pub(super) async fn reclaim(
    db: &mut Connection<'_>,
    funder: UserId,
    on_keys: Vec<(UserId, MicroUsd)>,
    mut needed: MicroUsd,
    reference: &str,
    at: Timestamp,
) -> Result<(), StoreError> {
    for (account, available) in on_keys {
        let amount = available.min(needed);
        if !amount.is_zero() {
            transfers::move_funds(db, account, funder, amount, &format!("{reference}:{account}"), at).await?;
            needed = needed.minus(amount);
        }
    }
    Ok(())
}
