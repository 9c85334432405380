//! Idempotency records.

use std::time::Duration;

use async_trait::async_trait;
use ep_polling::time::Timestamp;

use super::Database;
use crate::engine::Durability;
use crate::error::{UnexpectedData, failed};
use crate::ports::{ClaimState, IdempotencyStore, Lease, StoreError};
use crate::rows::IdempotencyRow;
use crate::statements as sql;
use crate::value::values;

/// The maximum number of attempts to claim a request, if its record is repeatedly deleted before the read.
const MAX_ATTEMPTS: u32 = 3;

#[async_trait]
impl IdempotencyStore for Database {
    async fn begin(
        &self,
        scope: &str,
        fingerprint: &str,
        now: Timestamp,
        lasts: Duration,
        expires_at: Timestamp,
    ) -> Result<ClaimState, StoreError> {
        for _ in 0..MAX_ATTEMPTS {
            let claim = values![scope, fingerprint, now, lasts, expires_at, Lease::longest(lasts)];
            // The later commit of the request's changes makes the claim durable too.
            let claimed: Vec<IdempotencyRow> =
                self.0.fetch_changed(Durability::ProcessCrash, sql::CLAIM_REQUEST, claim).await?;
            if let Some(claimed) = claimed.into_iter().next() {
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
        // If a power loss undoes it, the request runs again and finds its earlier changes.
        let values = values![scope, epoch, reply];
        self.0.execute(Durability::ProcessCrash, sql::SAVE_REPLY, values).await.map(drop)
    }

    async fn sweep(&self, now: Timestamp) -> Result<u64, StoreError> {
        self.0.sweep().await?;
        self.0.execute(Durability::ProcessCrash, sql::DELETE_EXPIRED, values![now]).await
    }
}
