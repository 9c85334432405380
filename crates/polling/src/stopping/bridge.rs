//! The confidence that the current leader wins in the full roster.

use std::sync::OnceLock;

use super::dead_heat::{MAX_ROSTER, dead_heat};

/// The evidence in a poll: two counts of votes and the number of members not yet counted.
///
/// Members that responded without a vote are in none of the three counts. An unknown response, pending or
/// failed, may be added to `rival` (as [`Prefix`](super::Prefix) does), never to `leader`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Evidence {
    /// x: votes for the leading option.
    pub leader: u32,
    /// y: votes for the strongest other option; at least `leader` if there is no unique leader.
    pub rival: u32,
    /// R: members not counted yet.
    pub remaining: u32,
}

impl Evidence {
    /// True if one option is strictly ahead.
    pub const fn has_leader(self) -> bool {
        self.leader > self.rival
    }

    /// Returns x + y + R, the maximum final number of votes for leader and rival together, saturating.
    pub(super) const fn most_pair_votes(self) -> usize {
        self.leader.saturating_add(self.rival).saturating_add(self.remaining) as usize
    }
}

/// True if the leader wins whatever the remaining members vote: x > y + R.
pub const fn locked(evidence: Evidence) -> bool {
    evidence.leader > evidence.rival.saturating_add(evidence.remaining)
}

/// Returns the p-value of the evidence, from 0 to 1, by the **Bridge rule**: 1 − confidence.
///
/// Let M be the final number of votes for the leader and one rival together. It is unknown, between x + y
/// and x + y + R. A *dead heat* of M votes is the closest possible result: equal halves, or one vote apart
/// if M is odd. Let p_M(x, y) be the exact probability that a dead heat of M votes, counted in random order,
/// ever shows evidence at least as strong as (x, y). The p-value is the maximum of p_M(x, y) over all M.
///
/// The probability that the p-value of a wrong leader *ever* falls to α or below is at most α. It is taken
/// over the random order alone. It holds for every set of responses and any number of looks. (This is proved
/// if at most two options get votes, with any number of failures. For K options the proof gives (K − 1)·α.
/// An enumeration of every roster of 20 members for K = 3, of 16 for K = 4 and of 12 for K = 5 found none
/// that exceeds α.)
///
/// The p-value is 0 exactly at the [lock](locked), and 1 without a unique leader. Compare this number rather
/// than [`confidence`]: it can be 1e-40, which 1 − p would round away.
///
/// Results are cached for the life of the process, at most about 6 MB.
pub fn p_value(evidence: Evidence) -> f64 {
    if !evidence.has_leader() {
        return 1.0;
    }
    if locked(evidence) {
        return 0.0;
    }
    let votes = evidence.most_pair_votes();
    if votes > MAX_ROSTER {
        return 1.0;
    }
    greatest_crossing(evidence.leader as usize, evidence.rival as usize, votes)
}

/// Returns 1 − [`p_value`], for display. The probability that a leader that does *not* win in the full roster
/// ever reaches a confidence of c is at most 1 − c over the random order.
pub fn confidence(evidence: Evidence) -> f64 {
    1.0 - p_value(evidence)
}

/// Returns the maximum of p_M(x, y) over all M up to `votes` ≤ [`MAX_ROSTER`]. For M below 2x the leader
/// already has more than half of the M votes, so p_M is 0.
fn greatest_crossing(x: usize, y: usize, votes: usize) -> f64 {
    const HALF: usize = MAX_ROSTER / 2;
    static CACHE: [OnceLock<Box<[OnceLock<f64>]>>; HALF + 1] = [const { OnceLock::new() }; HALF + 1];
    if votes < 2 * x {
        return 0.0;
    }
    let width = MAX_ROSTER + 1 - 2 * x;
    let row = CACHE[x].get_or_init(|| (0..x * width).map(|_| OnceLock::new()).collect());
    *row[y * width + votes - 2 * x].get_or_init(|| {
        let walk = dead_heat(votes);
        walk.crossing(walk.rank(x, y)).max(greatest_crossing(x, y, votes - 1))
    })
}
