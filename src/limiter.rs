//! Request counts of a single process: token buckets in memory (GCRA, by the governor crate).

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use ep_kernel::ports::{Allowance, Limiter};
use governor::clock::{Clock, DefaultClock};
use governor::middleware::StateInformationMiddleware;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};

type Buckets = RateLimiter<String, DashMapStateStore<String>, DefaultClock, StateInformationMiddleware>;

const WINDOW: Duration = Duration::from_mins(1);
/// Above this many callers, those whose bucket is full again are removed.
const MANY_CALLERS: usize = 10_000;

/// Counts in memory, for a single process; replicas share a database's count instead.
#[derive(Default)]
pub struct MemoryLimiter {
    policies: Mutex<HashMap<(&'static str, NonZeroU32), Arc<Buckets>>>,
    clock: DefaultClock,
}

impl MemoryLimiter {
    fn buckets(&self, policy: &'static str, per_minute: NonZeroU32) -> Arc<Buckets> {
        let mut policies = self.policies.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let make = || {
            let buckets = RateLimiter::dashmap(Quota::per_minute(per_minute));
            Arc::new(buckets.with_middleware::<StateInformationMiddleware>())
        };
        Arc::clone(policies.entry((policy, per_minute)).or_insert_with(make))
    }
}

#[async_trait]
impl Limiter for MemoryLimiter {
    async fn take(&self, policy: &'static str, key: &str, per_minute: NonZeroU32) -> Allowance {
        let buckets = self.buckets(policy, per_minute);
        if buckets.len() > MANY_CALLERS {
            buckets.retain_recent();
        }
        let (remaining, exhausted) = match buckets.check_key(&key.to_owned()) {
            Ok(left) => (left.remaining_burst_capacity(), None),
            Err(until) => (0, Some(until.wait_time_from(self.clock.now()))),
        };
        let used = per_minute.get().saturating_sub(remaining);
        let reset = WINDOW / per_minute.get() * used;
        Allowance { policy, limit: per_minute.get(), window: WINDOW, remaining, reset, exhausted }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn counts_down_and_says_how_long_to_wait() {
        let limiter = MemoryLimiter::default();
        let three = NonZeroU32::new(3).unwrap();
        for left in [2, 1, 0] {
            let allowance = limiter.take("default", "a", three).await;
            assert_eq!((allowance.remaining, allowance.exhausted), (left, None));
        }
        let refused = limiter.take("default", "a", three).await;
        let wait = refused.exhausted.unwrap();
        assert!(wait > Duration::ZERO && wait <= Duration::from_secs(20), "{wait:?}");
        assert_eq!(
            limiter.take("default", "b", three).await.remaining,
            2,
            "callers have buckets of their own"
        );
        assert_eq!(limiter.take("free", "a", three).await.remaining, 2, "and so have policies");
    }
}
