//! Accounts, keys and money.

use async_trait::async_trait;
use sqlx::PgConnection;

use ep_kernel::api_key::KeyHash;
use ep_kernel::caller::{KeyId, UserId};
use ep_kernel::ports::{AccountStore, Audit, Balance, KeyOwner, NewKey, NewUser, StoreError};
use ep_polling::money::MicroUsd;
use ep_polling::time::Timestamp;

use super::Postgres;
use crate::fault::refused;
use crate::{rows, statements as sql};

const TOUCH_KEYS: &str = "UPDATE api_keys SET last_used_at = used.at \
     FROM UNNEST($1::text[], $2::bigint[]) AS used (id, at) \
     WHERE api_keys.id = used.id AND (last_used_at IS NULL OR last_used_at < used.at)";

#[async_trait]
impl AccountStore for Postgres {
    async fn create_user(&self, user: &NewUser) -> Result<(), StoreError> {
        self.in_time(async {
            let id = user.id.to_string();
            let mut work = self.pool.begin().await.map_err(refused)?;
            sqlx::query(sql::ADD_USER)
                .bind(&id)
                .bind(rows::address(&user.email))
                .bind(user.created_at.millis())
                .execute(&mut *work)
                .await
                .map_err(refused)?;
            sqlx::query(sql::ADD_ACCOUNT).bind(&id).execute(&mut *work).await.map_err(refused)?;
            let reference = sql::starter_ref(&id);
            credit(&mut work, &id, user.starter_credit, &reference, user.created_at).await?;
            work.commit().await.map_err(refused)
        })
        .await
    }

    async fn user_by_email(&self, email: &str) -> Result<Option<UserId>, StoreError> {
        self.in_time(async {
            let id: Option<String> = sqlx::query_scalar(sql::USER_BY_EMAIL)
                .bind(rows::address(email))
                .fetch_optional(&self.pool)
                .await
                .map_err(refused)?;
            id.as_deref().map(rows::user_id).transpose()
        })
        .await
    }

    async fn credit(
        &self,
        user: UserId,
        amount: MicroUsd,
        reference: &str,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        self.in_time(async {
            let mut work = self.pool.begin().await.map_err(refused)?;
            let credited = credit(&mut work, &user.to_string(), amount, reference, at).await?;
            work.commit().await.map_err(refused)?;
            Ok(credited)
        })
        .await
    }

    async fn add_key(&self, key: &NewKey) -> Result<(), StoreError> {
        self.in_time(async {
            let added = sqlx::query(sql::ADD_KEY)
                .bind(key.id.to_string())
                .bind(key.user.to_string())
                .bind(key.hash.as_str())
                .bind(&key.prefix)
                .bind(&key.label)
                .bind(key.created_at.millis())
                .execute(&self.pool)
                .await;
            added.map(|_| ()).map_err(refused)
        })
        .await
    }

    async fn key_owner(&self, hash: &KeyHash) -> Result<Option<KeyOwner>, StoreError> {
        self.in_time(async {
            let owner: Option<(String, String)> = sqlx::query_as(sql::KEY_OWNER)
                .bind(hash.as_str())
                .fetch_optional(&self.pool)
                .await
                .map_err(refused)?;
            owner.as_ref().map(rows::key_owner).transpose()
        })
        .await
    }

    async fn revoke_key(&self, user: UserId, key: KeyId, at: Timestamp) -> Result<bool, StoreError> {
        self.in_time(async {
            let revoked = sqlx::query(sql::REVOKE_KEY)
                .bind(key.to_string())
                .bind(user.to_string())
                .bind(at.millis())
                .execute(&self.pool)
                .await
                .map_err(refused)?;
            Ok(revoked.rows_affected() == 1)
        })
        .await
    }

    async fn touch_keys(&self, used: &[(KeyId, Timestamp)]) -> Result<(), StoreError> {
        self.in_time(async {
            let (keys, times): (Vec<String>, Vec<i64>) = rows::last_uses(used).into_iter().unzip();
            let touched = sqlx::query(TOUCH_KEYS).bind(keys).bind(times).execute(&self.pool).await;
            touched.map(|_| ()).map_err(refused)
        })
        .await
    }

    async fn balance(&self, user: UserId) -> Result<Option<Balance>, StoreError> {
        self.in_time(async {
            let balance: Option<(i64, i64, i64)> = sqlx::query_as(sql::BALANCE)
                .bind(user.to_string())
                .fetch_optional(&self.pool)
                .await
                .map_err(refused)?;
            Ok(balance.map(rows::balance))
        })
        .await
    }

    async fn audit(&self) -> Result<Audit, StoreError> {
        self.read_the_books().await.map_err(refused)
    }
}

impl Postgres {
    /// All of it in one snapshot, while polls run on; it takes longer than any other operation may.
    async fn read_the_books(&self) -> Result<Audit, sqlx::Error> {
        let mut books = self.pool.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
        sqlx::query("SET LOCAL statement_timeout = '10min'").execute(&mut *books).await?;
        let (accounts, transfers): (i64, i64) = sqlx::query_as(sql::SEEN).fetch_one(&mut *books).await?;
        let wrong_posted = sqlx::query_scalar(sql::WRONG_POSTED).fetch_all(&mut *books).await?;
        let wrong_held = sqlx::query_scalar(sql::WRONG_HELD).fetch_all(&mut *books).await?;
        let orphaned_holds = sqlx::query_scalar(sql::ORPHANED_HOLDS).fetch_all(&mut *books).await?;
        books.rollback().await?;
        let (accounts, transfers) = (accounts.unsigned_abs(), transfers.unsigned_abs());
        Ok(Audit { accounts, transfers, wrong_posted, wrong_held, orphaned_holds })
    }
}

/// The transfer first: a second one with the same reference waits for it and then changes nothing.
async fn credit(
    db: &mut PgConnection,
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
