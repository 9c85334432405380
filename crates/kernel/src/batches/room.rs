//! The room for the files and results of all accounts.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::fault::{Fault, Kind, Result};
use crate::ports::Clock;
use ep_polling::Timestamp;
use ep_store::Store;

/// Time until the stored bytes are summed again. Until then, this process adds what it stores.
const MEASURED_EVERY: Duration = Duration::from_secs(10);
/// The same, while there is no room: something may have been deleted.
const MEASURED_WHEN_FULL: Duration = Duration::from_secs(1);

/// The room of the service.
pub(super) struct Room {
    store: Store,
    clock: Arc<dyn Clock>,
    /// Bytes that may be stored.
    most: u64,
    measured: Mutex<Option<Measured>>,
}

/// The stored bytes when they were summed, and those that this process has added since.
#[derive(Clone, Copy)]
struct Measured {
    at: Timestamp,
    bytes: u64,
}

impl Room {
    pub(super) fn new(store: Store, clock: Arc<dyn Clock>, most: u64) -> Self {
        Self { store, clock, most, measured: Mutex::new(None) }
    }

    /// Takes room for this number of bytes. [`Kind::StorageFull`] if there is none. With zero bytes, checks that there is any.
    pub(super) async fn take(&self, bytes: u64) -> Result<()> {
        let now = self.clock.now();
        if let Some(taken) = self.take_of_known(now, bytes) {
            return taken;
        }
        let measured = Measured { at: now, bytes: self.store.stored_bytes().await? };
        *self.measured.lock().unwrap_or_else(PoisonError::into_inner) = Some(measured);
        self.take_of_known(now, bytes).unwrap_or(Ok(()))
    }

    /// Takes room if the stored bytes were summed a short time ago.
    fn take_of_known(&self, now: Timestamp, bytes: u64) -> Option<Result<()>> {
        let mut measured = self.measured.lock().unwrap_or_else(PoisonError::into_inner);
        let known = measured.as_mut().filter(|known| known.at <= now)?;
        let age = now.since(known.at);
        if known.bytes.saturating_add(bytes.max(1)) > self.most {
            return (age < MEASURED_WHEN_FULL).then(|| Err(full()));
        }
        if age >= MEASURED_EVERY {
            return None;
        }
        known.bytes += bytes;
        Some(Ok(()))
    }
}

fn full() -> Fault {
    let message = "the service has no room for more files and results; delete files and results that you do not need, or ask \
                   the operator for more room";
    Fault::new(Kind::StorageFull, message)
}
