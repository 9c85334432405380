//! Idempotency records: requests with an `Idempotency-Key` and their replies.

use std::time::Duration;

use async_trait::async_trait;

use super::StoreError;
use ep_polling::time::Timestamp;

/// The state of an idempotent request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimState {
    /// It was not known, or nobody carries it out any more: now it is claimed by this caller, who does.
    Claimed(ClaimRecord),
    /// Another caller is carrying it out.
    Running(ClaimRecord),
    /// The key was used for a request with another fingerprint.
    Mismatch,
    /// It was carried out; this is the reply given to [`IdempotencyStore::finish`].
    Done(ClaimRecord, String),
}

/// What is stored about a request besides its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimRecord {
    /// Counts how often the request has been claimed: only the last claimant may write.
    pub epoch: i64,
    /// When the record ends. The same for every repetition of the request, and another one once the key is
    /// used again after that.
    pub expires_at: Timestamp,
}

/// Keeps idempotency records.
#[async_trait]
pub trait IdempotencyStore: Send + Sync {
    /// Claims a request for as long as `lasts`, by the database's clock, atomically. A record past its
    /// `expires_at` counts as none. A claim without a reply that was not renewed in time, or was given up, is
    /// granted again for the same fingerprint, and keeps its `expires_at`.
    async fn begin(
        &self,
        scope: &str,
        fingerprint: &str,
        now: Timestamp,
        lasts: Duration,
        expires_at: Timestamp,
    ) -> Result<ClaimState, StoreError>;

    /// Makes the claim of this epoch last this long from now. No time at all gives it up, so that the request
    /// can be sent again.
    async fn renew(&self, scope: &str, epoch: i64, lasts: Duration) -> Result<(), StoreError>;

    /// Stores the reply, if the claim is still of this epoch. Acknowledged once a power loss cannot undo it.
    async fn finish(&self, scope: &str, epoch: i64, reply: &str) -> Result<(), StoreError>;

    /// Deletes expired records; returns how many.
    async fn sweep(&self, now: Timestamp) -> Result<u64, StoreError>;
}
