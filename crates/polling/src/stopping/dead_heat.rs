//! The dead heat (a tie, or one vote apart): the final result with the highest probability of a wrong early
//! stop. Its probabilities are computed exactly.
//!
//! Take M votes in random order: A = ⌊M/2⌋ for the apparent leader and B = ⌈M/2⌉ for the rival. After a + b
//! of them the counts are (a, b) with probability h(a, b) = C(A,a)·C(B,b) / C(M,a+b).
//!
//! The level T(a, b) = 1 / ((a+b+1)·h(a, b)) measures the strength of such counts against a dead heat. It is
//! the probability of the counts under a uniform prior over the leader's final share, divided by their
//! probability under the dead heat.
//!
//! Counting the votes one by one is a random walk over the states (a, b). [`DeadHeat::crossing`] is the
//! probability that this walk shows, at *any* step, a leader at a level of at least T(x, y). For even M,
//! either side can be a wrong leader (the outcome is a tie); for odd M only the minority can.

use std::sync::{LazyLock, OnceLock};

/// The largest roster with a computed confidence, in members. Larger polls stop early only at the lock.
pub const MAX_ROSTER: usize = 150;

/// The maximum difference between logarithms of equal levels. Distinct levels of any M up to [`MAX_ROSTER`]
/// are farther apart, and rounding errors are a thousand times smaller.
const LEVEL_TOLERANCE: f64 = 1e-9;

static LN_FACTORIAL: LazyLock<[f64; MAX_ROSTER + 2]> = LazyLock::new(|| {
    let mut table = [0.0; MAX_ROSTER + 2];
    for n in 1..table.len() {
        table[n] = table[n - 1] + (n as f64).ln();
    }
    table
});

fn ln_choose(n: usize, k: usize) -> f64 {
    LN_FACTORIAL[n] - LN_FACTORIAL[k] - LN_FACTORIAL[n - k]
}

/// The dead heat of M votes, with the probabilities computed so far.
pub(super) struct DeadHeat {
    votes: usize,
    leader_side: usize,
    rival_side: usize,
    /// The rank of each state (a, b) with b < a ≤ A among the distinct levels, weakest first; indexed by
    /// [`triangle_index`].
    ranks: Box<[u16]>,
    /// The distinct levels as ln T, ascending.
    levels: Box<[f64]>,
    /// The crossing probability of each rank, computed on first use.
    crossings: Box<[OnceLock<f64>]>,
}

/// Returns the index of the state (a, b), b < a, in a table of all such states.
pub(super) const fn triangle_index(a: usize, b: usize) -> usize {
    a * (a - 1) / 2 + b
}

/// Returns the shared dead heat of `votes` ≤ [`MAX_ROSTER`] votes, built on first use.
pub(super) fn dead_heat(votes: usize) -> &'static DeadHeat {
    static ALL: [OnceLock<DeadHeat>; MAX_ROSTER + 1] = [const { OnceLock::new() }; MAX_ROSTER + 1];
    ALL[votes].get_or_init(|| DeadHeat::new(votes))
}

impl DeadHeat {
    fn new(votes: usize) -> Self {
        let (leader_side, rival_side) = (votes / 2, votes.div_ceil(2));
        let mut states = Vec::with_capacity(triangle_index(leader_side + 1, 0));
        for a in 1..=leader_side {
            for b in 0..a {
                let ln_h = ln_choose(leader_side, a) + ln_choose(rival_side, b) - ln_choose(votes, a + b);
                states.push((-((a + b + 1) as f64).ln() - ln_h, triangle_index(a, b)));
            }
        }
        states.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));

        let mut ranks = vec![0; states.len()].into_boxed_slice();
        let mut levels: Vec<f64> = Vec::new();
        for (level, index) in states {
            if levels.last().is_none_or(|last| level - last > LEVEL_TOLERANCE) {
                levels.push(level);
            }
            ranks[index] = (levels.len() - 1) as u16;
        }
        let crossings = levels.iter().map(|_| OnceLock::new()).collect();
        Self { votes, leader_side, rival_side, ranks, levels: levels.into(), crossings }
    }

    /// Returns the rank of the state (x, y), y < x ≤ A, among the distinct levels; 0 is the weakest.
    pub(super) fn rank(&self, x: usize, y: usize) -> u16 {
        self.ranks[triangle_index(x, y)]
    }

    /// Returns ln T of a rank, or `None` beyond the strongest level of the walk.
    pub(super) fn level(&self, rank: u16) -> Option<f64> {
        self.levels.get(usize::from(rank)).copied()
    }

    /// Returns the probability that the walk ever shows a leader at this rank or above. It falls as the rank
    /// rises.
    pub(super) fn crossing(&self, rank: u16) -> f64 {
        *self.crossings[usize::from(rank)].get_or_init(|| self.crossing_probability(rank))
    }

    /// Returns the lowest rank with a crossing probability of at most `risk`, or one past the last rank.
    pub(super) fn critical_rank(&self, risk: f64) -> u16 {
        let (mut low, mut high) = (0, self.levels.len() as u16);
        while low < high {
            let middle = low.midpoint(high);
            if self.crossing(middle) <= risk {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }

    /// Computes the crossing probability of a rank. It moves the probability of every state forward one vote
    /// at a time and removes the states that have crossed. It adds only positive terms, so even a result of
    /// 1e-40 keeps almost all its digits.
    fn crossing_probability(&self, rank: u16) -> f64 {
        let (leader_side, rival_side) = (self.leader_side, self.rival_side);
        let both_sides_err = leader_side == rival_side;
        let mut mass = vec![0.0; leader_side + 2];
        mass[0] = 1.0;
        let mut crossed = 0.0;
        for n in 1..=self.votes {
            let share = 1.0 / (self.votes - n + 1) as f64;
            let (low, high) = (n.saturating_sub(rival_side), n.min(leader_side));
            for a in (low..=high).rev() {
                // The n-th vote went to the leader from (a-1, b), or to the rival from (a, b-1).
                let from_leader = if a > 0 { mass[a - 1] * (leader_side + 1 - a) as f64 } else { 0.0 };
                let from_rival = if a < n { mass[a] * (rival_side + 1 + a - n) as f64 } else { 0.0 };
                mass[a] = (from_leader + from_rival) * share;
            }
            // For a fixed n the level rises with the lead, so the crossing states are at the ends.
            for a in (low..=high).rev().take_while(|&a| 2 * a > n && self.rank(a, n - a) >= rank) {
                crossed += std::mem::take(&mut mass[a]);
            }
            if both_sides_err {
                for a in (low..=high).take_while(|&a| 2 * a < n && self.rank(n - a, a) >= rank) {
                    crossed += std::mem::take(&mut mass[a]);
                }
            }
        }
        f64::min(crossed, 1.0)
    }
}
