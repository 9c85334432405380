//! Idempotency records.

use async_trait::async_trait;

use ep_kernel::ports::{ClaimState, IdempotencyStore, StoreError};
use ep_polling::time::Timestamp;

use super::Database;
use crate::engine::{Durability, Engine};
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
        lease_until: Timestamp,
        expires_at: Timestamp,
    ) -> Result<ClaimState, StoreError> {
        let claim = values![scope, fingerprint, now, lease_until, expires_at];
        for _ in 0..MAX_ATTEMPTS {
            // The later commit of what the request does makes the claim durable too.
            if self.0.execute(Durability::ProcessCrash, sql::CLAIM_REQUEST, claim).await? == 1 {
                return Ok(ClaimState::Fresh);
            }
            let record: Option<IdempotencyRow> =
                self.0.fetch_optional(sql::CLAIMED_REQUEST, values![scope]).await?;
            if let Some(record) = record {
                return Ok(record.state(fingerprint));
            }
        }
        Err(failed(UnexpectedData::ClaimDeleted))
    }

    async fn finish(&self, scope: &str, reply: &str) -> Result<(), StoreError> {
        self.0.execute(Durability::PowerLoss, sql::SAVE_REPLY, values![scope, reply]).await.map(drop)
    }

    async fn forget(&self, scope: &str) -> Result<(), StoreError> {
        self.0.execute(Durability::ProcessCrash, sql::DELETE_CLAIM, values![scope]).await.map(drop)
    }

    async fn sweep(&self, now: Timestamp) -> Result<u64, StoreError> {
        self.0.sweep().await?;
        self.0.execute(Durability::ProcessCrash, sql::DELETE_EXPIRED, values![now]).await
    }
}
