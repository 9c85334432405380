//! The exact error probability of a poll that asks one member at a time.

/// For each (x, y), the least number of responses at which the evidence stops the poll. A poll that stops at
/// n also stops at any later n with the same counts, because fewer dead heats remain possible.
pub(crate) struct StopTable {
    roster: usize,
    least: Vec<u16>,
}

impl StopTable {
    pub(crate) fn new(roster: usize, stops: impl Fn(u32, u32, u32) -> bool) -> Self {
        let mut least = vec![u16::MAX; (roster + 1) * (roster + 1)];
        for x in 0..=roster {
            for y in 0..=(roster - x) {
                let first = (x + y..=roster).find(|n| stops(x as u32, y as u32, (roster - n) as u32));
                least[x * (roster + 1) + y] = first.map_or(u16::MAX, |n| n as u16);
            }
        }
        Self { roster, least }
    }

    pub(crate) fn stops(&self, x: usize, y: usize, answered: usize) -> bool {
        answered >= usize::from(self.least[x * (self.roster + 1) + y])
    }
}

/// Returns the probability, over the order alone, that a roster with these votes per option and `failures`
/// no-votes stops with another option than its outcome.
pub(crate) fn error(votes: &[usize], failures: usize, table: &StopTable) -> f64 {
    let roster = votes.iter().sum::<usize>() + failures;
    let most = *votes.iter().max().unwrap_or(&0);
    let winner = votes.iter().position(|count| *count == most);
    let outcome = winner.filter(|_| votes.iter().filter(|count| **count == most).count() == 1);

    // Mixed-radix states: the responses so far of each kind. Index order is an order in time.
    let kinds: Vec<usize> = votes.iter().copied().chain([failures]).collect();
    let mut strides = vec![1; kinds.len()];
    for kind in (1..kinds.len()).rev() {
        strides[kind - 1] = strides[kind] * (kinds[kind] + 1);
    }
    let mut mass = vec![0.0; strides[0] * (kinds[0] + 1)];
    mass[0] = 1.0;
    let mut answered = vec![0; kinds.len()];
    let mut wrong = 0.0;
    for state in 0..mass.len() {
        let here = mass[state];
        if here > 0.0 {
            let n: usize = answered.iter().sum();
            let (mut x, mut y, mut leader) = (0, 0, 0);
            for (option, count) in answered[..votes.len()].iter().enumerate() {
                if *count > x {
                    (y, x, leader) = (x, *count, option);
                } else if *count > y {
                    y = *count;
                }
            }
            if x > y && n < roster && table.stops(x, y, n) {
                wrong += if outcome == Some(leader) { 0.0 } else { here };
            } else {
                for kind in 0..kinds.len() {
                    let left = kinds[kind] - answered[kind];
                    if left > 0 {
                        mass[state + strides[kind]] += here * left as f64 / (roster - n) as f64;
                    }
                }
            }
        }
        for kind in (0..kinds.len()).rev() {
            if answered[kind] < kinds[kind] {
                answered[kind] += 1;
                break;
            }
            answered[kind] = 0;
        }
    }
    wrong
}

/// Returns every multiset of votes: `options` counts, highest first, and no-votes for the rest of the roster.
pub(crate) fn rosters(roster: usize, options: usize) -> Vec<(Vec<usize>, usize)> {
    fn extend(votes: &mut Vec<usize>, left: usize, options: usize, all: &mut Vec<(Vec<usize>, usize)>) {
        if votes.len() == options {
            all.push((votes.clone(), left));
            return;
        }
        for count in 0..=left.min(votes.last().copied().unwrap_or(left)) {
            votes.push(count);
            extend(votes, left - count, options, all);
            votes.pop();
        }
    }
    let mut all = Vec::new();
    extend(&mut Vec::new(), roster, options, &mut all);
    all
}
