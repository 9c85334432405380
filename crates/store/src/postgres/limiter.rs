//! Request limits shared by all replicas.
//!
//! GCRA (the generic cell rate algorithm) stores one number per caller: the time at which its allowance is
//! full again. A request advances that time by one interval (the window divided by the limit). The request
//! is rejected if the new time would be more than a window ahead. One statement accepts or rejects a
//! request, by the server's clock.

use std::num::NonZeroU32;
use std::time::Duration;

use async_trait::async_trait;
use sqlx::PgPool;

use super::Postgres;
use crate::error::database_error;
use crate::limiter::{Allowance, Limiter};
use crate::log_limit::LogLimit;
use crate::store_error::Result;

const WINDOW: Duration = Duration::from_mins(1);
/// The time limit for counting a request. After it, the request is allowed uncounted.
const TIMEOUT: Duration = Duration::from_millis(250);
static NOT_COUNTED: LogLimit = LogLimit::new();

/// $1 policy, $2 key, $3 interval, $4 window; in microseconds. A rejection writes nothing. Returns the
/// microseconds until the allowance is full, and true if the request was accepted.
const TAKE: &str = "\
     WITH clock AS (SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT) AS now), \
     taken AS ( \
         INSERT INTO rate_limits AS r (policy, key, full_at) SELECT $1, $2, now + $3 FROM clock \
         ON CONFLICT (policy, key) DO UPDATE \
             SET full_at = GREATEST(r.full_at, excluded.full_at - $3) + $3 \
             WHERE GREATEST(r.full_at, excluded.full_at - $3) + $3 <= excluded.full_at - $3 + $4 \
         RETURNING full_at) \
     SELECT full_at - now AS until_full, TRUE AS taken FROM taken, clock \
     UNION ALL SELECT full_at - now, FALSE FROM rate_limits, clock \
         WHERE policy = $1 AND key = $2 AND NOT EXISTS (SELECT 1 FROM taken)";
const SWEEP: &str = "DELETE FROM rate_limits \
     WHERE full_at < CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)";

#[async_trait]
impl Limiter for Postgres {
    async fn take(&self, policy: &'static str, key: &str, per_minute: NonZeroU32) -> Allowance {
        let window = WINDOW.as_micros() as i64;
        let interval = window / i64::from(per_minute.get());
        let query = sqlx::query_as::<_, (i64, bool)>(TAKE)
            .bind(policy)
            .bind(key)
            .bind(interval)
            .bind(window)
            .fetch_optional(&self.pool);
        let (until_full, taken) = match tokio::time::timeout(TIMEOUT.min(self.timeout), query).await {
            // Rejected because of a request outside this statement's snapshot: the allowance is empty.
            Ok(Ok(None)) => (window, false),
            Ok(Ok(Some((until_full, false)))) if until_full <= window - interval => (window, false),
            Ok(Ok(Some(counted))) => counted,
            Ok(Err(error)) => {
                if let Some(suppressed) = NOT_COUNTED.admit() {
                    tracing::warn!(%error, policy, suppressed, "failed to count a request");
                }
                (interval, true)
            }
            Err(_) => {
                if let Some(suppressed) = NOT_COUNTED.admit() {
                    tracing::warn!(
                        policy,
                        suppressed,
                        "failed to count a request: the database operation timed out"
                    );
                }
                (interval, true)
            }
        };
        allowance(policy, per_minute, until_full, taken)
    }
}

/// Deletes callers with a full allowance.
pub(super) async fn sweep(pool: &PgPool) -> Result<()> {
    sqlx::query(SWEEP).execute(pool).await.map(drop).map_err(database_error)
}

/// Returns the remaining allowance, given the microseconds until it is full.
fn allowance(policy: &'static str, per_minute: NonZeroU32, until_full: i64, taken: bool) -> Allowance {
    let window = WINDOW.as_micros() as i64;
    let interval = window / i64::from(per_minute.get());
    let micros = |micros: i64| Duration::from_micros(micros.max(0).unsigned_abs());
    let left = u32::try_from((window - until_full).max(0) / interval).unwrap_or(u32::MAX);
    Allowance {
        policy,
        limit: per_minute.get(),
        window: WINDOW,
        remaining: left.min(per_minute.get()),
        reset: micros(until_full),
        exhausted: (!taken).then(|| micros(until_full + interval - window)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_allowance_is_derived_from_the_time_until_it_is_full() {
        let limit = NonZeroU32::new(6).unwrap();
        let allowance = |until_full, taken| allowance("default", limit, until_full, taken);
        let first = allowance(10_000_000, true);
        assert_eq!((first.remaining, first.reset), (5, Duration::from_secs(10)));
        let last = allowance(60_000_000, true);
        assert_eq!((last.remaining, last.exhausted), (0, None));
        let rejected = allowance(55_000_000, false);
        assert_eq!((rejected.remaining, rejected.exhausted), (0, Some(Duration::from_secs(5))));
    }
}
