//! Idempotency records.

use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt;

use ep_kernel::ports::{ClaimState, IdempotencyStore, StoreError};
use ep_polling::time::Timestamp;

use super::Database;
use crate::engine::{Connection, Durability, Engine};
use crate::error::{UnexpectedData, failed};
use crate::rows::IdempotencyRow;
use crate::statements as sql;
use crate::value::values;

/// Attempts to claim a request whose record is deleted each time before it can be read.
const MAX_ATTEMPTS: u32 = 3;

#[async_trait]
impl<E: Engine> IdempotencyStore for Database<E> {
    async fn begin(
        &self,
        scope: &str,
        fingerprint: &str,
        now: Timestamp,
        lasts: Duration,
        expires_at: Timestamp,
    ) -> Result<ClaimState, StoreError> {
        for _ in 0..MAX_ATTEMPTS {
            let (key, body) = (scope.to_owned(), fingerprint.to_owned());
            // The later commit of what the request does makes the claim durable too.
            let claimed: Option<IdempotencyRow> = self
                .0
                .transact(Durability::ProcessCrash, move |db| {
                    async move {
                        let claim = values![&*key, &*body, now, lasts, expires_at];
                        db.fetch_optional(sql::CLAIM_REQUEST, claim).await
                    }
                    .boxed()
                })
                .await?;
            if let Some(claimed) = claimed {
                return Ok(ClaimState::Claimed(claimed.record()));
            }
            let record: Option<IdempotencyRow> =
                self.0.fetch_optional(sql::CLAIMED_REQUEST, values![scope]).await?;
            if let Some(record) = record {
                return Ok(record.state(fingerprint));
            }
        }
        Err(failed(UnexpectedData::ClaimDeleted))
    }

    async fn renew(&self, scope: &str, epoch: i64, lasts: Duration) -> Result<(), StoreError> {
        self.0
            .execute(Durability::ProcessCrash, sql::RENEW_CLAIM, values![scope, epoch, lasts])
            .await
            .map(drop)
    }

    async fn finish(&self, scope: &str, epoch: i64, reply: &str) -> Result<(), StoreError> {
        self.0.execute(Durability::PowerLoss, sql::SAVE_REPLY, values![scope, epoch, reply]).await.map(drop)
    }

    async fn sweep(&self, now: Timestamp) -> Result<u64, StoreError> {
        self.0.sweep().await?;
        self.0.execute(Durability::ProcessCrash, sql::DELETE_EXPIRED, values![now]).await
    }
}
