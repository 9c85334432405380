//! Account administration by the operator.

use std::collections::BTreeMap;

use ep_polling::money::MicroUsd;
use ep_polling::time::Timestamp;
use futures::FutureExt;

use super::{Database, accounts, keys, transfers};
use crate::connection::{Connection, Durability};
use crate::handles::Treasury;
use crate::ids::UserId;
use crate::records::{
    CreditOutcome, DatabaseSize, IdentityRecord, IntegrityCheck, MAX_LISTED_USERS, RevokedCredentials,
    StoreError, UserRecord,
};
use crate::statements as sql;
use crate::value::values;

/// Changes accounts for the operator. Changes are acknowledged once a power loss cannot undo them. An unknown
/// user is [`StoreError::NotFound`].
impl Treasury {
    /// Returns up to [`MAX_LISTED_USERS`] users, ordered by id, after this one.
    pub async fn users(&self, after: Option<UserId>) -> Result<Vec<UserRecord>, StoreError> {
        let after = after.map(|user| user.to_string()).unwrap_or_default();
        let users: Vec<UserRecord> =
            self.0.engine.fetch_all(sql::USERS, values![after, MAX_LISTED_USERS]).await?;
        self.0.records(users).await
    }

    /// Returns a user.
    pub async fn user(&self, user: UserId) -> Result<UserRecord, StoreError> {
        let record: Option<UserRecord> = self.0.engine.fetch_optional(sql::USER, values![user]).await?;
        let mut records = self.0.records(record.into_iter().collect()).await?;
        records.pop().ok_or(StoreError::NotFound("account"))
    }

    /// Checks the stored data for damage. Returns a description of each finding. Does nothing on PostgreSQL,
    /// which checks its own files.
    pub async fn check_integrity(&self, check: IntegrityCheck) -> Result<Vec<String>, StoreError> {
        self.0.engine.check_integrity(check).await
    }

    /// Returns the size of the database.
    pub async fn database_size(&self) -> Result<DatabaseSize, StoreError> {
        self.0.engine.database_size().await
    }

    /// Freezes or unfreezes an account. A frozen account cannot spend.
    pub async fn freeze(&self, user: UserId, frozen: bool) -> Result<(), StoreError> {
        self.0
            .engine
            .transact(Durability::PowerLoss, move |db| accounts::freeze(db, user, frozen).boxed())
            .await
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
    ) -> Result<CreditOutcome, StoreError> {
        let reference = reference.to_owned();
        self.0
            .engine
            .transact(Durability::PowerLoss, move |db| {
                async move { transfers::debit(db, user, sql::CREDITS_ACCOUNT, amount, &reference, at).await }
                    .boxed()
            })
            .await
    }

    /// Revokes all keys of a user, and ends all sessions.
    pub async fn lock_out(&self, user: UserId, at: Timestamp) -> Result<RevokedCredentials, StoreError> {
        self.0.engine.transact(Durability::PowerLoss, move |db| lock_out(db, user, at).boxed()).await
    }

    /// Moves all identities of one account to another, and ends the sessions of the first. Money, keys and
    /// polls stay with the first account. Returns the number of identities moved.
    pub async fn merge_identities(&self, from: UserId, into: UserId) -> Result<u64, StoreError> {
        self.0
            .engine
            .transact(Durability::PowerLoss, move |db| {
                async move {
                    accounts::lock(db, into).await?;
                    db.execute(sql::END_SESSIONS, values![from]).await?;
                    db.execute(sql::MOVE_IDENTITIES, values![from, into]).await
                }
                .boxed()
            })
            .await
    }
}

impl Database {
    /// Returns users in the order of their ids, with their identities.
    async fn records(&self, mut users: Vec<UserRecord>) -> Result<Vec<UserRecord>, StoreError> {
        let (Some(first), Some(last)) = (users.first(), users.last()) else { return Ok(Vec::new()) };
        let range = values![first.id, last.id];
        let mut identities: BTreeMap<UserId, Vec<IdentityRecord>> = BTreeMap::new();
        for (user, identity) in self.engine.fetch_all(sql::IDENTITIES, range).await? {
            identities.entry(user).or_default().push(identity);
        }
        for user in &mut users {
            user.identities = identities.remove(&user.id).unwrap_or_default();
        }
        Ok(users)
    }
}

pub(super) async fn lock_out(
    db: &mut Connection<'_>,
    user: UserId,
    at: Timestamp,
) -> Result<RevokedCredentials, StoreError> {
    Ok(RevokedCredentials {
        keys: keys::revoke_all(db, user, at).await?,
        sessions: db.execute(sql::END_SESSIONS, values![user]).await?,
    })
}
