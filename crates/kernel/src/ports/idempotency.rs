//! Replies kept for replay (`Idempotency-Key`).

use async_trait::async_trait;

use super::StoreError;
use ep_polling::time::Timestamp;

/// What is known of an idempotent request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimState {
    /// Nothing: it is this caller's to carry out.
    Fresh,
    /// It is being carried out right now.
    Running,
    /// The key was used for a request with another fingerprint.
    Mismatch,
    /// It was carried out; this is the reply, as [`IdempotencyStore::finish`] was given it.
    Done(String),
}

/// Keeps replies to idempotent requests.
#[async_trait]
pub trait IdempotencyStore: Send + Sync {
    /// Claims a request, atomically. An expired entry is as none; a claim older than its `lease_until`
    /// is claimed anew, since its worker has died.
    async fn begin(
        &self,
        scope: &str,
        fingerprint: &str,
        now: Timestamp,
        lease_until: Timestamp,
        expires_at: Timestamp,
    ) -> Result<ClaimState, StoreError>;

    /// Keeps the reply.
    async fn finish(&self, scope: &str, reply: &str) -> Result<(), StoreError>;

    /// Gives the claim up, so that the request can be sent again.
    async fn forget(&self, scope: &str) -> Result<(), StoreError>;

    /// Deletes what has expired; answers how many entries went.
    async fn sweep(&self, now: Timestamp) -> Result<u64, StoreError>;
}
