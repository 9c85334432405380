//! Idempotency records: requests with an `Idempotency-Key` and their replies.

use async_trait::async_trait;

use super::StoreError;
use ep_polling::time::Timestamp;

/// The state of an idempotent request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimState {
    /// It was not known, and is now claimed by this caller, who carries it out.
    Fresh,
    /// Another caller is carrying it out.
    Running,
    /// The key was used for a request with another fingerprint.
    Mismatch,
    /// It was carried out; this is the reply given to [`IdempotencyStore::finish`].
    Done(String),
}

/// Keeps idempotency records.
#[async_trait]
pub trait IdempotencyStore: Send + Sync {
    /// Claims a request, atomically. A record past its `expires_at` counts as none. A claim without a
    /// reply past its `lease_until` is granted again for the same fingerprint: its process has died.
    async fn begin(
        &self,
        scope: &str,
        fingerprint: &str,
        now: Timestamp,
        lease_until: Timestamp,
        expires_at: Timestamp,
    ) -> Result<ClaimState, StoreError>;

    /// Stores the reply. Acknowledged once a power loss cannot undo it.
    async fn finish(&self, scope: &str, reply: &str) -> Result<(), StoreError>;

    /// Deletes a claim without a reply, so that the request can be sent again.
    async fn forget(&self, scope: &str) -> Result<(), StoreError>;

    /// Deletes expired records; returns how many.
    async fn sweep(&self, now: Timestamp) -> Result<u64, StoreError>;
}
