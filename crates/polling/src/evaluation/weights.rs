//! Weights of members, fitted on gold labels together, so that members with the same errors share their weight.

use crate::evaluation::votes::{Vote, Votes};

/// The usual ridge for at most 1,000 rows.
pub const USUAL_RIDGE: f64 = 3.0;
/// The fewest gold rows from which weights are worth fitting: with fewer, they are no better than the strongest three
/// members (measured on four sets of published votes).
pub const FEWEST_ROWS: usize = 200;
/// Number of steps. The error of accelerated projected gradients falls with its square.
const STEPS: u32 = 2_000;

/// Weights of the members of a panel: the probability of an option is proportional to the exponential of the weights of the
/// members that voted for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Weights(Vec<f64>);

/// A row to fit: the votes, the number of options, and the gold label.
#[derive(Debug, Clone, Copy)]
pub struct Example<'a> {
    /// The votes, in the order of the members.
    pub votes: &'a [Vote],
    /// The number of options.
    pub options: usize,
    /// The gold label.
    pub gold: u16,
}

impl Weights {
    /// Fits weights of at least 0 by maximum likelihood with a ridge penalty: half of `ridge` times the sum of their
    /// squares. A ridge of 3 suits up to 1,000 rows, and 1 more rows.
    pub fn fit(members: usize, examples: &[Example<'_>], ridge: f64) -> Self {
        // The gradient changes at most this fast: the Hessian of a row is at most half the votes of the row.
        let steepest: f64 = examples.iter().map(|example| example.votes.len() as f64 / 2.0).sum();
        let step = 1.0 / (steepest + ridge.max(f64::MIN_POSITIVE));
        let (mut weights, mut ahead, mut momentum) = (vec![0.0; members], Self(vec![0.0; members]), 1.0_f64);
        for _ in 0..STEPS {
            let gradient = ahead.gradient(examples, ridge);
            let next: Vec<f64> = ahead
                .0
                .iter()
                .zip(&gradient)
                .map(|(weight, slope)| step.mul_add(*slope, *weight).max(0.0))
                .collect();
            let faster = f64::midpoint(1.0, (4.0 * momentum).mul_add(momentum, 1.0).sqrt());
            let push = (momentum - 1.0) / faster;
            ahead = Self(next.iter().zip(&weights).map(|(new, old)| push.mul_add(new - old, *new)).collect());
            (weights, momentum) = (next, faster);
        }
        Self(weights)
    }

    /// Returns the weights, in the order of the members.
    pub fn get(&self) -> &[f64] {
        &self.0
    }

    /// Returns the probability of each option.
    pub fn probabilities(&self, votes: &[Vote], options: usize) -> Vec<f64> {
        let mut sums = vec![0.0; options];
        for (vote, weight) in votes.iter().zip(&self.0) {
            if let Some(sum) = vote.and_then(|option| sums.get_mut(usize::from(option))) {
                *sum += weight;
            }
        }
        let highest = sums.iter().copied().fold(0.0, f64::max);
        let total: f64 = sums.iter().map(|sum| (sum - highest).exp()).sum();
        sums.iter().map(|sum| (sum - highest).exp() / total).collect()
    }

    /// Returns the slope of the penalised likelihood in each weight.
    fn gradient(&self, examples: &[Example<'_>], ridge: f64) -> Vec<f64> {
        let mut slopes: Vec<f64> = self.0.iter().map(|weight| -ridge * weight).collect();
        for example in examples {
            let probabilities = self.probabilities(example.votes, example.options);
            for (slope, vote) in slopes.iter_mut().zip(example.votes) {
                if let Some(option) = *vote {
                    let expected = probabilities.get(usize::from(option)).copied().unwrap_or(0.0);
                    *slope += f64::from(u8::from(option == example.gold)) - expected;
                }
            }
        }
        slopes
    }
}

/// Returns the correctness of each row's most probable option, by weights that are fitted on the rows of other folds.
/// `options` has the number of options of each row.
pub fn cross_fitted(votes: &Votes, options: &[usize], gold: &[u16], folds: usize) -> Vec<bool> {
    let folds = folds.clamp(2, votes.len().max(2));
    let examples: Vec<Example<'_>> = votes
        .rows()
        .zip(options)
        .zip(gold)
        .map(|((votes, &options), &gold)| Example { votes, options, gold })
        .collect();
    let mut is_right = vec![false; examples.len()];
    for fold in 0..folds {
        let of = |wanted: bool| {
            let examples = examples.iter().enumerate();
            examples
                .filter(move |(place, _)| (place % folds == fold) == wanted)
                .map(|(place, row)| (place, *row))
        };
        let others: Vec<Example<'_>> = of(false).map(|(_, example)| example).collect();
        let weights = Weights::fit(votes.members(), &others, USUAL_RIDGE);
        for (place, example) in of(true) {
            let probabilities = weights.probabilities(example.votes, example.options);
            // Of equal options, the first.
            let best = probabilities.iter().enumerate().rev().max_by(|(_, one), (_, two)| one.total_cmp(two));
            if let (Some((best, _)), Some(is_right)) = (best, is_right.get_mut(place)) {
                *is_right = best == usize::from(example.gold);
            }
        }
    }
    is_right
}

#[cfg(test)]
mod tests {
    use super::*;

    const RIDGE: f64 = 3.0;

    /// Rows with the gold label 0. The first member is right on nine of ten, and the second and the third make the same
    /// error on every third row.
    fn rows() -> Vec<[Vote; 4]> {
        let row = |place: u16| {
            let strong = Some(u16::from(place.is_multiple_of(10)));
            let twin = Some(u16::from(place.is_multiple_of(3)));
            [strong, twin, twin, None]
        };
        (0..120).map(row).collect()
    }

    fn fitted(rows: &[[Vote; 4]]) -> Weights {
        let examples: Vec<_> = rows.iter().map(|votes| Example { votes, options: 2, gold: 0 }).collect();
        Weights::fit(4, &examples, RIDGE)
    }

    #[test]
    fn weights_are_a_maximum() {
        let rows = rows();
        let weights = fitted(&rows);
        let examples: Vec<_> = rows.iter().map(|votes| Example { votes, options: 2, gold: 0 }).collect();
        for (weight, slope) in weights.get().iter().zip(weights.gradient(&examples, RIDGE)) {
            assert!(slope.abs() < 1e-6 || (*weight == 0.0 && slope < 0.0), "{weight} {slope}");
        }
    }

    #[test]
    fn a_strong_member_decides_on_other_rows() {
        let mut votes = Votes::new(4);
        for row in rows() {
            votes.push(&row);
        }
        let is_right = cross_fitted(&votes, &[2; 120], &[0; 120], 10);
        assert_eq!(is_right.iter().filter(|right| **right).count(), 108, "as often as the strong member");
    }

    #[test]
    fn members_with_the_same_errors_share_their_weight() {
        let weights = fitted(&rows());
        let &[strong, twin, other, silent] = weights.get() else { panic!("{weights:?}") };
        assert!((twin - other).abs() < 1e-9 && strong > twin + other && silent == 0.0, "{weights:?}");
        let probabilities = weights.probabilities(&[Some(0), Some(1), Some(1), None], 3);
        assert!(probabilities[0] > probabilities[1] && probabilities[1] > probabilities[2]);
        assert!((probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
}
