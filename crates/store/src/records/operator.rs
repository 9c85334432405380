//! The operator's view of accounts.

use ep_polling::time::Timestamp;
use serde::Serialize;

use super::IdentityRecord;
use super::StoreError;
use crate::ids::UserId;
use crate::row::{Columns, FromRow};

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

/// Decodes the columns of [`UserRecord`] without its identities.
impl FromRow for UserRecord {
    fn from_row(columns: &mut Columns<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            id: columns.get()?,
            email: columns.get()?,
            created_at: columns.get()?,
            frozen: columns.get()?,
            identities: Vec::new(),
        })
    }
}
