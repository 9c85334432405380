//! Figures about the service and its models, computed from sums in the database.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;

use crate::fault::Result;
use crate::ports::Clock;
use ep_polling::{Sums, Timestamp};
use ep_store::{Heartbeats, Runtime, minute};

/// Time for which figures are cached.
pub const TTL: Duration = Duration::from_mins(5);
/// Minimum number of votes for publishing figures.
pub const MIN_VOTES: i64 = 30;
/// Minimum number of judged polls for publishing a share of right outcomes. The 95 % interval of 30 polls reaches at most 20
/// percentage points from the share. That of 10 polls reaches 36 points, so it would tell little.
pub const MIN_JUDGED: i64 = 30;
/// Minutes in a day.
const DAY: i64 = 24 * 60;
/// Minutes in 30 days.
const MONTH: i64 = 30 * DAY;
/// Minutes for which heartbeats are stored: a day more than the longest published period.
const STORED_MINUTES: i64 = MONTH + DAY;
/// Minimum number of minutes for publishing uptime.
const MIN_MINUTES: i64 = 60;
/// Number of polls counted per transaction.
const PER_TRANSACTION: u32 = 20;
/// Maximum number of transactions per run, so that a run ends.
const ROUNDS: u32 = 500;

/// Figures about the service and its models at one point in time.
#[derive(Debug, Clone)]
pub struct Figures {
    /// The time of computation.
    pub computed_at: Timestamp,
    /// The share of the last day's minutes in which the service ran; `None` while there are too few.
    pub uptime_day: Option<f64>,
    /// The same for the last 30 days.
    pub uptime_month: Option<f64>,
    /// The time of the first heartbeat.
    pub heartbeats_since: Option<Timestamp>,
    /// The sums over the polls.
    pub sums: Sums,
}

/// Computes figures, and updates their sums.
pub struct Reputation {
    store: Runtime,
    clock: Arc<dyn Clock>,
    last: Mutex<Option<Arc<Figures>>>,
}

impl Reputation {
    /// Creates the service on this database.
    pub fn new(store: Runtime, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock, last: Mutex::new(None) }
    }

    /// Returns the figures, at most [`TTL`] old. Concurrent callers wait for one computation.
    pub async fn figures(&self) -> Result<Arc<Figures>> {
        let mut last = self.last.lock().await;
        let now = self.clock.now();
        // A clock that was set back would cache them for longer.
        let fresh =
            |figures: &&Arc<Figures>| figures.computed_at <= now && now.since(figures.computed_at) < TTL;
        if let Some(figures) = last.as_ref().filter(fresh) {
            return Ok(Arc::clone(figures));
        }
        let figures = Arc::new(self.compute(now).await?);
        *last = Some(Arc::clone(&figures));
        Ok(figures)
    }

    /// Returns the remaining time for which these figures are cached.
    pub fn fresh_for(&self, figures: &Figures) -> Duration {
        TTL.saturating_sub(self.clock.now().since(figures.computed_at))
    }

    async fn compute(&self, now: Timestamp) -> Result<Figures> {
        let (this, sums) = (minute(now), self.store.sums().await?);
        let since = [this - DAY, this - MONTH];
        let beats = self.store.heartbeats(since, this).await?;
        Ok(Figures {
            computed_at: now,
            uptime_day: uptime(&beats, 0, since[0], this),
            uptime_month: uptime(&beats, 1, since[1], this),
            heartbeats_since: beats.first.map(|first| Timestamp::from_millis(first * 60_000)),
            sums,
        })
    }

    /// Counts the polls that have ended since the last run.
    pub async fn count_polls(&self) -> Result<()> {
        for _ in 0..ROUNDS {
            if self.store.count_polls(PER_TRANSACTION).await? < PER_TRANSACTION {
                break;
            }
        }
        Ok(())
    }

    /// Records that the service is running.
    pub async fn beat(&self) -> Result<()> {
        Ok(self.store.beat(minute(self.clock.now())).await?)
    }

    /// Deletes heartbeats that no figure needs.
    pub async fn sweep(&self) -> Result<()> {
        Ok(self.store.delete_old_heartbeats(minute(self.clock.now()) - STORED_MINUTES).await?)
    }
}

/// Returns the share of the minutes from `since` on in which the service ran. For a younger service, only its
/// own lifetime counts. The current minute does not count.
fn uptime(beats: &Heartbeats, which: usize, since: i64, now: i64) -> Option<f64> {
    let minutes = now - beats.first?.max(since);
    (minutes >= MIN_MINUTES).then(|| (beats.counts[which] as f64 / minutes as f64).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ManualClock;
    use ep_store::testing::Interruption;

    #[tokio::test]
    async fn concurrent_callers_share_figures_for_five_minutes() {
        let url = "sqlite::memory:".parse().unwrap();
        let database = ep_store::connect(&url, ep_store::StoreOptions::default()).await.unwrap();
        let clock = Arc::new(ManualClock::default());
        let counter = Arc::new(Interruption::none());
        let reputation = Reputation::new(database.runtime.interrupted(&counter), clock.clone());
        // Figures need two reads.
        for (passed, reads) in [(0, 2), (299, 2), (1, 4), (1, 4)] {
            clock.advance(Duration::from_secs(passed));
            let figures = futures::future::join_all((0..50).map(|_| reputation.figures())).await;
            let figures: Vec<Arc<Figures>> = figures.into_iter().map(Result::unwrap).collect();
            assert!(figures.iter().all(|other| Arc::ptr_eq(other, &figures[0])));
            assert_eq!(counter.operations(), reads, "after {passed} seconds");
        }
    }

    #[test]
    fn uptime_is_published_from_an_hour_on() {
        let uptime = |first, count, now| uptime(&Heartbeats { first, counts: [count; 2] }, 0, now - DAY, now);
        assert_eq!(uptime(None, 0, 10_000), None);
        assert_eq!(uptime(Some(9_941), 59, 10_000), None);
        assert_eq!(uptime(Some(9_940), 60, 10_000), Some(1.0));
        assert_eq!(uptime(Some(9_900), 50, 10_000), Some(0.5));
        assert_eq!(uptime(Some(1), 720, 10_000), Some(0.5));
    }
}
