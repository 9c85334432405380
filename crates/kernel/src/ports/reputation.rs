//! Sums over the ballots of polls that have ended, and the times in which the service ran.

use async_trait::async_trait;

use super::StoreError;
use ep_polling::reputation::Sums;
use ep_polling::time::Timestamp;

/// In how many minutes the service ran.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Heartbeats {
    /// The first minute of all in which it ran, since the epoch; `None` if it never did.
    pub first: Option<i64>,
    /// In how many of the minutes that were asked about, for each question.
    pub counts: [u64; 2],
}

/// Keeps sums over the ballots of polls that have ended and count, so that reading them costs the same however many
/// ballots there are.
#[async_trait]
pub trait ReputationStore: Send + Sync {
    /// Brings the sums up to date with up to `limit` polls that have ended, or on which there is new feedback: each in
    /// the transaction that marks it as counted, so that it is counted once, whatever is interrupted and however many
    /// processes count. Returns how many polls it has counted; fewer than `limit` where none are left, or another process
    /// was counting them.
    async fn count_polls(&self, limit: u32) -> Result<u32, StoreError>;

    /// What all counted polls tell, those that have been deleted since included.
    async fn sums(&self) -> Result<Sums, StoreError>;

    /// Notes that the service runs in this minute since the epoch.
    async fn beat(&self, minute: i64) -> Result<(), StoreError>;

    /// In how many of the minutes from each of these on, up to `now` and without it, the service ran.
    async fn heartbeats(&self, since: [i64; 2], now: i64) -> Result<Heartbeats, StoreError>;

    /// Forgets minutes before this one, but for the first of all.
    async fn delete_old_heartbeats(&self, before: i64) -> Result<(), StoreError>;
}

/// The minute since the epoch.
pub const fn minute(at: Timestamp) -> i64 {
    at.millis().div_euclid(60_000)
}
