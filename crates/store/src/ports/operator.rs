//! The operator's view of accounts.

use async_trait::async_trait;
use ep_polling::money::MicroUsd;
use ep_polling::time::Timestamp;
use serde::Serialize;

use super::{CreditOutcome, IdentityRecord, StoreError};
use crate::ids::UserId;

/// Maximum number of users per page.
pub const MAX_LISTED_USERS: u32 = 100;

/// Depth of a check of stored data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntegrityCheck {
    /// Every page and every row.
    Quick,
    /// Also every index against its table.
    Full,
}

/// The size of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatabaseSize {
    /// Bytes on the disk, without the write-ahead log.
    pub bytes: u64,
    /// The pages of deleted data, which new data fills. `None` on PostgreSQL.
    pub free: Option<FreePages>,
}

/// Free pages of a database file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreePages {
    /// Their number.
    pub pages: u64,
    /// Their size together.
    pub bytes: u64,
}

/// A user as shown to the operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UserRecord {
    /// The user's id.
    pub id: UserId,
    /// The email address.
    pub email: String,
    /// The time of creation.
    pub created_at: Timestamp,
    /// True if the account is frozen and cannot spend.
    pub frozen: bool,
    /// The identities that sign in to the account.
    pub identities: Vec<IdentityRecord>,
}

/// The numbers of revoked credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RevokedCredentials {
    /// API keys.
    pub keys: u64,
    /// Browser sessions.
    pub sessions: u64,
}

/// Changes accounts for the operator. Changes are acknowledged once a power loss cannot undo them. An unknown
/// user is [`StoreError::NotFound`].
#[async_trait]
pub trait UserAdmin: Send + Sync {
    /// Returns up to [`MAX_LISTED_USERS`] users, ordered by id, after this one.
    async fn users(&self, after: Option<UserId>) -> Result<Vec<UserRecord>, StoreError>;

    /// Returns a user.
    async fn user(&self, user: UserId) -> Result<UserRecord, StoreError>;

    /// Checks the stored data for damage. Returns a description of each finding. Does nothing on PostgreSQL,
    /// which checks its own files.
    async fn check_integrity(&self, check: IntegrityCheck) -> Result<Vec<String>, StoreError>;

    /// Returns the size of the database.
    async fn database_size(&self) -> Result<DatabaseSize, StoreError>;

    /// Freezes or unfreezes an account. A frozen account cannot spend.
    async fn freeze(&self, user: UserId, frozen: bool) -> Result<(), StoreError>;

    /// Debits an amount above zero from the available balance of an account, once per reference.
    /// [`StoreError::InsufficientBalance`] if less is available, [`StoreError::Conflict`] if the reference
    /// was used differently.
    async fn debit(
        &self,
        user: UserId,
        amount: MicroUsd,
        reference: &str,
        at: Timestamp,
    ) -> Result<CreditOutcome, StoreError>;

    /// Revokes all keys of a user, and ends all sessions.
    async fn lock_out(&self, user: UserId, at: Timestamp) -> Result<RevokedCredentials, StoreError>;

    /// Moves all identities of one account to another, and ends the sessions of the first. Money, keys and
    /// polls stay with the first account. Returns the number of identities moved.
    async fn merge_identities(&self, from: UserId, into: UserId) -> Result<u64, StoreError>;
}
