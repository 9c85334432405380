//! The Bridge rule at one threshold: may this evidence stop the poll?

use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::bridge::{Evidence, MAX_ROSTER, locked};
use super::dead_heat::{cell, dead_heat};
use crate::threshold::Threshold;

/// Room for rounding in p ≤ 1 − c, relative to 1 − c.
const ROUNDING: f64 = 1e-9;

/// How many thresholds are remembered at once; presets use a handful, a caller may name any.
const REMEMBERED: usize = 32;

/// The stopping rule of one threshold c, with what it has learned so far.
///
/// It answers `p_value(evidence) <= 1 - c` without computing the p-value: the crossing probability of a
/// dead heat of M votes falls as its level rises, so for each M one critical level decides. The critical
/// levels are searched for on first use; afterwards a decision is a table look-up.
pub struct Rule {
    threshold: Threshold,
    /// 1 − c with its room for rounding.
    risk: f64,
    /// The rank of the critical level of each M.
    cuts: [OnceLock<u16>; MAX_ROSTER + 1],
    /// For each (x, y): up to which M all have agreed (low byte), and the first M that refused (high byte).
    verdicts: Box<[AtomicU16]>,
}

impl Rule {
    /// The rule of a threshold; the last few thresholds asked for are shared by the whole process.
    pub fn for_threshold(threshold: Threshold) -> Arc<Self> {
        static RECENT: Mutex<Vec<Arc<Rule>>> = Mutex::new(Vec::new());
        let mut recent = RECENT.lock().unwrap_or_else(PoisonError::into_inner);
        let rule = match recent.iter().position(|rule| rule.threshold == threshold) {
            Some(place) => recent.remove(place),
            None => Arc::new(Self::new(threshold)),
        };
        recent.truncate(REMEMBERED - 1);
        recent.insert(0, Arc::clone(&rule));
        rule
    }

    fn new(threshold: Threshold) -> Self {
        const UNKNOWN: u16 = (u8::MAX as u16) << 8;
        Self {
            threshold,
            risk: (1.0 - threshold.get()) * (1.0 + ROUNDING),
            cuts: [const { OnceLock::new() }; MAX_ROSTER + 1],
            verdicts: (0..cell(MAX_ROSTER / 2 + 1, 0)).map(|_| AtomicU16::new(UNKNOWN)).collect(),
        }
    }

    /// The threshold c.
    pub const fn threshold(&self) -> Threshold {
        self.threshold
    }

    /// Whether the confidence of this evidence has reached the threshold.
    ///
    /// A threshold of 1 is reached at the [lock](locked) alone; a threshold of 0 by any unique leader. With
    /// more than [`MAX_ROSTER`] pair votes to come, only these two stop.
    pub fn stops(&self, evidence: Evidence) -> bool {
        if !evidence.has_leader() {
            return false;
        }
        if self.risk >= 1.0 || locked(evidence) {
            return true;
        }
        let votes = evidence.most_pair_votes();
        votes <= MAX_ROSTER && self.all_agree(evidence.leader as usize, evidence.rival as usize, votes)
    }

    /// The critical level of a dead heat of `votes` pair votes as ln T: evidence at this level or above is
    /// strong enough there. None when only the lock is strong enough, or beyond [`MAX_ROSTER`].
    pub fn critical_level(&self, votes: usize) -> Option<f64> {
        if votes > MAX_ROSTER { None } else { dead_heat(votes).level(self.cut(votes)) }
    }

    fn cut(&self, votes: usize) -> u16 {
        *self.cuts[votes].get_or_init(|| dead_heat(votes).cut(self.risk))
    }

    /// Whether every M up to `votes` finds (x, y) strong enough, stopping at the first that does not. Below
    /// 2x pair votes the leader has won, so the first M to ask is 2x.
    fn all_agree(&self, x: usize, y: usize, votes: usize) -> bool {
        let verdict = &self.verdicts[cell(x, y)];
        // Threads may overwrite each other's findings: some are then found again, none is ever wrong.
        let [agreed, refused] = verdict.load(Ordering::Relaxed).to_le_bytes().map(usize::from);
        if votes <= agreed || votes >= refused {
            return votes <= agreed;
        }
        let refuses = |m: &usize| dead_heat(*m).rank(x, y) < self.cut(*m);
        let found = (agreed + 1).max(2 * x);
        let first = (found..=votes).find(refuses);
        let (agreed, refused) = first.map_or((votes, refused), |m| (m - 1, m));
        verdict.store(u16::from_le_bytes([agreed as u8, refused as u8]), Ordering::Relaxed);
        first.is_none()
    }
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rule").field("threshold", &self.threshold).finish_non_exhaustive()
    }
}
