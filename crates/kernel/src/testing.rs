//! A clock and a source of randomness controlled by tests.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use ep_polling::time::Timestamp;
use sha2::{Digest, Sha256};

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
