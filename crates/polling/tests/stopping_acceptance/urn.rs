//! Exact expected calls and agreement, without sampling. The poll asks one by one; its roster is
//! Dirichlet(a, …, a)-multinomial and complete. Such a roster in random order is an urn: each drawn option is
//! added once more, so the counts are the state.

use std::collections::HashMap;

const MOST_OPTIONS: usize = 5;

/// Votes per option. A tally sorts all counts; a marked tally sorts all but the first.
type Counts = [u8; MOST_OPTIONS];
type Layer = HashMap<Counts, f64>;

pub(crate) struct Urn {
    options: usize,
    roster: usize,
    a: f64,
    /// The probability that the first option is the only winner, by number of votes.
    wins: Vec<Layer>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Expected {
    pub(crate) calls: f64,
    pub(crate) agreement: f64,
    /// The share of polls stopped by confidence before the lock.
    pub(crate) by_confidence: f64,
}

/// Returns the tally with one more vote for an option, and the counts from `fixed` on sorted again.
fn with_vote(mut counts: Counts, option: usize, fixed: usize) -> Counts {
    counts[option] += 1;
    counts[fixed..].sort_unstable_by(|one, other| other.cmp(one));
    counts
}

impl Urn {
    pub(crate) fn new(options: usize, roster: usize, a: f64) -> Self {
        assert!((2..=MOST_OPTIONS).contains(&options));
        let mut urn = Self { options, roster, a, wins: vec![Layer::new(); roster + 1] };
        let mut tallies = vec![Counts::default()];
        for n in 0..=roster {
            let mut next = Vec::new();
            for counts in tallies {
                urn.wins[n].insert(counts, 0.0);
                next.extend((0..options).map(|option| with_vote(counts, option, 1)));
            }
            next.sort_unstable();
            next.dedup();
            tallies = next;
        }
        for (counts, win) in &mut urn.wins[roster] {
            *win = f64::from(u8::from(counts[0] > counts[1]));
        }
        for n in (0..roster).rev() {
            let (now, later) = urn.wins.split_at_mut(n + 1);
            for (counts, win) in &mut now[n] {
                let draw =
                    |option| (a + f64::from(counts[option])) * later[0][&with_vote(*counts, option, 1)];
                *win = (0..options).map(draw).sum::<f64>() / (a * options as f64 + n as f64);
            }
        }
        urn
    }

    /// Returns the expected cost and agreement of a rule. `stops(x, y, R)` is called after each vote;
    /// `locked(x, y, R)` distinguishes a lock from confidence.
    pub(crate) fn expected(&self, stops: impl Fn(u32, u32, u32) -> bool) -> Expected {
        let mut result = Expected { calls: 0.0, agreement: 0.0, by_confidence: 0.0 };
        let mut layer = Layer::from([(Counts::default(), 1.0)]);
        for n in 0..=self.roster {
            let mut next = Layer::new();
            for (counts, mass) in layer {
                let (x, y, r) = (u32::from(counts[0]), u32::from(counts[1]), (self.roster - n) as u32);
                let locked = x > y + r;
                if r == 0 || locked || (x > y && stops(x, y, r)) {
                    result.calls += mass * n as f64;
                    let certain = r == 0 || locked;
                    result.agreement += if certain { mass } else { mass * self.wins[n][&counts] };
                    result.by_confidence += if certain { 0.0 } else { mass };
                    continue;
                }
                let total = self.a * self.options as f64 + n as f64;
                for option in 0..self.options {
                    let share = (self.a + f64::from(counts[option])) / total;
                    *next.entry(with_vote(counts, option, 0)).or_insert(0.0) += mass * share;
                }
            }
            layer = next;
        }
        result
    }
}
