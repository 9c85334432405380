//! Limits of requests, shared by all replicas.

use std::num::NonZeroU32;
use std::time::Duration;

use async_trait::async_trait;

/// Counts requests per caller.
#[async_trait]
pub trait Limiter: Send + Sync {
    /// Takes one request of `key` out of `policy`'s allowance. If the shared store of counts is unavailable,
    /// the request is allowed: the limiter fails open.
    async fn take(&self, policy: &'static str, key: &str, per_minute: NonZeroU32) -> Allowance;

    /// Removes callers with a full allowance from memory, if they are stored there. Called every few seconds.
    fn sweep(&self) {}
}

/// A rate limit and its remaining allowance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// The policy's name in the headers.
    pub policy: &'static str,
    /// Requests per window.
    pub limit: u32,
    /// The window.
    pub window: Duration,
    /// Remaining requests.
    pub remaining: u32,
    /// Time until the allowance is full.
    pub reset: Duration,
    /// Set if this request exceeded the limit: time until the next one is allowed.
    pub exhausted: Option<Duration>,
}
