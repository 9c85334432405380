//! When API keys were last used.

use std::collections::HashMap;
use std::sync::Mutex;

use ep_polling::time::Timestamp;

use crate::caller::KeyId;

/// Keys remembered between two writes; the uses of further keys are not noted until the next write.
const MOST: usize = 100_000;

/// When keys were last used: gathered in memory and written together every few seconds.
#[derive(Debug, Default)]
pub struct KeyUses(Mutex<HashMap<KeyId, Timestamp>>);

impl KeyUses {
    pub(crate) fn note(&self, key: KeyId, at: Timestamp) {
        if let Ok(mut uses) = self.0.lock()
            && (uses.len() < MOST || uses.contains_key(&key))
        {
            uses.insert(key, at);
        }
    }

    /// Removes and returns what was gathered.
    pub fn take(&self) -> Vec<(KeyId, Timestamp)> {
        self.0.lock().map(|mut uses| uses.drain().collect()).unwrap_or_default()
    }
}
