//! A limit on log lines. An overload fails thousands of calls a second for the same reason.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Minimum time between two lines.
const INTERVAL: Duration = Duration::from_secs(1);

/// Admits at most one line a second and counts the others.
#[derive(Debug, Default)]
pub struct LogLimit(Mutex<LogState>);

#[derive(Debug, Default)]
struct LogState {
    last: Option<Instant>,
    suppressed: u64,
}

impl LogLimit {
    /// Creates a limit that has not admitted a line yet.
    pub const fn new() -> Self {
        Self(Mutex::new(LogState { last: None, suppressed: 0 }))
    }

    /// Requests to write a line. Returns the number of lines suppressed since the last one, or `None` if this
    /// line is suppressed too.
    pub fn admit(&self) -> Option<u64> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if state.last.is_some_and(|last| now.duration_since(last) < INTERVAL) {
            state.suppressed += 1;
            return None;
        }
        state.last = Some(now);
        Some(std::mem::take(&mut state.suppressed))
    }

    /// Logs the number of suppressed lines, if no line has reported it for a second. Must be called once a second.
    pub fn log_suppressed(&self, text: &str) {
        let suppressed = self.overdue();
        if suppressed > 0 {
            tracing::warn!(suppressed, "{text}");
        }
    }

    fn overdue(&self) -> u64 {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if state.suppressed == 0 || state.last.is_some_and(|last| now.duration_since(last) < INTERVAL) {
            return 0;
        }
        state.last = Some(now);
        std::mem::take(&mut state.suppressed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_flood_logs_one_line_a_second_and_counts_the_others() {
        let limit = LogLimit::new();
        let flood = || (0..1000).filter_map(|_| limit.admit()).collect::<Vec<_>>();
        assert_eq!(flood(), [0]);
        assert_eq!(limit.overdue(), 0);
        tokio::time::advance(INTERVAL).await;
        assert_eq!(flood(), [999]);
        tokio::time::advance(INTERVAL).await;
        assert_eq!((limit.overdue(), limit.overdue()), (999, 0));
        tokio::time::advance(INTERVAL).await;
        assert_eq!(limit.admit(), Some(0));
    }
}
