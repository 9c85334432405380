//! Replies kept for replay.

use async_trait::async_trait;

use ep_kernel::ports::{ClaimState, IdempotencyStore, StoreError};
use ep_polling::time::Timestamp;

use super::Postgres;
use crate::fault::{Unreadable, failed, refused};
use crate::{rows, statements as sql};

/// How often a claim is tried that is given up by its holder between our two statements.
const TRIES: u32 = 3;

#[async_trait]
impl IdempotencyStore for Postgres {
    async fn begin(
        &self,
        scope: &str,
        fingerprint: &str,
        now: Timestamp,
        lease_until: Timestamp,
        expires_at: Timestamp,
    ) -> Result<ClaimState, StoreError> {
        self.in_time(async {
            for _ in 0..TRIES {
                let claimed = sqlx::query(sql::BEGIN)
                    .bind(scope)
                    .bind(fingerprint)
                    .bind(now.millis())
                    .bind(lease_until.millis())
                    .bind(expires_at.millis())
                    .execute(&self.pool)
                    .await
                    .map_err(refused)?;
                if claimed.rows_affected() == 1 {
                    return Ok(ClaimState::Fresh);
                }
                let kept = sqlx::query_as(sql::BEGUN).bind(scope).fetch_optional(&self.pool).await;
                if let Some(kept) = kept.map_err(refused)? {
                    return Ok(rows::begun(fingerprint, kept));
                }
            }
            Err(failed(Unreadable("a claim")))
        })
        .await
    }

    async fn finish(&self, scope: &str, reply: &str) -> Result<(), StoreError> {
        self.in_time(async {
            let done = sqlx::query(sql::FINISH).bind(scope).bind(reply).execute(&self.pool).await;
            done.map(|_| ()).map_err(refused)
        })
        .await
    }

    async fn forget(&self, scope: &str) -> Result<(), StoreError> {
        self.in_time(async {
            sqlx::query(sql::FORGET).bind(scope).execute(&self.pool).await.map(|_| ()).map_err(refused)
        })
        .await
    }

    async fn sweep(&self, now: Timestamp) -> Result<u64, StoreError> {
        self.in_time(async {
            self.sweep_limits().await?;
            let swept =
                sqlx::query(sql::SWEEP).bind(now.millis()).execute(&self.pool).await.map_err(refused)?;
            Ok(swept.rows_affected())
        })
        .await
    }
}
