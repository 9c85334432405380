//! The Bridge rule at one threshold.

use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::bridge::{Evidence, locked};
use super::dead_heat::{MAX_ROSTER, dead_heat, triangle_index};
use crate::threshold::Threshold;

/// Tolerance for rounding in p ≤ 1 − c, relative to 1 − c.
const ROUNDING: f64 = 1e-9;

/// The maximum number of cached rules. It is bounded because callers may choose any threshold.
const CACHED_RULES: usize = 32;

/// The stopping rule of one threshold c.
///
/// It evaluates `p_value(evidence) <= 1 - c` without computing the p-value. Let M be the maximum final
/// number of votes for leader and rival together. For each M, one critical level decides, because the
/// crossing probability of a dead heat of M votes falls as the level rises. Critical levels are searched for
/// on first use and cached; after that a decision is a table look-up.
pub struct Rule {
    threshold: Threshold,
    /// 1 − c plus the tolerance for rounding.
    risk: f64,
    /// The rank of the critical level, by M.
    critical_ranks: [OnceLock<u16>; MAX_ROSTER + 1],
    /// For each (x, y): the largest M up to which (x, y) is known to be strong enough (low byte), and the
    /// first M for which it is known to be too weak (high byte).
    known: Box<[AtomicU16]>,
}

impl Rule {
    /// Returns the rule of a threshold. The whole process shares a cache of recently used rules.
    pub fn for_threshold(threshold: Threshold) -> Arc<Self> {
        static RECENT: Mutex<Vec<Arc<Rule>>> = Mutex::new(Vec::new());
        let mut recent = RECENT.lock().unwrap_or_else(PoisonError::into_inner);
        let rule = match recent.iter().position(|rule| rule.threshold == threshold) {
            Some(index) => recent.remove(index),
            None => Arc::new(Self::new(threshold)),
        };
        recent.truncate(CACHED_RULES - 1);
        recent.insert(0, Arc::clone(&rule));
        rule
    }

    fn new(threshold: Threshold) -> Self {
        const UNKNOWN: u16 = (u8::MAX as u16) << 8;
        Self {
            threshold,
            risk: (1.0 - threshold.get()) * (1.0 + ROUNDING),
            critical_ranks: [const { OnceLock::new() }; MAX_ROSTER + 1],
            known: (0..triangle_index(MAX_ROSTER / 2 + 1, 0)).map(|_| AtomicU16::new(UNKNOWN)).collect(),
        }
    }

    /// Returns the threshold c.
    pub const fn threshold(&self) -> Threshold {
        self.threshold
    }

    /// True if the confidence of this evidence has reached the threshold.
    ///
    /// A threshold of 1 is reached only at the [lock](locked), a threshold of 0 by any unique leader. If
    /// leader and rival could still have more than [`MAX_ROSTER`] votes together, only these two cases stop.
    pub fn stops(&self, evidence: Evidence) -> bool {
        if !evidence.has_leader() {
            return false;
        }
        if self.risk >= 1.0 || locked(evidence) {
            return true;
        }
        let votes = evidence.most_pair_votes();
        votes <= MAX_ROSTER
            && self.is_strong_for_all(evidence.leader as usize, evidence.rival as usize, votes)
    }

    /// Returns the critical level, as ln T, of a dead heat of `votes` votes: the minimum level that is strong
    /// enough. `None` if only the lock is strong enough, and beyond [`MAX_ROSTER`].
    pub fn critical_level(&self, votes: usize) -> Option<f64> {
        if votes > MAX_ROSTER { None } else { dead_heat(votes).level(self.critical_rank(votes)) }
    }

    fn critical_rank(&self, votes: usize) -> u16 {
        *self.critical_ranks[votes].get_or_init(|| dead_heat(votes).critical_rank(self.risk))
    }

    /// True if (x, y) is strong enough for every M up to `votes`. For M below 2x the leader has more than
    /// half of the votes, so the check begins at 2x.
    fn is_strong_for_all(&self, x: usize, y: usize, votes: usize) -> bool {
        let known = &self.known[triangle_index(x, y)];
        // Threads may overwrite each other's results. A result may be computed twice, but is never wrong.
        let [strong_up_to, first_weak] = known.load(Ordering::Relaxed).to_le_bytes().map(usize::from);
        if votes <= strong_up_to || votes >= first_weak {
            return votes <= strong_up_to;
        }
        let is_weak = |m: &usize| dead_heat(*m).rank(x, y) < self.critical_rank(*m);
        let from = (strong_up_to + 1).max(2 * x);
        let weak = (from..=votes).find(is_weak);
        let (strong_up_to, first_weak) = weak.map_or((votes, first_weak), |m| (m - 1, m));
        known.store(u16::from_le_bytes([strong_up_to as u8, first_weak as u8]), Ordering::Relaxed);
        weak.is_none()
    }
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rule").field("threshold", &self.threshold).finish_non_exhaustive()
    }
}
