//! API keys.

use crate::keys::{Creator, KeyHash, KeyLabel, KeyTerms, SpendingCaps};

use ep_polling::{MicroUsd, Timestamp};

use crate::accounts::Email;
use crate::ids::{KeyId, UserId};
use crate::row::{Columns, FromRow, from_row};
use crate::store_error::Result;

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

from_row!(KeyFunds { available, held });
from_row!(KeySpending { total, today });
from_row!(KeyOwner { key, user, terms });
from_row!(KeyTerms { scope: name, expires_at, caps });
from_row!(SpendingCaps { total, daily });

impl FromRow for StoredKey {
    fn from_row(columns: &mut Columns<'_>) -> Result<Self> {
        Ok(Self {
            id: columns.get()?,
            prefix: columns.get()?,
            label: columns.get()?,
            last_used_at: columns.get()?,
            revoked_at: columns.get()?,
            created_at: columns.get()?,
            terms: columns.get()?,
            funds: {
                let (available, held): (Option<MicroUsd>, Option<MicroUsd>) = columns.get()?;
                available.zip(held).map(|(available, held)| KeyFunds { available, held })
            },
            spent: columns.get()?,
        })
    }
}
