//! Sums over the ballots of ended polls, and the minutes in which the service ran.

use ep_polling::Timestamp;

use crate::row::{Columns, FromRow};
use crate::store_error::Result;

/// Counts of minutes in which the service ran.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Heartbeats {
    /// The first minute in which it ever ran, since the epoch; `None` if it never ran.
    pub first: Option<i64>,
    /// Number of minutes in each of the requested periods.
    pub counts: [u64; 2],
}

/// Returns the minute since the epoch.
pub const fn minute(at: Timestamp) -> i64 {
    at.millis().div_euclid(60_000)
}

impl FromRow for Heartbeats {
    fn from_row(columns: &mut Columns<'_>) -> Result<Self> {
        Ok(Self { first: columns.get()?, counts: [columns.get()?, columns.get()?] })
    }
}
