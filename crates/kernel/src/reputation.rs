//! What the service's polls tell about it and its models, from sums that the database keeps.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;

use crate::fault::Fault;
use crate::ports::{Clock, Heartbeats, ReputationStore, minute};
use ep_polling::reputation::Sums;
use ep_polling::time::Timestamp;

/// How long figures are repeated.
pub const TTL: Duration = Duration::from_mins(5);
/// Fewest votes from which figures are told.
pub const MIN_VOTES: i64 = 30;
/// Minutes in a day.
const DAY: i64 = 24 * 60;
/// Minutes in 30 days.
const MONTH: i64 = 30 * DAY;
/// Minutes of which heartbeats are kept: a day more than is told.
const KEPT: i64 = MONTH + DAY;
/// Fewest minutes over which uptime is told.
const MIN_MINUTES: i64 = 60;
/// Polls that are counted in one transaction.
const AT_ONCE: u32 = 20;
/// Transactions of one round, so that a round ends.
const ROUNDS: u32 = 500;

/// Figures about the service and its models at one time.
#[derive(Debug, Clone)]
pub struct Figures {
    /// When they were computed.
    pub computed_at: Timestamp,
    /// The share of the last day's minutes in which the service ran; `None` before there are enough.
    pub uptime_day: Option<f64>,
    /// The same for the last 30 days.
    pub uptime_month: Option<f64>,
    /// When heartbeats began.
    pub heartbeats_since: Option<Timestamp>,
    /// What the polls tell.
    pub sums: Sums,
}

/// Computes figures, and keeps the sums that they come from.
pub struct Reputation {
    store: Arc<dyn ReputationStore>,
    clock: Arc<dyn Clock>,
    last: Mutex<Option<Arc<Figures>>>,
}

impl Reputation {
    /// With this store.
    pub fn new(store: Arc<dyn ReputationStore>, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock, last: Mutex::new(None) }
    }

    /// The figures, at most [`TTL`] old. However many ask, they are computed once: the others wait for that.
    pub async fn figures(&self) -> Result<Arc<Figures>, Fault> {
        let mut last = self.last.lock().await;
        let now = self.clock.now();
        // A clock that was set back would keep them for longer.
        let fresh =
            |figures: &&Arc<Figures>| figures.computed_at <= now && now.since(figures.computed_at) < TTL;
        if let Some(figures) = last.as_ref().filter(fresh) {
            return Ok(Arc::clone(figures));
        }
        let figures = Arc::new(self.compute(now).await?);
        *last = Some(Arc::clone(&figures));
        Ok(figures)
    }

    /// How long these figures will be repeated.
    pub fn fresh_for(&self, figures: &Figures) -> Duration {
        TTL.saturating_sub(self.clock.now().since(figures.computed_at))
    }

    async fn compute(&self, now: Timestamp) -> Result<Figures, Fault> {
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

    /// Counts the polls that have ended since the last time.
    pub async fn count_polls(&self) -> Result<(), Fault> {
        for _ in 0..ROUNDS {
            if self.store.count_polls(AT_ONCE).await? < AT_ONCE {
                break;
            }
        }
        Ok(())
    }

    /// Notes that the service runs.
    pub async fn beat(&self) -> Result<(), Fault> {
        Ok(self.store.beat(minute(self.clock.now())).await?)
    }

    /// Forgets heartbeats that no figure needs.
    pub async fn sweep(&self) -> Result<(), Fault> {
        Ok(self.store.delete_old_heartbeats(minute(self.clock.now()) - KEPT).await?)
    }
}

/// The share of the minutes from `since` on in which the service ran. A service younger than that is asked about its own
/// time alone. The minute that has begun does not count.
fn uptime(beats: &Heartbeats, which: usize, since: i64, now: i64) -> Option<f64> {
    let minutes = now - beats.first?.max(since);
    (minutes >= MIN_MINUTES).then(|| (beats.counts[which] as f64 / minutes as f64).min(1.0))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use async_trait::async_trait;

    use super::*;
    use crate::ports::StoreError;
    use crate::testing::ManualClock;

    /// Says how often it was asked.
    #[derive(Default)]
    struct Slow(AtomicU32);

    #[async_trait]
    impl ReputationStore for Slow {
        async fn count_polls(&self, _: u32) -> Result<u32, StoreError> {
            Ok(0)
        }
        async fn sums(&self) -> Result<Sums, StoreError> {
            let asked = self.0.fetch_add(1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            let mut sums = Sums::default();
            sums.service.polls = asked.into();
            Ok(sums)
        }
        async fn beat(&self, _: i64) -> Result<(), StoreError> {
            Ok(())
        }
        async fn heartbeats(&self, _: [i64; 2], _: i64) -> Result<Heartbeats, StoreError> {
            Ok(Heartbeats::default())
        }
        async fn delete_old_heartbeats(&self, _: i64) -> Result<(), StoreError> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn figures_are_computed_once_in_five_minutes_however_many_ask() {
        let (store, clock) = (Arc::new(Slow::default()), Arc::new(ManualClock::default()));
        let reputation = Reputation::new(store.clone(), clock.clone());
        for (passed, polls) in [(0, 0), (299, 0), (1, 1), (1, 1)] {
            clock.advance(Duration::from_secs(passed));
            let asked = futures::future::join_all((0..50).map(|_| reputation.figures())).await;
            assert!(asked.iter().all(|figures| figures.as_ref().unwrap().sums.service.polls == polls));
        }
        assert_eq!(store.0.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn uptime_is_told_from_an_hour_on_over_the_minutes_that_there_were() {
        let uptime = |first, count, now| uptime(&Heartbeats { first, counts: [count; 2] }, 0, now - DAY, now);
        assert_eq!(uptime(None, 0, 10_000), None);
        assert_eq!(uptime(Some(9_941), 59, 10_000), None);
        assert_eq!(uptime(Some(9_940), 60, 10_000), Some(1.0));
        assert_eq!(uptime(Some(9_900), 50, 10_000), Some(0.5));
        assert_eq!(uptime(Some(1), 720, 10_000), Some(0.5));
    }
}
