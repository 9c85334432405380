//! Replies kept for replay.

use async_trait::async_trait;
use futures::FutureExt;

use ep_kernel::ports::{ClaimState, IdempotencyStore, StoreError};
use ep_polling::time::Timestamp;

use super::Sqlite;
use super::writer::Survives;
use crate::fault::refused;
use crate::{rows, statements as sql};

#[async_trait]
impl IdempotencyStore for Sqlite {
    async fn begin(
        &self,
        scope: &str,
        fingerprint: &str,
        now: Timestamp,
        lease_until: Timestamp,
        expires_at: Timestamp,
    ) -> Result<ClaimState, StoreError> {
        let (scope, fingerprint) = (scope.to_owned(), fingerprint.to_owned());
        // A claim need not survive a power cut before what it claims does: the effect's own commit is later
        // in the log and takes the claim along.
        self.writer
            .run(Survives::Crash, move |db| {
                async move {
                    let claimed = sqlx::query(sql::BEGIN)
                        .bind(&scope)
                        .bind(&fingerprint)
                        .bind(now.millis())
                        .bind(lease_until.millis())
                        .bind(expires_at.millis())
                        .execute(&mut *db)
                        .await
                        .map_err(refused)?;
                    if claimed.rows_affected() == 1 {
                        return Ok(ClaimState::Fresh);
                    }
                    let kept = sqlx::query_as(sql::BEGUN).bind(scope).fetch_one(db).await.map_err(refused)?;
                    Ok(rows::begun(&fingerprint, kept))
                }
                .boxed()
            })
            .await
    }

    async fn finish(&self, scope: &str, reply: &str) -> Result<(), StoreError> {
        let (scope, reply) = (scope.to_owned(), reply.to_owned());
        self.writer
            .run(Survives::PowerCut, move |db| {
                sqlx::query(sql::FINISH)
                    .bind(scope)
                    .bind(reply)
                    .execute(db)
                    .map(|done| done.map(|_| ()).map_err(refused))
                    .boxed()
            })
            .await
    }

    async fn forget(&self, scope: &str) -> Result<(), StoreError> {
        let scope = scope.to_owned();
        self.writer
            .run(Survives::Crash, move |db| {
                sqlx::query(sql::FORGET)
                    .bind(scope)
                    .execute(db)
                    .map(|done| done.map(|_| ()).map_err(refused))
                    .boxed()
            })
            .await
    }

    async fn sweep(&self, now: Timestamp) -> Result<u64, StoreError> {
        self.writer
            .run(Survives::Crash, move |db| {
                sqlx::query(sql::SWEEP)
                    .bind(now.millis())
                    .execute(db)
                    .map(|swept| swept.map(|done| done.rows_affected()).map_err(refused))
                    .boxed()
            })
            .await
    }
}
