//! Accounts, their keys and their money.

use async_trait::async_trait;

use super::StoreError;
use crate::api_key::KeyHash;
use crate::caller::{KeyId, UserId};
use ep_polling::money::MicroUsd;
use ep_polling::time::Timestamp;

/// A new account.
#[derive(Debug, Clone)]
pub struct NewUser {
    /// Its id.
    pub id: UserId,
    /// Its address, unique whatever its case.
    pub email: String,
    /// Credited at once, if not zero, under a reference that makes it happen once per user.
    pub starter_credit: MicroUsd,
    /// When.
    pub created_at: Timestamp,
}

/// A new key; the plaintext never comes here.
#[derive(Debug, Clone)]
pub struct NewKey {
    /// Its public name.
    pub id: KeyId,
    /// Whose it is.
    pub user: UserId,
    /// What it is recognised by.
    pub hash: KeyHash,
    /// Its first characters.
    pub prefix: String,
    /// What its owner calls it.
    pub label: String,
    /// When.
    pub created_at: Timestamp,
}

/// Whose an active key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyOwner {
    /// The key.
    pub key: KeyId,
    /// The account.
    pub user: UserId,
}

/// An account's money.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Balance {
    /// Credits minus debits.
    pub posted: MicroUsd,
    /// Of that, set aside for running polls.
    pub held: MicroUsd,
    /// Everything captured for polls so far.
    pub used: MicroUsd,
}

impl Balance {
    /// What a new poll can take.
    pub const fn available(&self) -> MicroUsd {
        self.posted.minus(self.held)
    }
}

/// What an audit of the books found. Every list is empty when the books are right.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Audit {
    /// Accounts seen.
    pub accounts: u64,
    /// Transfers seen.
    pub transfers: u64,
    /// Accounts whose posted amount differs from the sum of their transfers.
    pub wrong_posted: Vec<String>,
    /// Accounts whose held amount differs from the sum of their open holds.
    pub wrong_held: Vec<String>,
    /// Open holds whose poll is neither running nor waiting to be settled.
    pub orphaned_holds: Vec<String>,
}

impl Audit {
    /// Whether the books are right.
    pub const fn is_clean(&self) -> bool {
        self.wrong_posted.is_empty() && self.wrong_held.is_empty() && self.orphaned_holds.is_empty()
    }
}

/// Keeps accounts, keys and money. Every change is one transaction, acknowledged only once it survives
/// a power cut.
#[async_trait]
pub trait AccountStore: Send + Sync {
    /// Creates an account with its starter credit. [`StoreError::Conflict`] where the address is taken.
    async fn create_user(&self, user: &NewUser) -> Result<(), StoreError>;

    /// The account with this address.
    async fn user_by_email(&self, email: &str) -> Result<Option<UserId>, StoreError>;

    /// Credits an account once per `reference`: a second call with the same reference changes nothing
    /// and answers `false`. [`StoreError::NotFound`] for an unknown account.
    async fn credit(
        &self,
        user: UserId,
        amount: MicroUsd,
        reference: &str,
        at: Timestamp,
    ) -> Result<bool, StoreError>;

    /// Adds a key.
    async fn add_key(&self, key: &NewKey) -> Result<(), StoreError>;

    /// Whose the key with this hash is, unless it is revoked.
    async fn key_owner(&self, hash: &KeyHash) -> Result<Option<KeyOwner>, StoreError>;

    /// Revokes a key of this user for good; `false` where there is no such active key.
    async fn revoke_key(&self, user: UserId, key: KeyId, at: Timestamp) -> Result<bool, StoreError>;

    /// Notes when keys were last used. May be lost in a crash.
    async fn touch_keys(&self, used: &[(KeyId, Timestamp)]) -> Result<(), StoreError>;

    /// An account's money; `None` for an unknown account.
    async fn balance(&self, user: UserId) -> Result<Option<Balance>, StoreError>;

    /// Proves the books: posted equals the ledger, held equals the open holds, every open hold has a
    /// poll that still needs it.
    async fn audit(&self) -> Result<Audit, StoreError>;
}
