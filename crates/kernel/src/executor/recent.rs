//! Latencies of recent votes.

use std::collections::VecDeque;
use std::sync::Mutex;

/// Maximum number of stored latencies.
const MAX_LATENCIES: usize = 512;

/// The latencies of this process's recent votes, in milliseconds.
#[derive(Default)]
pub(super) struct RecentLatencies(Mutex<VecDeque<u32>>);

impl RecentLatencies {
    pub(super) fn add(&self, latencies: impl Iterator<Item = u32>) {
        if let Ok(mut stored) = self.0.lock() {
            stored.extend(latencies);
            let excess = stored.len().saturating_sub(MAX_LATENCIES);
            stored.drain(..excess);
        }
    }

    pub(super) fn median(&self) -> Option<u32> {
        let mut latencies: Vec<u32> = self.0.lock().ok()?.iter().copied().collect();
        if latencies.is_empty() {
            return None;
        }
        let middle = latencies.len() / 2;
        Some(*latencies.select_nth_unstable(middle).1)
    }
}
