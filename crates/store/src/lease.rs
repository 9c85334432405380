//! Leases: temporary claims of a process on a poll, a row or a batch.

use std::time::Duration;

/// Maximum difference between the clocks of two processes: each may be wrong by a minute. Times written by
/// another process are read with this tolerance.
pub const CLOCKS_APART: Duration = Duration::from_mins(2);

/// A process's claim on a poll, a row or a batch that it works on, renewed while it works. Time is measured by the database's clock.
#[derive(Debug, Clone)]
pub struct Lease {
    /// A name unique to the process.
    pub worker: String,
    /// Time from now until other processes may adopt the poll.
    pub lasts: Duration,
}

impl Lease {
    /// Returns the maximum time that a lease of this length can have left. A later end was written by a clock
    /// that was ahead and has been corrected since.
    pub const fn longest(lasts: Duration) -> Duration {
        lasts.saturating_add(CLOCKS_APART)
    }
}
