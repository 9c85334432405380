//! Limits that all replicas share.
//!
//! GCRA (the generic cell rate algorithm): one number per caller, the time at which its allowance is full
//! again. A request moves it on by one share of the window and is refused where that would lie more than
//! a window ahead. One statement takes or refuses; the server's clock is everybody's.

use std::num::NonZeroU32;
use std::time::Duration;

use async_trait::async_trait;

use ep_kernel::ports::{Allowance, Limiter, StoreError};

use super::Postgres;
use crate::fault::refused;

const WINDOW: Duration = Duration::from_mins(1);
/// A limit is not worth waiting for.
const PATIENCE: Duration = Duration::from_millis(250);

/// $1 policy, $2 key, $3 share, $4 window; in microseconds. A refusal writes nothing. Answers by how
/// much the allowance lacks of being full, and whether the request was taken.
const TAKE: &str = "\
     WITH clock AS (SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT) AS now), \
     taken AS ( \
         INSERT INTO rate_limits AS r (policy, key, full_at) SELECT $1, $2, now + $3 FROM clock \
         ON CONFLICT (policy, key) DO UPDATE \
             SET full_at = GREATEST(r.full_at, excluded.full_at - $3) + $3 \
             WHERE GREATEST(r.full_at, excluded.full_at - $3) + $3 <= excluded.full_at - $3 + $4 \
         RETURNING full_at) \
     SELECT full_at - now, TRUE FROM taken, clock \
     UNION ALL SELECT full_at - now, FALSE FROM rate_limits, clock \
         WHERE policy = $1 AND key = $2 AND NOT EXISTS (SELECT 1 FROM taken)";
const SWEEP: &str = "DELETE FROM rate_limits \
     WHERE full_at < CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)";

#[async_trait]
impl Limiter for Postgres {
    async fn take(&self, policy: &'static str, key: &str, per_minute: NonZeroU32) -> Allowance {
        let window = WINDOW.as_micros() as i64;
        let share = window / i64::from(per_minute.get());
        let query = sqlx::query_as::<_, (i64, bool)>(TAKE)
            .bind(policy)
            .bind(key)
            .bind(share)
            .bind(window)
            .fetch_optional(&self.pool);
        let (lacking, taken) = match tokio::time::timeout(PATIENCE.min(self.timeout), query).await {
            // Refused by what this statement's snapshot does not see yet: the allowance is used up.
            Ok(Ok(None)) => (window, false),
            Ok(Ok(Some((lacking, false)))) if lacking <= window - share => (window, false),
            Ok(Ok(Some(row))) => row,
            Ok(Err(error)) => {
                tracing::warn!(%error, policy, "a request went uncounted");
                (share, true)
            }
            Err(_) => {
                tracing::warn!(policy, "a request went uncounted: the database took too long");
                (share, true)
            }
        };
        allowance(policy, per_minute, lacking, taken)
    }
}

impl Postgres {
    /// Forgets callers whose allowance is full again.
    pub(super) async fn sweep_limits(&self) -> Result<(), StoreError> {
        sqlx::query(SWEEP).execute(&self.pool).await.map(|_| ()).map_err(refused)
    }
}

fn allowance(policy: &'static str, per_minute: NonZeroU32, lacking: i64, taken: bool) -> Allowance {
    let window = WINDOW.as_micros() as i64;
    let share = window / i64::from(per_minute.get());
    let micros = |micros: i64| Duration::from_micros(micros.max(0).unsigned_abs());
    let left = u32::try_from((window - lacking).max(0) / share).unwrap_or(u32::MAX);
    Allowance {
        policy,
        limit: per_minute.get(),
        window: WINDOW,
        remaining: left.min(per_minute.get()),
        reset: micros(lacking),
        exhausted: (!taken).then(|| micros(lacking + share - window)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_said_to_the_second() {
        let limit = NonZeroU32::new(6).unwrap();
        let allowance = |lacking, taken| allowance("default", limit, lacking, taken);
        let first = allowance(10_000_000, true);
        assert_eq!((first.remaining, first.reset), (5, Duration::from_secs(10)));
        let last = allowance(60_000_000, true);
        assert_eq!((last.remaining, last.exhausted), (0, None));
        let refused = allowance(55_000_000, false);
        assert_eq!((refused.remaining, refused.exhausted), (0, Some(Duration::from_secs(5))));
    }
}
