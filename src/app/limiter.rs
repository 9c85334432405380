//! Rate limits of a single process: token buckets in memory (GCRA, by the governor crate).

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use ep_store::{Allowance, Limiter};
use governor::clock::{Clock, DefaultClock};
use governor::middleware::StateInformationMiddleware;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};

type Buckets = RateLimiter<String, DashMapStateStore<String>, DefaultClock, StateInformationMiddleware>;
type Policies = HashMap<(&'static str, NonZeroU32), Arc<Buckets>>;

const WINDOW: Duration = Duration::from_mins(1);
/// Maximum callers per policy between two sweeps; above it, requests are not limited.
const MOST_CALLERS: usize = 1_000_000;

/// Rate limits in memory, for a single process. Replicas share limits in the database instead.
#[derive(Default)]
pub struct MemoryLimiter {
    policies: Mutex<Policies>,
    clock: DefaultClock,
}

impl MemoryLimiter {
    fn buckets(&self, policy: &'static str, per_minute: NonZeroU32) -> Arc<Buckets> {
        let make = || {
            let buckets = RateLimiter::dashmap(Quota::per_minute(per_minute));
            Arc::new(buckets.with_middleware::<StateInformationMiddleware>())
        };
        Arc::clone(self.policies().entry((policy, per_minute)).or_insert_with(make))
    }

    fn policies(&self) -> MutexGuard<'_, Policies> {
        self.policies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Limiter for MemoryLimiter {
    async fn take(&self, policy: &'static str, key: &str, per_minute: NonZeroU32) -> Allowance {
        let buckets = self.buckets(policy, per_minute);
        if buckets.len() >= MOST_CALLERS {
            let (limit, remaining) = (per_minute.get(), per_minute.get());
            return Allowance {
                policy,
                limit,
                window: WINDOW,
                remaining,
                reset: Duration::ZERO,
                exhausted: None,
            };
        }
        let (remaining, exhausted) = match buckets.check_key(&key.to_owned()) {
            Ok(left) => (left.remaining_burst_capacity(), None),
            Err(until) => (0, Some(until.wait_time_from(self.clock.now()))),
        };
        let used = per_minute.get().saturating_sub(remaining);
        let reset = WINDOW / per_minute.get() * used;
        Allowance { policy, limit: per_minute.get(), window: WINDOW, remaining, reset, exhausted }
    }

    fn sweep(&self) {
        let policies: Vec<Arc<Buckets>> = self.policies().values().cloned().collect();
        for buckets in policies {
            buckets.retain_recent();
            buckets.shrink_to_fit();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn counts_down_and_returns_the_wait() {
        let limiter = MemoryLimiter::default();
        let three = NonZeroU32::new(3).unwrap();
        for left in [2, 1, 0] {
            let allowance = limiter.take("default", "a", three).await;
            assert_eq!((allowance.remaining, allowance.exhausted), (left, None));
        }
        let refused = limiter.take("default", "a", three).await;
        let wait = refused.exhausted.unwrap();
        assert!(wait > Duration::ZERO && wait <= Duration::from_secs(20), "{wait:?}");
        assert_eq!(limiter.take("default", "b", three).await.remaining, 2, "each caller has its own bucket");
        assert_eq!(limiter.take("free", "a", three).await.remaining, 2, "each policy has its own bucket");
    }

    #[tokio::test]
    async fn a_sweep_removes_callers_with_a_full_allowance() {
        let limiter = MemoryLimiter::default();
        let (one, most) = (NonZeroU32::MIN, NonZeroU32::MAX);
        for caller in 0..20_000 {
            // At this rate an allowance is full again after a few nanoseconds.
            limiter.take("public", &format!("address:{caller}"), most).await;
        }
        limiter.take("free", "a", one).await;
        let remembered = |policy, per_minute| limiter.buckets(policy, per_minute).len();
        assert_eq!(remembered("public", most), 20_000, "nothing is swept while requests are counted");
        limiter.sweep();
        assert_eq!((remembered("public", most), remembered("free", one)), (0, 1));
    }
}
