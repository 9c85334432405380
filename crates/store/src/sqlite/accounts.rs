//! Accounts, keys and money.

use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt;
use sqlx::{Connection, SqliteConnection};

use ep_kernel::api_key::KeyHash;
use ep_kernel::caller::{KeyId, UserId};
use ep_kernel::ports::{AccountStore, Audit, Balance, KeyOwner, NewKey, NewUser, StoreError};
use ep_polling::money::MicroUsd;
use ep_polling::time::Timestamp;

use super::Sqlite;
use super::writer::Survives;
use crate::fault::refused;
use crate::{rows, statements as sql};

/// Reading all the books takes longer than any other operation may.
const AUDIT: Duration = Duration::from_mins(10);

#[async_trait]
impl AccountStore for Sqlite {
    async fn create_user(&self, user: &NewUser) -> Result<(), StoreError> {
        let user = user.clone();
        self.writer
            .run(Survives::PowerCut, move |db| {
                async move {
                    let id = user.id.to_string();
                    sqlx::query(sql::ADD_USER)
                        .bind(&id)
                        .bind(rows::address(&user.email))
                        .bind(user.created_at.millis())
                        .execute(&mut *db)
                        .await
                        .map_err(refused)?;
                    sqlx::query(sql::ADD_ACCOUNT).bind(&id).execute(&mut *db).await.map_err(refused)?;
                    let reference = sql::starter_ref(&id);
                    credit(db, &id, user.starter_credit, &reference, user.created_at).await.map(|_| ())
                }
                .boxed()
            })
            .await
    }

    async fn user_by_email(&self, email: &str) -> Result<Option<UserId>, StoreError> {
        let query = sqlx::query_scalar::<_, String>(sql::USER_BY_EMAIL).bind(rows::address(email));
        let id = self.readers.read(|db| query.fetch_optional(db).boxed()).await?;
        id.as_deref().map(rows::user_id).transpose()
    }

    async fn credit(
        &self,
        user: UserId,
        amount: MicroUsd,
        reference: &str,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let reference = reference.to_owned();
        self.writer
            .run(Survives::PowerCut, move |db| {
                async move { credit(db, &user.to_string(), amount, &reference, at).await }.boxed()
            })
            .await
    }

    async fn add_key(&self, key: &NewKey) -> Result<(), StoreError> {
        let key = key.clone();
        self.writer
            .run(Survives::PowerCut, move |db| {
                sqlx::query(sql::ADD_KEY)
                    .bind(key.id.to_string())
                    .bind(key.user.to_string())
                    .bind(key.hash.as_str().to_owned())
                    .bind(key.prefix)
                    .bind(key.label)
                    .bind(key.created_at.millis())
                    .execute(db)
                    .map(|added| added.map(|_| ()).map_err(refused))
                    .boxed()
            })
            .await
    }

    async fn key_owner(&self, hash: &KeyHash) -> Result<Option<KeyOwner>, StoreError> {
        let query = sqlx::query_as::<_, (String, String)>(sql::KEY_OWNER).bind(hash.as_str().to_owned());
        let owner = self.readers.read(|db| query.fetch_optional(db).boxed()).await?;
        owner.as_ref().map(rows::key_owner).transpose()
    }

    async fn revoke_key(&self, user: UserId, key: KeyId, at: Timestamp) -> Result<bool, StoreError> {
        self.writer
            .run(Survives::PowerCut, move |db| {
                sqlx::query(sql::REVOKE_KEY)
                    .bind(key.to_string())
                    .bind(user.to_string())
                    .bind(at.millis())
                    .execute(db)
                    .map(|revoked| revoked.map(|done| done.rows_affected() == 1).map_err(refused))
                    .boxed()
            })
            .await
    }

    async fn touch_keys(&self, used: &[(KeyId, Timestamp)]) -> Result<(), StoreError> {
        let used = rows::last_uses(used);
        self.writer
            .run(Survives::Crash, move |db| {
                async move {
                    for (key, at) in used {
                        sqlx::query(sql::TOUCH_KEY)
                            .bind(key)
                            .bind(at)
                            .execute(&mut *db)
                            .await
                            .map_err(refused)?;
                    }
                    Ok(())
                }
                .boxed()
            })
            .await
    }

    async fn balance(&self, user: UserId) -> Result<Option<Balance>, StoreError> {
        let query = sqlx::query_as::<_, (i64, i64, i64)>(sql::BALANCE).bind(user.to_string());
        let balance = self.readers.read(|db| query.fetch_optional(db).boxed()).await?;
        Ok(balance.map(rows::balance))
    }

    async fn audit(&self) -> Result<Audit, StoreError> {
        self.readers.read_within(AUDIT, |db| audit(db).boxed()).await
    }
}

async fn credit(
    db: &mut SqliteConnection,
    user: &str,
    amount: MicroUsd,
    reference: &str,
    at: Timestamp,
) -> Result<bool, StoreError> {
    if amount.is_zero() {
        return Ok(false);
    }
    let moved = sqlx::query(sql::TRANSFER)
        .bind(reference)
        .bind(sql::CREDITS)
        .bind(user)
        .bind(amount.micro())
        .bind(at.millis())
        .execute(&mut *db)
        .await
        .map_err(refused)?;
    if moved.rows_affected() == 0 {
        return Ok(false);
    }
    let paid = sqlx::query(sql::PAY_IN).bind(user).bind(amount.micro()).execute(db).await.map_err(refused)?;
    if paid.rows_affected() == 1 { Ok(true) } else { Err(StoreError::NotFound("account")) }
}

/// All of it in one snapshot, while polls run on.
async fn audit(db: &mut SqliteConnection) -> Result<Audit, sqlx::Error> {
    let mut books = db.begin().await?;
    let (accounts, transfers): (i64, i64) = sqlx::query_as(sql::SEEN).fetch_one(&mut *books).await?;
    let wrong_posted = sqlx::query_scalar(sql::WRONG_POSTED).fetch_all(&mut *books).await?;
    let wrong_held = sqlx::query_scalar(sql::WRONG_HELD).fetch_all(&mut *books).await?;
    let orphaned_holds = sqlx::query_scalar(sql::ORPHANED_HOLDS).fetch_all(&mut *books).await?;
    books.rollback().await?;
    let (accounts, transfers) = (accounts.unsigned_abs(), transfers.unsigned_abs());
    Ok(Audit { accounts, transfers, wrong_posted, wrong_held, orphaned_holds })
}
