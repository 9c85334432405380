//! Account administration by the operator.

use std::collections::BTreeMap;

use async_trait::async_trait;
use ep_polling::money::MicroUsd;
use ep_polling::time::Timestamp;
use futures::FutureExt;

use super::{Database, accounts, keys, transfers};
use crate::engine::{Connection, Durability};
use crate::ids::UserId;
use crate::ports::{
    CreditOutcome, DatabaseSize, IdentityRecord, IntegrityCheck, MAX_LISTED_USERS, RevokedCredentials,
    StoreError, UserAdmin, UserRecord,
};
use crate::rows::{self, IdentityRow, UserRow};
use crate::statements as sql;
use crate::value::values;

#[async_trait]
impl UserAdmin for Database {
    async fn users(&self, after: Option<UserId>) -> Result<Vec<UserRecord>, StoreError> {
        let after = after.map(|user| user.to_string()).unwrap_or_default();
        let users: Vec<UserRow> = self.0.fetch_all(sql::USERS, values![after, MAX_LISTED_USERS]).await?;
        self.records(users).await
    }

    async fn user(&self, user: UserId) -> Result<UserRecord, StoreError> {
        let row: Option<UserRow> = self.0.fetch_optional(sql::USER, values![user]).await?;
        let mut records = self.records(row.into_iter().collect()).await?;
        records.pop().ok_or(StoreError::NotFound("account"))
    }

    async fn check_integrity(&self, check: IntegrityCheck) -> Result<Vec<String>, StoreError> {
        self.0.check_integrity(check).await
    }

    async fn database_size(&self) -> Result<DatabaseSize, StoreError> {
        self.0.database_size().await
    }

    async fn freeze(&self, user: UserId, frozen: bool) -> Result<(), StoreError> {
        self.0.transact(Durability::PowerLoss, move |db| accounts::freeze(db, user, frozen).boxed()).await
    }

    async fn debit(
        &self,
        user: UserId,
        amount: MicroUsd,
        reference: &str,
        at: Timestamp,
    ) -> Result<CreditOutcome, StoreError> {
        let reference = reference.to_owned();
        self.0
            .transact(Durability::PowerLoss, move |db| {
                async move { transfers::debit(db, user, sql::CREDITS_ACCOUNT, amount, &reference, at).await }
                    .boxed()
            })
            .await
    }

    async fn lock_out(&self, user: UserId, at: Timestamp) -> Result<RevokedCredentials, StoreError> {
        self.0.transact(Durability::PowerLoss, move |db| lock_out(db, user, at).boxed()).await
    }

    async fn merge_identities(&self, from: UserId, into: UserId) -> Result<u64, StoreError> {
        self.0
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
    async fn records(&self, users: Vec<UserRow>) -> Result<Vec<UserRecord>, StoreError> {
        let (Some(first), Some(last)) = (users.first(), users.last()) else { return Ok(Vec::new()) };
        let range = values![&*first.id, &*last.id];
        let mut identities: BTreeMap<String, Vec<IdentityRecord>> = BTreeMap::new();
        for row in self.0.fetch_all::<IdentityRow>(sql::IDENTITIES, range).await? {
            identities.entry(row.user_id.clone()).or_default().push(row.into());
        }
        let record = |user: UserRow| {
            Ok(UserRecord {
                id: rows::user_id(&user.id)?,
                identities: identities.remove(&user.id).unwrap_or_default(),
                email: user.email,
                created_at: Timestamp::from_millis(user.created_at),
                frozen: user.frozen != 0,
            })
        };
        users.into_iter().map(record).collect()
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
