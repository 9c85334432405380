//! Limits requests to an upstream's rate per minute.
//!
//! Limits are exact sliding windows: never more than N requests in any 60 seconds, with bursts up to N. A
//! token bucket (as in `governor`) allows nearly twice N in the first minute, or no bursts. A request
//! reserves its time and waits for it. If it is dropped earlier, the time becomes available again.

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

const WINDOW: Duration = Duration::from_mins(1);

/// The limits of one upstream: one for all requests, one for free models. A free request counts against both.
#[derive(Debug)]
pub(crate) struct RateLimits {
    all: Option<SlidingWindow>,
    free: Option<SlidingWindow>,
}

/// A limit: never more than `per_minute` requests in any minute.
#[derive(Debug)]
struct SlidingWindow {
    per_minute: NonZeroU32,
    /// Sorted times of past and reserved requests, without those older than a minute.
    times: Mutex<VecDeque<Instant>>,
}

/// A reserved time for a request. If it is dropped before that time, other requests can use the time.
#[derive(Debug)]
pub(crate) struct Reservation<'l> {
    limits: &'l RateLimits,
    free: bool,
    at: Instant,
}

/// The error of a request that would have to wait too long.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LimitReached {
    /// Time until the next request is allowed.
    pub(crate) wait: Duration,
}

impl RateLimits {
    pub(crate) fn new(all: Option<NonZeroU32>, free: Option<NonZeroU32>) -> Self {
        let window = |per_minute| SlidingWindow { per_minute, times: Mutex::default() };
        Self { all: all.map(window), free: free.map(window) }
    }

    /// Returns the limit for free models, if there is one.
    pub(crate) fn free_per_minute(&self) -> Option<NonZeroU32> {
        self.free.as_ref().map(|window| window.per_minute)
    }

    /// Reserves the earliest possible time for a request. Fails if that is later than `latest`.
    pub(crate) fn reserve(&self, free: bool, latest: Instant) -> Result<Reservation<'_>, LimitReached> {
        let now = Instant::now();
        let at = self.windows(free).map(|window| window.next(now)).fold(now, Instant::max);
        if at > now && at > latest {
            return Err(LimitReached { wait: at - now });
        }
        for window in self.windows(free) {
            window.add(at);
        }
        Ok(Reservation { limits: self, free, at })
    }

    fn windows(&self, free: bool) -> impl Iterator<Item = &SlidingWindow> {
        self.all.iter().chain(self.free.iter().filter(move |_| free))
    }
}

impl SlidingWindow {
    /// Returns the earliest time for another request within the limit.
    fn next(&self, now: Instant) -> Instant {
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        while times.front().is_some_and(|&time| time + WINDOW <= now) {
            times.pop_front();
        }
        let first_of_full_window = times.len().checked_sub(self.per_minute.get() as usize);
        first_of_full_window.map_or(now, |index| now.max(times[index] + WINDOW))
    }

    fn add(&self, at: Instant) {
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        let index = times.partition_point(|&time| time <= at);
        times.insert(index, at);
    }

    fn remove(&self, at: Instant) {
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = times.iter().rposition(|&time| time == at) {
            times.remove(index);
        }
    }
}

impl Reservation<'_> {
    /// Waits until the reserved time.
    pub(crate) async fn wait(self) {
        if self.at > Instant::now() {
            tokio::time::sleep_until(self.at).await;
        }
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        if self.at > Instant::now() {
            for window in self.limits.windows(self.free) {
                window.remove(self.at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn no_minute_holds_more_requests_than_the_limit() {
        let limits = RateLimits::new(None, NonZeroU32::new(3));
        let latest = Instant::now() + Duration::from_secs(70);
        for _ in 0..3 {
            limits.reserve(true, latest).unwrap().wait().await;
        }
        tokio::time::advance(Duration::from_secs(10)).await;
        let late = limits.reserve(true, latest).unwrap();
        assert_eq!(late.at - Instant::now(), Duration::from_secs(50));
        let full = limits.reserve(true, Instant::now() + Duration::from_secs(20)).unwrap_err();
        let wait = Duration::from_secs(50);
        assert_eq!(full, LimitReached { wait });
        assert!(
            limits.reserve(false, Instant::now()).is_ok(),
            "requests to paid models are not limited here"
        );
        drop(late);
        let reserved = limits.free.as_ref().unwrap().times.lock().unwrap().len();
        assert_eq!(reserved, 3, "an unused reservation is released");
    }

    #[tokio::test(start_paused = true)]
    async fn a_free_request_counts_against_both_limits() {
        let limits = RateLimits::new(NonZeroU32::new(2), NonZeroU32::new(1));
        limits.reserve(true, Instant::now()).unwrap().wait().await;
        limits.reserve(false, Instant::now()).unwrap().wait().await;
        assert!(limits.reserve(false, Instant::now()).is_err());
        assert!(limits.reserve(true, Instant::now()).is_err());
    }
}
