//! System time and randomness for the kernel's ports.

use std::time::{SystemTime, UNIX_EPOCH};

use ep_kernel::{Clock, Entropy};
use ep_polling::Timestamp;
use rand::TryRng;
use rand::rngs::SysRng;

/// The system's clock.
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the Clock port's real side")]
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(since.as_millis() as i64)
    }
}

/// The operating system's random bytes.
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        // Keys must not be created without randomness; after boot, Linux always has some.
        if let Err(error) = SysRng.try_fill_bytes(bytes) {
            tracing::error!(error = %error, "the system random number generator failed");
            std::process::abort();
        }
    }
}
