//! API keys.

use async_trait::async_trait;

use super::StoreError;
use crate::api_key::KeyHash;
use crate::caller::{Creator, KeyId, UserId};
use crate::email::Email;
use crate::key_label::KeyLabel;
use crate::key_terms::KeyTerms;
use ep_polling::money::MicroUsd;
use ep_polling::time::Timestamp;

/// A new key, without its plaintext: that is never stored.
#[derive(Debug, Clone)]
pub struct NewKey {
    /// Its public id.
    pub id: KeyId,
    /// The user it belongs to.
    pub user: UserId,
    /// The hash it is found by.
    pub hash: KeyHash,
    /// Its first characters.
    pub prefix: String,
    /// What its owner calls it.
    pub label: KeyLabel,
    /// Its scope, expiry and caps.
    pub terms: KeyTerms,
    /// The credential that creates it.
    pub creator: Creator,
    /// When it was issued.
    pub created_at: Timestamp,
}

/// The account of a new pre-funded key, which alone spends from it.
#[derive(Debug, Clone)]
pub struct KeyAccount {
    /// The account that pays.
    pub funder: UserId,
    /// How much it moves onto the key.
    pub amount: MicroUsd,
    /// An address at which nobody can be reached.
    pub email: Email,
}

/// The money of a pre-funded key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyFunds {
    /// What a new poll can use.
    pub available: MicroUsd,
    /// Set aside for running polls.
    pub held: MicroUsd,
}

/// What the polls of a capped key have cost, or hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KeySpending {
    /// In all.
    pub total: MicroUsd,
    /// Those opened today, in UTC.
    pub today: MicroUsd,
}

/// An active key and its user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyOwner {
    /// The key.
    pub key: KeyId,
    /// The user.
    pub user: UserId,
    /// Its scope, expiry and caps.
    pub terms: KeyTerms,
}

/// The most active keys of one account.
pub const MAX_ACTIVE_KEYS: u32 = 100;
/// The most keys that are listed, revoked ones included: the newest.
pub const MAX_LISTED_KEYS: u32 = 1000;

/// What became of a new key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// It is active.
    Active,
    /// The user has [`MAX_ACTIVE_KEYS`] active keys already.
    TooMany,
    /// The creating credential is no longer valid.
    CreatorEnded,
}

/// A key as its owner sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredKey {
    /// Its public id.
    pub id: KeyId,
    /// Its first characters.
    pub prefix: String,
    /// What its owner calls it; empty if nothing.
    pub label: String,
    /// Its scope, expiry and caps.
    pub terms: KeyTerms,
    /// Its own money; `None` if it spends its owner's.
    pub funds: Option<KeyFunds>,
    /// What it has spent, if it is capped; zero if it is not.
    pub spent: KeySpending,
    /// When it was last used, to within the time between two writes.
    pub last_used_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// When it was issued.
    pub created_at: Timestamp,
}

/// Keeps API keys. Adding and revoking are acknowledged once a power loss cannot undo them.
#[async_trait]
pub trait KeyStore: Send + Sync {
    /// Adds a key. [`StoreError::NotFound`] for an unknown user, [`StoreError::Conflict`] if the id or the
    /// hash exists.
    async fn add_key(&self, key: &NewKey) -> Result<Added, StoreError>;

    /// Adds a pre-funded key, for whose user an account is made, and moves an amount from the funder's to it, in
    /// one transaction. Otherwise like [`KeyStore::add_key`]; [`StoreError::InsufficientBalance`] if the funder has
    /// less, [`StoreError::Frozen`] if it may not spend.
    async fn add_funded_key(&self, key: &NewKey, account: &KeyAccount) -> Result<Added, StoreError>;

    /// Moves an amount from an account to an active pre-funded key that it has funded, once per `reference`; gives
    /// what is on the key. [`StoreError::NotFound`] if there is no such key, [`StoreError::Conflict`] if the reference
    /// was used for something else; otherwise like [`KeyStore::add_funded_key`].
    async fn fund_key(
        &self,
        funder: UserId,
        key: KeyId,
        amount: MicroUsd,
        reference: &str,
        at: Timestamp,
    ) -> Result<KeyFunds, StoreError>;

    /// The newest [`MAX_LISTED_KEYS`] keys of this user, those it has funded included, newest first.
    async fn keys_of(&self, user: UserId, now: Timestamp) -> Result<Vec<StoredKey>, StoreError>;

    /// The key with this hash and its user, unless it is revoked or has expired.
    async fn key_owner(&self, hash: &KeyHash, now: Timestamp) -> Result<Option<KeyOwner>, StoreError>;

    /// Revokes a key of this user, or one that it has funded, for good; `false` if the user has no such active key.
    /// What is left on a pre-funded key returns to the funder: what is held for running polls, when they are settled.
    async fn revoke_key(&self, user: UserId, key: KeyId, at: Timestamp) -> Result<bool, StoreError>;

    /// Revokes all active keys of the new key's user, those it has funded included, and adds it, in one transaction; gives how many were
    /// revoked. [`StoreError::NotFound`] for an unknown user.
    async fn rotate_keys(&self, key: &NewKey) -> Result<u32, StoreError>;

    /// Stores when keys were last used; unknown keys are ignored. A power loss may undo it.
    async fn touch_keys(&self, used: &[(KeyId, Timestamp)]) -> Result<(), StoreError>;
}
