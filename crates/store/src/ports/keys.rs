//! API keys.

use async_trait::async_trait;
use ep_polling::money::MicroUsd;
use ep_polling::time::Timestamp;

use super::StoreError;
use crate::email::Email;
use crate::ids::{KeyId, UserId};
use crate::key_hash::KeyHash;
use crate::key_label::KeyLabel;
use crate::key_terms::Creator;
use crate::key_terms::KeyTerms;

/// A new key, without its plaintext, which is never stored.
#[derive(Debug, Clone)]
pub struct NewKey {
    /// The public id.
    pub id: KeyId,
    /// The user it belongs to.
    pub user: UserId,
    /// The hash used for lookups.
    pub hash: KeyHash,
    /// The first characters.
    pub prefix: String,
    /// The owner's label.
    pub label: KeyLabel,
    /// The scope, expiry and caps.
    pub terms: KeyTerms,
    /// The credential that creates it.
    pub creator: Creator,
    /// The time of issue.
    pub created_at: Timestamp,
}

/// The account of a new pre-funded key. Only this key spends from it.
#[derive(Debug, Clone)]
pub struct KeyAccount {
    /// The account that pays.
    pub funder: UserId,
    /// The amount moved onto the key.
    pub amount: MicroUsd,
    /// An address that receives no mail.
    pub email: Email,
}

/// The money of a pre-funded key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyFunds {
    /// The amount available for a new poll.
    pub available: MicroUsd,
    /// The amount held for running polls.
    pub held: MicroUsd,
}

/// The cost and holds of the polls of a capped key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KeySpending {
    /// In total.
    pub total: MicroUsd,
    /// Of polls opened today, in UTC.
    pub today: MicroUsd,
}

/// An active key and its user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyOwner {
    /// The key.
    pub key: KeyId,
    /// The user.
    pub user: UserId,
    /// The scope, expiry and caps.
    pub terms: KeyTerms,
}

/// Maximum number of active keys per account.
pub const MAX_ACTIVE_KEYS: u32 = 100;
/// Maximum number of keys listed, including revoked ones: the newest.
pub const MAX_LISTED_KEYS: u32 = 1000;

/// The outcome of adding a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// The key is active.
    Active,
    /// The user already has [`MAX_ACTIVE_KEYS`] active keys.
    TooMany,
    /// The creating credential is no longer valid.
    CreatorEnded,
}

/// A key as shown to its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredKey {
    /// The public id.
    pub id: KeyId,
    /// The first characters.
    pub prefix: String,
    /// The owner's label; may be empty.
    pub label: String,
    /// The scope, expiry and caps.
    pub terms: KeyTerms,
    /// The key's own money; `None` if it spends its owner's.
    pub funds: Option<KeyFunds>,
    /// The spending of a capped key; zero without a cap.
    pub spent: KeySpending,
    /// The time of the last use, to within the interval between two writes.
    pub last_used_at: Option<Timestamp>,
    /// The time of revocation.
    pub revoked_at: Option<Timestamp>,
    /// The time of issue.
    pub created_at: Timestamp,
}

/// Stores API keys. Adding and revoking are acknowledged once a power loss cannot undo them.
#[async_trait]
pub trait KeyStore: Send + Sync {
    /// Adds a key. [`StoreError::NotFound`] for an unknown user, [`StoreError::Conflict`] if the id or the
    /// hash exists.
    async fn add_key(&self, key: &NewKey) -> Result<Added, StoreError>;

    /// Adds a pre-funded key, creates its account, and moves an amount from the funder's account to it, in
    /// one transaction. Otherwise like [`KeyStore::add_key`]; [`StoreError::InsufficientBalance`] if the
    /// funder has less, [`StoreError::Frozen`] if the funder is frozen.
    async fn add_funded_key(&self, key: &NewKey, account: &KeyAccount) -> Result<Added, StoreError>;

    /// Moves an amount from an account to its active pre-funded key, once per `reference`. Returns the money
    /// on the key. [`StoreError::NotFound`] if the account has no such key, [`StoreError::Conflict`] if the
    /// reference was used differently; otherwise like [`KeyStore::add_funded_key`].
    async fn fund_key(
        &self,
        funder: UserId,
        key: KeyId,
        amount: MicroUsd,
        reference: &str,
        at: Timestamp,
    ) -> Result<KeyFunds, StoreError>;

    /// Returns the newest [`MAX_LISTED_KEYS`] keys of this user, including those it has funded, newest first.
    async fn keys_of(&self, user: UserId, now: Timestamp) -> Result<Vec<StoredKey>, StoreError>;

    /// Returns the id, user and terms of the key with this hash, unless it is revoked or expired.
    async fn key_owner(&self, hash: &KeyHash, now: Timestamp) -> Result<Option<KeyOwner>, StoreError>;

    /// Revokes a key of this user, or one that it has funded, for good. Returns `false` if the user has no
    /// such active key. The remaining money of a pre-funded key returns to the funder; holds return when
    /// their polls are settled.
    async fn revoke_key(&self, user: UserId, key: KeyId, at: Timestamp) -> Result<bool, StoreError>;

    /// Revokes all active keys of the new key's user, including those it has funded, and adds the new key, in
    /// one transaction. Returns the number of revoked keys. [`StoreError::NotFound`] for an unknown user.
    async fn rotate_keys(&self, key: &NewKey) -> Result<u32, StoreError>;

    /// Stores the times of the last uses of keys. Unknown keys are ignored. A power loss may undo it.
    async fn touch_keys(&self, used: &[(KeyId, Timestamp)]) -> Result<(), StoreError>;
}
