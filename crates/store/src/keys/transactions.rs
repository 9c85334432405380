//! API keys.

use std::collections::BTreeMap;

use ep_polling::{MicroUsd, Timestamp};

use crate::accounts::account;
use crate::accounts::account::accounts_of;
use crate::connection::Connection;
use crate::handles::Vault;
use crate::ids::{KeyId, UserId};
use crate::keys::Creator;
use crate::keys::KeyHash;
use crate::keys::{
    Added, KeyAccount, KeyFunds, KeyOwner, MAX_ACTIVE_KEYS, MAX_LISTED_KEYS, NewKey, StoredKey,
};
use crate::ledger::transfers;
use crate::store_error::{Result, StoreError};
use crate::value::{day, values};

/// Adds a key, unless its account ($12) already has the maximum number of active keys.
const ADD_KEY: &str = concat!(
    "INSERT INTO api_keys \
         (id, user_id, hash, prefix, label, created_at, expires_at, scope, cap, daily_cap) \
     SELECT $1, $2, $3, $4, $5, $6, $8, $9, $10, $11 \
     WHERE (SELECT COUNT(*) FROM api_keys WHERE user_id IN ",
    accounts_of!("$12"),
    " AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $6)) < $7"
);
/// Includes the balance of pre-funded keys, and the spending of capped ones: total, and on day $3.
pub(crate) const KEYS_OF_USER: &str = concat!(
    "SELECT api_keys.id AS id, prefix, label, last_used_at, revoked_at, created_at, scope, expires_at, cap, daily_cap, \
         CASE WHEN funder IS NULL THEN NULL ELSE posted - held END AS available, \
         CASE WHEN funder IS NULL THEN NULL ELSE held END AS funds_held, \
         CAST(COALESCE((SELECT SUM(amount) FROM key_spending WHERE key_id = api_keys.id), 0) AS BIGINT) AS spent, \
         COALESCE((SELECT amount FROM key_spending WHERE key_id = api_keys.id AND day = $3), 0) AS spent_today \
     FROM api_keys JOIN accounts ON accounts.id = user_id WHERE user_id IN ",
    accounts_of!("$1"),
    " ORDER BY created_at DESC, api_keys.id LIMIT $2"
);
/// The account of an active pre-funded key.
const FUNDED_ACCOUNT: &str = "SELECT user_id AS id FROM api_keys JOIN accounts ON accounts.id = user_id \
     WHERE api_keys.id = $1 AND funder = $2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $3)";
/// Accounts of pre-funded keys with an available balance.
pub(crate) const FUNDED_BY: &str = "SELECT id FROM accounts WHERE funder = $1 AND posted > held ORDER BY id";
/// An active key, by its id, at time $2.
const ACTIVE_KEY: &str = "SELECT user_id AS id FROM api_keys \
     WHERE id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)";
const ANY_SESSION_OF: &str = "SELECT user_id AS id FROM sessions WHERE user_id = $1 LIMIT 1";
const FUNDS: &str = "SELECT posted - held AS available, held FROM accounts WHERE id = $1";
const KEY_OWNER: &str = "SELECT id, user_id, scope, expires_at, cap, daily_cap FROM api_keys \
     WHERE hash = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)";
const REVOKE_KEY: &str = concat!(
    "UPDATE api_keys SET revoked_at = $3 WHERE id = $1 AND revoked_at IS NULL AND user_id IN ",
    accounts_of!("$2"),
    " RETURNING user_id AS id"
);
const REVOKE_KEYS: &str = concat!(
    "UPDATE api_keys SET revoked_at = $2 WHERE revoked_at IS NULL AND user_id IN ",
    accounts_of!("$1"),
    " RETURNING user_id AS id"
);

/// Stores API keys. Adding and revoking are acknowledged once a power loss cannot undo them.
impl Vault {
    /// Adds a key. [`StoreError::NotFound`] for an unknown user, [`StoreError::Conflict`] if the id or the
    /// hash exists.
    pub async fn add_key(&self, key: &NewKey) -> Result<Added> {
        let key = key.clone();
        transact!(self.0, PowerLoss, |db| add(db, &key, key.user).await)
    }

    /// Adds a pre-funded key, creates its account, and moves an amount from the funder's account to it, in
    /// one transaction. Otherwise like [`Self::add_key`]; [`StoreError::InsufficientBalance`] if the
    /// funder has less, [`StoreError::Frozen`] if the funder is frozen.
    pub async fn add_funded_key(&self, key: &NewKey, account: &KeyAccount) -> Result<Added> {
        let (key, KeyAccount { funder, amount, email }) = (key.clone(), account.clone());
        transact!(self.0, PowerLoss, |db| {
            account::may_spend(db, funder).await?;
            account::create(db, key.user, &email, Some(funder), key.created_at).await?;
            let added = add(db, &key, funder).await?;
            if added == Added::Active {
                let reference = format!("fund:{}", key.id);
                transfers::move_funds(db, funder, key.user, amount, &reference, key.created_at).await?;
            }
            Ok(added)
        })
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
    ) -> Result<KeyFunds> {
        let reference = reference.to_owned();
        transact!(self.0, PowerLoss, |db| {
            account::may_spend(db, funder).await?;
            let account = db.fetch_optional(FUNDED_ACCOUNT, values![key, funder, at]).await?;
            let account: UserId = account.ok_or(StoreError::NotFound("pre-funded key"))?;
            account::lock(db, account).await?;
            transfers::move_funds(db, funder, account, amount, &reference, at).await?;
            db.fetch_one(FUNDS, values![account]).await
        })
    }

    /// Returns the newest [`MAX_LISTED_KEYS`] keys of this user, including those it has funded, newest first.
    pub async fn keys_of(&self, user: UserId, now: Timestamp) -> Result<Vec<StoredKey>> {
        self.0.fetch_all(KEYS_OF_USER, values![user, MAX_LISTED_KEYS, day(now)]).await
    }

    /// Returns the id, user and terms of the key with this hash, unless it is revoked or expired.
    pub async fn key_owner(&self, hash: &KeyHash, now: Timestamp) -> Result<Option<KeyOwner>> {
        self.0.fetch_by_key(KEY_OWNER, values![hash.as_str(), now]).await
    }

    /// Revokes a key of this user, or one that it has funded, for good. Returns `false` if the user has no
    /// such active key. The remaining money of a pre-funded key returns to the funder; holds return when
    /// their polls are settled.
    pub async fn revoke_key(&self, user: UserId, key: KeyId, at: Timestamp) -> Result<bool> {
        transact!(self.0, PowerLoss, |db| {
            account::lock(db, user).await?;
            match db.fetch_optional(REVOKE_KEY, values![key, user, at]).await? {
                Some(account) => return_from(db, account, user, at).await.map(|()| true),
                None => Ok(false),
            }
        })
    }

    /// Revokes all active keys of the new key's user, including those it has funded, and adds the new key, in
    /// one transaction. Returns the number of revoked keys. [`StoreError::NotFound`] for an unknown user.
    pub async fn rotate_keys(&self, key: &NewKey) -> Result<u32> {
        let key = key.clone();
        transact!(self.0, PowerLoss, |db| {
            // The account stays locked, so that no concurrently added key remains.
            let revoked = revoke_all(db, key.user, key.created_at).await?;
            add(db, &key, key.user).await?;
            Ok(revoked as u32)
        })
    }

    /// Stores the times of the last uses of keys. Unknown keys are ignored. A power loss may undo it.
    pub async fn touch_keys(&self, used: &[(KeyId, Timestamp)]) -> Result<()> {
        let mut last_uses = BTreeMap::new();
        for (key, at) in used {
            let last = last_uses.entry(key.to_string()).or_insert(at.millis());
            *last = at.millis().max(*last);
        }
        self.0.touch_keys(last_uses.into_iter().collect()).await
    }
}

/// Adds a key that counts for an account. Locks the account first, so that concurrent additions are counted
/// one after the other.
pub(crate) async fn add(db: &mut Connection<'_>, key: &NewKey, counts_for: UserId) -> Result<Added> {
    let NewKey { id, user, hash, prefix, label, terms, creator, created_at } = key;
    account::lock_live(db, counts_for).await?;
    let creator: Option<UserId> = match creator {
        Creator::Key(key) => db.fetch_optional(ACTIVE_KEY, values![*key, *created_at]).await?,
        Creator::Session => db.fetch_optional(ANY_SESSION_OF, values![counts_for]).await?,
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
    Ok(match db.execute(ADD_KEY, values).await? {
        1 => Added::Active,
        _ => Added::TooMany,
    })
}

/// Revokes all active keys of a user, including the pre-funded ones; returns their number. Locks the account
/// first, so that no concurrently added key remains.
pub(crate) async fn revoke_all(db: &mut Connection<'_>, user: UserId, at: Timestamp) -> Result<u64> {
    account::lock(db, user).await?;
    let revoked: Vec<UserId> = db.fetch_all(REVOKE_KEYS, values![user, at]).await?;
    for account in &revoked {
        return_from(db, *account, user, at).await?;
    }
    Ok(revoked.len() as u64)
}

/// Returns the balance of a revoked key to its funder, if the key has its own account.
async fn return_from(db: &mut Connection<'_>, account: UserId, funder: UserId, at: Timestamp) -> Result<()> {
    if account == funder {
        return Ok(());
    }
    transfers::return_funds(db, account, funder, &format!("return:{account}"), at).await
}

/// Returns the available balances of the pre-funded keys of a locked account, and locks their accounts.
pub(crate) async fn available_on_keys(
    db: &mut Connection<'_>,
    funder: UserId,
) -> Result<Vec<(UserId, MicroUsd)>> {
    let mut accounts = Vec::new();
    for account in db.fetch_all(FUNDED_BY, values![funder]).await? {
        accounts.push((account, account::lock(db, account).await?.available));
    }
    Ok(accounts)
}

/// Debits an amount from pre-funded keys with these available balances.
pub(crate) async fn reclaim(
    db: &mut Connection<'_>,
    funder: UserId,
    on_keys: Vec<(UserId, MicroUsd)>,
    mut needed: MicroUsd,
    reference: &str,
    at: Timestamp,
) -> Result<()> {
    for (account, available) in on_keys {
        let amount = available.min(needed);
        if !amount.is_zero() {
            transfers::move_funds(db, account, funder, amount, &format!("{reference}:{account}"), at).await?;
            needed = needed.minus(amount);
        }
    }
    Ok(())
}
