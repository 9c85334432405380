//! Idempotency records: requests with an `Idempotency-Key` and their replies.

use std::time::Duration;

use async_trait::async_trait;
use ep_polling::time::Timestamp;

use super::StoreError;

/// The state of an idempotent request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimState {
    /// The request was new, or its claim had expired: now it is claimed by this caller, who must run it.
    Claimed(ClaimRecord),
    /// Another caller is running it.
    Running(ClaimRecord),
    /// The key was used for a request with another fingerprint.
    Mismatch,
    /// The request was finished; this is the reply given to [`IdempotencyStore::finish`].
    Done(ClaimRecord, String),
}

/// The stored properties of a request besides its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimRecord {
    /// Number of claims of the request. Only the last claimant may write.
    pub epoch: i64,
    /// Expiry of the record. The same for every repetition of the request, and a new one once the key is used
    /// again after that.
    pub expires_at: Timestamp,
}

/// Stores idempotency records.
#[async_trait]
pub trait IdempotencyStore: Send + Sync {
    /// Claims a request for `lasts`, by the database's clock, atomically. A record past its `expires_at` is
    /// ignored. A claim without a reply that expired or was released is granted again for the same
    /// fingerprint, and keeps its `expires_at`.
    async fn begin(
        &self,
        scope: &str,
        fingerprint: &str,
        now: Timestamp,
        lasts: Duration,
        expires_at: Timestamp,
    ) -> Result<ClaimState, StoreError>;

    /// Extends the claim of this epoch to `lasts` from now. Zero releases it, so that the request can be sent
    /// again.
    async fn renew(&self, scope: &str, epoch: i64, lasts: Duration) -> Result<(), StoreError>;

    /// Stores the reply, if the claim is still of this epoch. Acknowledged once a power loss cannot undo it.
    async fn finish(&self, scope: &str, epoch: i64, reply: &str) -> Result<(), StoreError>;

    /// Deletes expired records. Returns their number.
    async fn sweep(&self, now: Timestamp) -> Result<u64, StoreError>;
}
