//! The last answers of an upstream, which decide how long votes wait for it while it is busy.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// The time after which votes no longer wait for an upstream that answered none of them.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// The time between two requests to such an upstream.
const BETWEEN_PROBES: Duration = Duration::from_secs(1);

/// The last answers of one upstream. Times are milliseconds after the start, and 0 means never.
pub(crate) struct Availability {
    started: Instant,
    answered_at: AtomicU64,
    /// The first time that it was busy after its last answer.
    busy_since: AtomicU64,
    probed_at: AtomicU64,
}

impl Availability {
    pub(crate) fn new() -> Self {
        Self {
            started: Instant::now(),
            answered_at: AtomicU64::new(0),
            busy_since: AtomicU64::new(0),
            probed_at: AtomicU64::new(0),
        }
    }

    /// Notes an answer of any model.
    pub(crate) fn note_answer(&self) {
        self.answered_at.store(self.now(), Ordering::Relaxed);
        self.busy_since.store(0, Ordering::Relaxed);
    }

    /// Notes that the upstream was too busy for a request.
    pub(crate) fn note_busy(&self) {
        let _ = self.busy_since.compare_exchange(0, self.now(), Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Returns how long a vote that began to wait at this time may still wait: until the upstream has answered nobody for
    /// [`PATIENCE`].
    pub(crate) fn patience(&self, since: Instant) -> Duration {
        let answered = self.started + Duration::from_millis(self.answered_at.load(Ordering::Relaxed));
        PATIENCE.saturating_sub(since.max(answered).elapsed())
    }

    /// Returns true if the upstream has been busy for [`PATIENCE`], and answered nobody.
    pub(crate) fn is_silent(&self) -> bool {
        let busy_since = self.busy_since.load(Ordering::Relaxed);
        busy_since != 0 && self.now().saturating_sub(busy_since) >= PATIENCE.as_millis() as u64
    }

    /// Returns true if a request may be sent now. One request a second tests a silent upstream.
    pub(crate) fn admits(&self) -> bool {
        if !self.is_silent() {
            return true;
        }
        let (now, probed) = (self.now(), self.probed_at.load(Ordering::Relaxed));
        now.saturating_sub(probed) >= BETWEEN_PROBES.as_millis() as u64
            && self.probed_at.compare_exchange(probed, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    fn now(&self) -> u64 {
        self.started.elapsed().as_millis() as u64 + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_silent_upstream_gets_one_request_a_second() {
        let upstream = Availability::new();
        let since = Instant::now();
        upstream.note_busy();
        assert!(upstream.admits() && upstream.admits());
        assert_eq!(upstream.patience(since), PATIENCE);
        tokio::time::advance(PATIENCE).await;
        assert_eq!(upstream.patience(since), Duration::ZERO);
        assert!(upstream.admits() && !upstream.admits());
        tokio::time::advance(BETWEEN_PROBES).await;
        assert!(upstream.admits() && !upstream.admits());
        upstream.note_answer();
        assert!(upstream.admits() && upstream.admits());
        assert_eq!(upstream.patience(since), PATIENCE);
    }
}
