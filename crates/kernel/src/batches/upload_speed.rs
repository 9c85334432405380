//! The speed of an upload in its last seconds: what it sent long ago does not make it fast.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The least time over which a speed is measured, except at the start.
const MEASURED: Duration = Duration::from_secs(10);

/// The bytes of an upload, by time.
pub(super) struct UploadSpeed(Mutex<ReceivedBytes>);

struct ReceivedBytes {
    all: u64,
    /// The start of the measurement, with the bytes received until then.
    older: (Instant, u64),
    /// A later time, with the bytes received until then. It becomes `older` after [`MEASURED`].
    newer: (Instant, u64),
}

impl UploadSpeed {
    pub(super) fn new() -> Self {
        let start = (Instant::now(), 0);
        Self(Mutex::new(ReceivedBytes { all: 0, older: start, newer: start }))
    }

    pub(super) fn received(&self, bytes: u64) {
        let mut received = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        received.all = received.all.saturating_add(bytes);
        if received.newer.0.elapsed() >= MEASURED {
            received.older = received.newer;
            received.newer = (Instant::now(), received.all);
        }
    }

    /// Returns the bytes in a second during the last ten to twenty seconds, or since the start.
    pub(super) fn per_second(&self) -> u64 {
        let received = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, before) = received.older;
        let millis = since.elapsed().as_millis().max(1) as u64;
        (received.all - before).saturating_mul(1000) / millis
    }
}
