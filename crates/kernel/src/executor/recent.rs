//! Latencies of recent votes.

use std::collections::VecDeque;
use std::sync::Mutex;

/// Votes remembered.
const MOST: usize = 512;

/// The latencies of this process's recent votes, in milliseconds.
#[derive(Default)]
pub(super) struct RecentLatencies(Mutex<VecDeque<u32>>);

impl RecentLatencies {
    pub(super) fn add(&self, latencies: impl Iterator<Item = u32>) {
        if let Ok(mut kept) = self.0.lock() {
            kept.extend(latencies);
            let excess = kept.len().saturating_sub(MOST);
            kept.drain(..excess);
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
