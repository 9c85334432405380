//! The confidence of one piece of evidence: how sure the roster's answer already is.

use std::sync::OnceLock;

use super::dead_heat::dead_heat;

/// The largest roster the confidence is computed for, in members. Beyond it only the lock stops a poll.
pub const MAX_ROSTER: usize = 150;

/// What is known of a poll: two counts of votes and the number of members not yet counted.
///
/// Members that failed or abstained are in none of the three: they take no place any more. Whatever is
/// unsure belongs to `rival` (as in [`Prefix`](super::Prefix)), never to `leader`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Evidence {
    /// x: votes for the leading option.
    pub leader: u32,
    /// y: votes for its strongest rival; as many as `leader` when there is no unique leader.
    pub rival: u32,
    /// R: members whose answer is not in evidence.
    pub remaining: u32,
}

impl Evidence {
    /// Whether one option is strictly ahead.
    pub const fn has_leader(self) -> bool {
        self.leader > self.rival
    }

    /// x + y + R, the most pair votes the final result can have; saturating at the type's end.
    pub(super) const fn most_pair_votes(self) -> usize {
        self.leader.saturating_add(self.rival).saturating_add(self.remaining) as usize
    }
}

/// Whether the leader can no longer be caught, whatever the remaining members answer: x > y + R.
pub const fn locked(evidence: Evidence) -> bool {
    evidence.leader > evidence.rival.saturating_add(evidence.remaining)
}

/// 1 − confidence of the evidence, from 0 to 1: the **Bridge rule**.
///
/// Let M be the number of votes that the leader and one rival will have together in the end. It is unknown,
/// between x + y and x + y + R. For each M let p_M(x, y) be the exact probability that a dead heat of M
/// votes, counted in random order, ever shows evidence at least as strong as (x, y); the p-value is the
/// greatest of them. So over the random order alone, and whatever the members answer, the probability that
/// the p-value of a wrong leader *ever* falls to α or below is at most α: looking after every vote is free.
/// (Proved for two live options with any failures; for more it was enumerated and the two-option dead heat
/// is the worst roster.)
///
/// It is 0 exactly at the [lock](locked), and 1 without a unique leader. Keep this number rather than
/// [`confidence`] for comparisons: it can be 1e-40, which 1 − p forgets.
///
/// Results are kept for the life of the process, at most about 6 MB of them.
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

/// 1 − [`p_value`], for showing: a lower bound, over the random order, of the probability that the full
/// roster's answer will be the present leader.
pub fn confidence(evidence: Evidence) -> f64 {
    1.0 - p_value(evidence)
}

/// The greatest p_M(x, y) over all M up to `votes` ≤ [`MAX_ROSTER`]. With fewer than 2x pair votes the
/// leader has more than half of them, so p_M is 0 there; and a larger roster only adds further M.
fn greatest_crossing(x: usize, y: usize, votes: usize) -> f64 {
    const HALF: usize = MAX_ROSTER / 2;
    static KNOWN: [OnceLock<Box<[OnceLock<f64>]>>; HALF + 1] = [const { OnceLock::new() }; HALF + 1];
    if votes < 2 * x {
        return 0.0;
    }
    let width = MAX_ROSTER + 1 - 2 * x;
    let row = KNOWN[x].get_or_init(|| (0..x * width).map(|_| OnceLock::new()).collect());
    *row[y * width + votes - 2 * x].get_or_init(|| {
        let heat = dead_heat(votes);
        heat.crossing(heat.rank(x, y)).max(greatest_crossing(x, y, votes - 1))
    })
}
