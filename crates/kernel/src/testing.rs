//! A clock and a source of randomness controlled by tests, and a wait with a deadline.

use std::fmt::Debug;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use ep_polling::Timestamp;
use sha2::{Digest, Sha256};
use tokio::time::{sleep, timeout};

use crate::ports::{Clock, Entropy};

/// A clock that moves only when a test advances it.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// Creates a clock at this point in time.
    pub const fn at(now: Timestamp) -> Self {
        Self(AtomicI64::new(now.millis()))
    }

    /// Moves the clock forward.
    pub fn advance(&self, time: Duration) {
        self.0.fetch_add(time.as_millis() as i64, Ordering::SeqCst);
    }
}

impl Default for ManualClock {
    /// Noon of 21 November 2026, UTC.
    fn default() -> Self {
        Self::at(Timestamp::from_millis(1_795_262_400_000))
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}

/// Reproducible bytes derived from a seed: the same calls return the same bytes. Never use it for secrets.
#[derive(Debug)]
pub struct SeededEntropy {
    seed: u64,
    drawn: AtomicU64,
}

impl SeededEntropy {
    /// Creates the source with this seed.
    pub const fn new(seed: u64) -> Self {
        Self { seed, drawn: AtomicU64::new(0) }
    }
}

impl Entropy for SeededEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        for block in bytes.chunks_mut(32) {
            let count = self.drawn.fetch_add(1, Ordering::SeqCst);
            let digest =
                Sha256::new().chain_update(self.seed.to_be_bytes()).chain_update(count.to_be_bytes());
            block.copy_from_slice(&digest.finalize()[..block.len()]);
        }
    }
}

/// The maximum time until a state. Busy machines take long.
const WAIT: Duration = Duration::from_secs(60);
/// The first and the longest pause between two reads of a state.
const READ_PAUSES: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(40));

/// Reads a value until the state that `state` names is reached, and returns the value. Panics after a minute.
///
/// ```ignore
/// let status = until("the poll has ended", async || status(&poll).await, |status| status["ended_at"].is_string()).await;
/// ```
pub async fn until<T: Debug>(
    state: &str,
    mut read: impl AsyncFnMut() -> T,
    is_reached: impl Fn(&T) -> bool,
) -> T {
    let mut last = None;
    let reads = async {
        let mut pause = READ_PAUSES.0;
        loop {
            let value = read().await;
            if is_reached(&value) {
                return value;
            }
            last = Some(value);
            sleep(pause).await;
            pause = (pause * 2).min(READ_PAUSES.1);
        }
    };
    let reached = timeout(WAIT, reads).await;
    reached.unwrap_or_else(|_| panic!("after {WAIT:?}, it is not true that {state}: {last:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_state_is_waited_for() {
        let mut reads = 0;
        let read = async || {
            reads += 1;
            reads
        };
        assert_eq!(until("it was read often", read, |reads| *reads > 9).await, 10);
    }

    #[tokio::test(start_paused = true)]
    #[should_panic(expected = "after 60s, it is not true that it is seven: Some(6)")]
    async fn a_state_that_is_not_reached_is_named_with_the_last_value() {
        until("it is seven", async || 6, |number| *number == 7).await;
    }

    #[tokio::test(start_paused = true)]
    #[should_panic(expected = "it is not true that a response has come: None")]
    async fn a_read_that_never_ends_is_no_longer_awaited() {
        until("a response has come", async || std::future::pending::<()>().await, |()| true).await;
    }
}
