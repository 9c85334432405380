//! Idempotency records.

use std::time::Duration;

use ep_polling::time::Timestamp;

use crate::connection::Durability;
use crate::error::{UnexpectedData, failed};
use crate::handles::Runtime;
use crate::records::{ClaimRecord, ClaimState, Lease, StoreError};
use crate::row::from_row;
use crate::statements as sql;
use crate::value::values;

/// The maximum number of attempts to claim a request, if its record is repeatedly deleted before the read.
const MAX_ATTEMPTS: u32 = 3;

/// A stored idempotency record.
struct StoredClaim {
    fingerprint: String,
    reply: Option<String>,
    epoch: i64,
    expires_at: Timestamp,
}

from_row!(StoredClaim { fingerprint, reply, epoch, expires_at });

impl StoredClaim {
    /// Returns the record's response to a request with this fingerprint that could not claim it.
    fn state(self, fingerprint: &str) -> ClaimState {
        let record = self.record();
        match self.reply {
            _ if self.fingerprint != fingerprint => ClaimState::Mismatch,
            Some(reply) => ClaimState::Done(record, reply),
            None => ClaimState::Running(record),
        }
    }

    /// Returns the record without its reply.
    const fn record(&self) -> ClaimRecord {
        ClaimRecord { epoch: self.epoch, expires_at: self.expires_at }
    }
}

/// Stores idempotency records.
impl Runtime {
    /// Claims a request for `lasts`, by the database's clock, atomically. A record past its `expires_at` is
    /// ignored. A claim without a reply that expired or was released is granted again for the same
    /// fingerprint, and keeps its `expires_at`.
    pub async fn begin_claim(
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
            let claimed: Vec<StoredClaim> = self
                .database
                .engine
                .fetch_changed(Durability::ProcessCrash, sql::CLAIM_REQUEST, claim)
                .await?;
            if let Some(claimed) = claimed.into_iter().next() {
                return Ok(ClaimState::Claimed(claimed.record()));
            }
            let record: Option<StoredClaim> =
                self.database.engine.fetch_optional(sql::CLAIMED_REQUEST, values![scope]).await?;
            if let Some(record) = record {
                return Ok(record.state(fingerprint));
            }
        }
        Err(failed(UnexpectedData::ClaimDeleted))
    }

    /// Extends the claim of this epoch to `lasts` from now. Zero releases it, so that the request can be sent
    /// again.
    pub async fn renew_claim(&self, scope: &str, epoch: i64, lasts: Duration) -> Result<(), StoreError> {
        self.database
            .engine
            .execute(Durability::ProcessCrash, sql::RENEW_CLAIM, values![scope, epoch, lasts])
            .await
            .map(drop)
    }

    /// Stores the reply, if the claim is still of this epoch. Acknowledged once a power loss cannot undo it.
    pub async fn finish_claim(&self, scope: &str, epoch: i64, reply: &str) -> Result<(), StoreError> {
        // If a power loss undoes it, the request runs again and finds its earlier changes.
        let values = values![scope, epoch, reply];
        self.database.engine.execute(Durability::ProcessCrash, sql::SAVE_REPLY, values).await.map(drop)
    }

    /// Deletes expired records. Returns their number.
    pub async fn sweep_claims(&self, now: Timestamp) -> Result<u64, StoreError> {
        self.database.engine.sweep().await?;
        self.database.engine.execute(Durability::ProcessCrash, sql::DELETE_EXPIRED, values![now]).await
    }
}
