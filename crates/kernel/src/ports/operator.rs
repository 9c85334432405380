//! What the operator does with accounts.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Serialize;

use super::{CreditOutcome, IntegrityCheck, StoreError};
use crate::caller::UserId;
use ep_polling::money::MicroUsd;
use ep_polling::time::Timestamp;

/// The most users that one page lists.
pub const MAX_LISTED_USERS: u32 = 100;

/// A user as the operator sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UserRecord {
    /// Its id.
    pub id: UserId,
    /// Its address.
    pub email: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// Whether it may not spend.
    pub frozen: bool,
    /// What signs in to it.
    pub identities: Vec<IdentityRecord>,
}

/// What signs in to an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct IdentityRecord {
    /// `wallet` or `oidc`.
    pub kind: String,
    /// The provider's issuer URL; empty for a wallet.
    pub issuer: String,
    /// The wallet's address, or the user's id at the provider.
    pub subject: String,
    /// When it signed in first.
    pub created_at: Timestamp,
}

/// A transfer of an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct TransferRecord {
    /// What it was for.
    pub reference: String,
    /// Where the money came from.
    pub from: String,
    /// Where it went.
    pub to: String,
    /// How much, in micro-USD.
    pub amount_micro_usd: i64,
    /// When.
    pub at: Timestamp,
}

/// How much was revoked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockedOut {
    /// API keys.
    pub keys: u64,
    /// Browser sessions.
    pub sessions: u64,
}

/// Changes accounts for the operator. Changes are acknowledged once a power loss cannot undo them. An unknown user is
/// [`StoreError::NotFound`].
#[async_trait]
pub trait UserAdmin: Send + Sync {
    /// Up to [`MAX_LISTED_USERS`] users in the order of their ids, after this one.
    async fn users(&self, after: Option<UserId>) -> Result<Vec<UserRecord>, StoreError>;

    /// A user.
    async fn user(&self, user: UserId) -> Result<UserRecord, StoreError>;

    /// Checks the stored data for damage and describes each finding; an empty list if there is none. PostgreSQL checks
    /// its own files, so nothing is checked there.
    async fn check_integrity(&self, check: IntegrityCheck) -> Result<Vec<String>, StoreError>;

    /// Lets an account spend, or not.
    async fn freeze(&self, user: UserId, frozen: bool) -> Result<(), StoreError>;

    /// Takes an amount above zero of what an account has available, once per reference.
    /// [`StoreError::InsufficientBalance`] if there is less, [`StoreError::Conflict`] if the reference was used for
    /// something else.
    async fn debit(
        &self,
        user: UserId,
        amount: MicroUsd,
        reference: &str,
        at: Timestamp,
    ) -> Result<CreditOutcome, StoreError>;

    /// Revokes all keys of a user, and ends all its sessions.
    async fn lock_out(&self, user: UserId, at: Timestamp) -> Result<LockedOut, StoreError>;

    /// Lets everything that signs in to one account sign in to another one, and ends the sessions of the first.
    /// Money, keys and polls stay where they are. Returns how many identities have moved.
    async fn merge_identities(&self, from: UserId, into: UserId) -> Result<u64, StoreError>;
}
