//! Idempotency records: requests with an `Idempotency-Key` and their replies.

use ep_polling::time::Timestamp;

/// The state of an idempotent request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimState {
    /// The request was new, or its claim had expired: now it is claimed by this caller, who must run it.
    Claimed(ClaimRecord),
    /// Another caller is running it.
    Running(ClaimRecord),
    /// The key was used for a request with another fingerprint.
    Mismatch,
    /// The request was finished; this is the reply given to [`Runtime::finish_claim`](crate::Runtime::finish_claim).
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
