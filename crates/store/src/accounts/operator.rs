//! The operator's view of accounts.

use std::collections::BTreeMap;

use ep_polling::{MicroUsd, Timestamp};
use serde::Serialize;

use crate::accounts::IdentityRecord;
use crate::accounts::account;
use crate::accounts::users::IDENTITIES;
use crate::connection::Connection;
use crate::database::Database;
use crate::handles::Treasury;
use crate::ids::UserId;
use crate::keys::transactions as keys;
use crate::ledger::transactions::CREDITS_ACCOUNT;
use crate::ledger::{CreditOutcome, transfers};
use crate::maintenance::{DatabaseSize, IntegrityCheck};
use crate::row::from_row;
use crate::store_error::{Result, StoreError};
use crate::value::values;

/// Maximum number of users per page.
pub const MAX_LISTED_USERS: u32 = 100;

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

from_row!(UserRecord { id, email, created_at, frozen, identities: default });

macro_rules! users {
    () => {
        "SELECT users.id AS id, email, users.created_at AS created_at, frozen \
         FROM users JOIN accounts ON accounts.id = users.id WHERE "
    };
}

const USER: &str = concat!(users!(), "users.id = $1");
pub(crate) const USERS: &str =
    concat!(users!(), "funder IS NULL AND users.id > $1 ORDER BY users.id LIMIT $2");
const MOVE_IDENTITIES: &str = "UPDATE identities SET user_id = $2 WHERE user_id = $1";
const END_SESSIONS: &str = "DELETE FROM sessions WHERE user_id = $1";

/// Changes accounts for the operator. Changes are acknowledged once a power loss cannot undo them. An unknown
/// user is [`StoreError::NotFound`].
impl Treasury {
    /// Returns up to [`MAX_LISTED_USERS`] users, ordered by id, after this one.
    pub async fn users(&self, after: Option<UserId>) -> Result<Vec<UserRecord>> {
        let after = after.map(|user| user.to_string()).unwrap_or_default();
        let users: Vec<UserRecord> = self.0.fetch_all(USERS, values![after, MAX_LISTED_USERS]).await?;
        self.0.records(users).await
    }

    /// Returns a user.
    pub async fn user(&self, user: UserId) -> Result<UserRecord> {
        let record: Option<UserRecord> = self.0.fetch_optional(USER, values![user]).await?;
        let mut records = self.0.records(record.into_iter().collect()).await?;
        records.pop().ok_or(StoreError::NotFound("account"))
    }

    /// Checks the stored data for damage. Returns a description of each finding. Does nothing on PostgreSQL,
    /// which checks its own files.
    pub async fn check_integrity(&self, check: IntegrityCheck) -> Result<Vec<String>> {
        self.0.check_integrity(check).await
    }

    /// Returns the size of the database.
    pub async fn database_size(&self) -> Result<DatabaseSize> {
        self.0.database_size().await
    }

    /// Freezes or unfreezes an account. A frozen account cannot spend.
    pub async fn freeze(&self, user: UserId, frozen: bool) -> Result<()> {
        transact!(self.0, PowerLoss, |db| account::freeze(db, user, frozen).await)
    }

    /// Debits an amount above zero from the available balance of an account, once per reference.
    /// [`StoreError::InsufficientBalance`] if less is available, [`StoreError::Conflict`] if the reference
    /// was used differently.
    pub async fn debit(
        &self,
        user: UserId,
        amount: MicroUsd,
        reference: &str,
        at: Timestamp,
    ) -> Result<CreditOutcome> {
        let reference = reference.to_owned();
        transact!(self.0, PowerLoss, |db| {
            transfers::debit(db, user, CREDITS_ACCOUNT, amount, &reference, at).await
        })
    }

    /// Revokes all keys of a user, and ends all sessions.
    pub async fn lock_out(&self, user: UserId, at: Timestamp) -> Result<RevokedCredentials> {
        transact!(self.0, PowerLoss, |db| lock_out(db, user, at).await)
    }

    /// Moves all identities of one account to another, and ends the sessions of the first. Money, keys and
    /// polls stay with the first account. Returns the number of identities moved.
    pub async fn merge_identities(&self, from: UserId, into: UserId) -> Result<u64> {
        transact!(self.0, PowerLoss, |db| {
            account::lock(db, into).await?;
            db.execute(END_SESSIONS, values![from]).await?;
            db.execute(MOVE_IDENTITIES, values![from, into]).await
        })
    }
}

impl Database {
    /// Returns users in the order of their ids, with their identities.
    async fn records(&self, mut users: Vec<UserRecord>) -> Result<Vec<UserRecord>> {
        let (Some(first), Some(last)) = (users.first(), users.last()) else { return Ok(Vec::new()) };
        let range = values![first.id, last.id];
        let mut identities: BTreeMap<UserId, Vec<IdentityRecord>> = BTreeMap::new();
        for (user, identity) in self.engine.fetch_all(IDENTITIES, range).await? {
            identities.entry(user).or_default().push(identity);
        }
        for user in &mut users {
            user.identities = identities.remove(&user.id).unwrap_or_default();
        }
        Ok(users)
    }
}

pub(crate) async fn lock_out(
    db: &mut Connection<'_>,
    user: UserId,
    at: Timestamp,
) -> Result<RevokedCredentials> {
    Ok(RevokedCredentials {
        keys: keys::revoke_all(db, user, at).await?,
        sessions: db.execute(END_SESSIONS, values![user]).await?,
    })
}
