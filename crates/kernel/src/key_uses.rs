//! Times of the last uses of API keys.

use std::collections::HashMap;
use std::sync::Mutex;

use ep_polling::Timestamp;

use ep_store::KeyId;

/// Maximum keys stored between two writes. Uses of further keys are ignored until the next write.
const MAX_KEYS: usize = 100_000;

/// Times of the last uses of keys: collected in memory and written together every few seconds.
#[derive(Debug, Default)]
pub struct KeyUses(Mutex<HashMap<KeyId, Timestamp>>);

impl KeyUses {
    pub(crate) fn note(&self, key: KeyId, at: Timestamp) {
        if let Ok(mut uses) = self.0.lock()
            && (uses.len() < MAX_KEYS || uses.contains_key(&key))
        {
            uses.insert(key, at);
        }
    }

    /// Removes and returns the collected times.
    pub fn take(&self) -> Vec<(KeyId, Timestamp)> {
        self.0.lock().map(|mut uses| uses.drain().collect()).unwrap_or_default()
    }
}
