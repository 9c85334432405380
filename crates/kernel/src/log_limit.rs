//! A bound on log lines: an overload fails thousands of calls a second for one reason.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The shortest time between two lines.
const INTERVAL: Duration = Duration::from_secs(1);

/// Admits at most one line a second and counts the others.
#[derive(Debug, Default)]
pub struct LogLimit(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    last: Option<Instant>,
    suppressed: u64,
}

impl LogLimit {
    /// A limit that has admitted no line yet.
    pub const fn new() -> Self {
        Self(Mutex::new(State { last: None, suppressed: 0 }))
    }

    /// Asks to write a line: `Some` with the number of lines suppressed since the last one, or `None` if this line is
    /// suppressed too.
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

    /// The number of suppressed lines that no line has reported for a second; they count as reported then. Zero if
    /// there are none.
    pub fn overdue(&self) -> u64 {
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
    async fn a_flood_is_one_line_a_second_and_every_line_is_counted() {
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
