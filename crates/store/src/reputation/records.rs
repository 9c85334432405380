//! Sums over the ballots of ended polls, and the minutes in which the service ran.

use async_trait::async_trait;
use ep_polling::reputation::Sums;
use ep_polling::time::Timestamp;

use crate::row::{Columns, FromRow};
use crate::store_error::StoreError;

/// Counts of minutes in which the service ran.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Heartbeats {
    /// The first minute in which it ever ran, since the epoch; `None` if it never ran.
    pub first: Option<i64>,
    /// Number of minutes in each of the requested periods.
    pub counts: [u64; 2],
}

/// Stores sums over the ballots of counted polls, so that the cost of reading them does not depend on the
/// number of ballots.
#[async_trait]
pub trait ReputationStore: Send + Sync {
    /// Adds up to `limit` ended polls, and polls with new feedback, to the sums. Each poll is marked as
    /// counted in the same transaction, so it is counted once despite interruptions and concurrent processes.
    /// Returns the number of polls counted: fewer than `limit` if no more are left, or another process was
    /// counting them.
    async fn count_polls(&self, limit: u32) -> Result<u32, StoreError>;

    /// Returns the sums over all counted polls, including polls deleted since.
    async fn sums(&self) -> Result<Sums, StoreError>;

    /// Records that the service runs in this minute since the epoch.
    async fn beat(&self, minute: i64) -> Result<(), StoreError>;

    /// Returns the numbers of minutes in which the service ran, from each of these on, up to but not
    /// including `now`.
    async fn heartbeats(&self, since: [i64; 2], now: i64) -> Result<Heartbeats, StoreError>;

    /// Deletes minutes before this one, except the first of all.
    async fn delete_old_heartbeats(&self, before: i64) -> Result<(), StoreError>;
}

/// Returns the minute since the epoch.
pub const fn minute(at: Timestamp) -> i64 {
    at.millis().div_euclid(60_000)
}

impl FromRow for Heartbeats {
    fn from_row(columns: &mut Columns<'_>) -> Result<Self, StoreError> {
        Ok(Self { first: columns.get()?, counts: [columns.get()?, columns.get()?] })
    }
}
