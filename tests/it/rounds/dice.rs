//! Random decisions derived from a seed.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ep_kernel::Entropy;
use ep_kernel::testing::SeededEntropy;

/// The environment variable that sets the seed.
const SEED: &str = "EP_TEST_SEED";

/// Random decisions derived from a seed.
pub struct Dice(SeededEntropy);

impl Dice {
    pub const fn new(seed: u64) -> Self {
        Self(SeededEntropy::new(seed))
    }

    /// Returns the seed of a test: random unless the environment sets it. It is printed, and shown if the test
    /// fails.
    pub fn seed() -> u64 {
        let given = std::env::var(SEED).ok().map(|seed| seed.parse().unwrap());
        let seed =
            given.unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64);
        println!("{SEED}={seed}");
        seed
    }

    /// Returns a random number below `end`.
    pub fn below(&self, end: u64) -> u64 {
        let mut bytes = [0; 8];
        self.0.fill(&mut bytes);
        u64::from_be_bytes(bytes) % end
    }

    /// Pauses for a random number of milliseconds.
    pub async fn pause(&self, from: u64, to: u64) {
        tokio::time::sleep(Duration::from_millis(from + self.below(to - from))).await;
    }
}
