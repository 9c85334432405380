//! Limits of the log lines about database failures. Every running poll meets the same failure.

use ep_store::LogLimit;

/// Interrupted polls.
pub(super) static INTERRUPTED: LogLimit = LogLimit::new();
/// Polls with an ended lease.
pub(super) static LEASE_ENDED: LogLimit = LogLimit::new();
/// Interrupted polls that cannot be reloaded yet.
pub(super) static NOT_RELOADED: LogLimit = LogLimit::new();
/// Failures to load cancelled polls.
pub(super) static NOT_LOADED: LogLimit = LogLimit::new();

/// Logs the number of failures not logged yet. Must be called once a second.
pub fn log_suppressed_failures() {
    INTERRUPTED.log_suppressed("more polls were interrupted");
    LEASE_ENDED.log_suppressed("more leases have ended");
    NOT_RELOADED.log_suppressed("the database is still failing for more polls");
    NOT_LOADED.log_suppressed("failed to load cancelled polls more often");
}
