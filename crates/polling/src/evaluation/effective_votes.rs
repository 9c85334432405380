//! The number of independent votes that a panel is worth.

use crate::evaluation::votes::Vote;

/// Sums over rows, from which the correlation of the members' errors is computed.
///
/// Its size is the square of the number of members, and does not depend on the number of rows.
#[derive(Debug, Clone)]
pub struct ErrorCorrelation {
    members: usize,
    /// For each pair of members, in the order (0, 1), (0, 2) … (1, 2) …
    pairs: Vec<PairSums>,
}

/// The rows on which both members of a pair voted, with their errors.
#[derive(Debug, Clone, Copy, Default)]
struct PairSums {
    rows: u64,
    first: u64,
    second: u64,
    both: u64,
}

impl ErrorCorrelation {
    /// Creates empty sums for this many members.
    pub fn new(members: usize) -> Self {
        Self { members, pairs: vec![PairSums::default(); members * members.saturating_sub(1) / 2] }
    }

    /// Adds a row: for each member, true if its vote is wrong, and `None` without a vote.
    pub fn add(&mut self, errors: &[Option<bool>]) {
        let members = self.members;
        let errors = |member: usize| errors.get(member).copied().flatten();
        let pairs = (0..members).flat_map(|first| (first + 1..members).map(move |second| (first, second)));
        for (sums, (first, second)) in self.pairs.iter_mut().zip(pairs) {
            if let (Some(first), Some(second)) = (errors(first), errors(second)) {
                sums.rows += 1;
                sums.first += u64::from(first);
                sums.second += u64::from(second);
                sums.both += u64::from(first && second);
            }
        }
    }

    /// Adds a row with a gold label.
    pub fn add_gold(&mut self, row: &[Vote], gold: u16) {
        let errors: Vec<_> = row.iter().map(|vote| vote.map(|option| option != gold)).collect();
        self.add(&errors);
    }

    /// Returns the mean correlation of the errors of two members. Pairs in which one member is always right, or always
    /// wrong, have no correlation and do not count.
    pub fn mean(&self) -> Option<f64> {
        let (mut sum, mut pairs) = (0.0, 0_u32);
        for correlation in self.pairs.iter().filter_map(PairSums::correlation) {
            sum += correlation;
            pairs += 1;
        }
        (pairs > 0).then(|| sum / f64::from(pairs))
    }

    /// Returns the effective number of votes (Kish, Survey Sampling, 1965): n / (1 + (n − 1) r), where n is the number of
    /// members and r is [`mean`](Self::mean), at least 0.
    pub fn effective_votes(&self) -> Option<f64> {
        let members = self.members as f64;
        self.mean().map(|mean| members / (members - 1.0).mul_add(mean.max(0.0), 1.0))
    }
}

/// Describes how the effective number of votes follows from this mean correlation of errors.
///
/// ```
/// use ep_polling::evaluation::effective_votes::formula;
///
/// assert_eq!(formula(0.25), "n / (1 + (n - 1) r), with the mean correlation of errors r = 0.25");
/// assert!(formula(-0.07).ends_with("r = -0.07, which counts as 0"));
/// ```
pub fn formula(correlation: f64) -> String {
    let counts_as = if correlation < 0.0 { ", which counts as 0" } else { "" };
    format!("n / (1 + (n - 1) r), with the mean correlation of errors r = {correlation:.2}{counts_as}")
}

impl PairSums {
    fn correlation(&self) -> Option<f64> {
        let [rows, first, second, both] =
            [self.rows, self.first, self.second, self.both].map(|sum| sum as f64);
        let deviations = (first * (rows - first)).sqrt() * (second * (rows - second)).sqrt();
        (deviations > 0.0).then(|| rows.mul_add(both, -(first * second)) / deviations)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rows: &[[Option<bool>; 3]]) -> ErrorCorrelation {
        let mut correlation = ErrorCorrelation::new(3);
        for row in rows {
            correlation.add(row);
        }
        correlation
    }

    #[test]
    fn equal_members_are_one_vote() {
        let copies = of(&[[Some(true); 3], [Some(false); 3]]);
        assert_eq!((copies.mean(), copies.effective_votes()), (Some(1.0), Some(1.0)));
    }

    #[test]
    fn independent_members_are_votes_of_their_own() {
        let rows = (0..8).map(|bits| [0, 1, 2].map(|member| Some(bits >> member & 1 == 1)));
        let independent = of(&rows.collect::<Vec<_>>());
        assert_eq!((independent.mean(), independent.effective_votes()), (Some(0.0), Some(3.0)));
    }

    #[test]
    fn members_without_errors_have_no_correlation() {
        assert_eq!(of(&[[Some(false), Some(true), None], [Some(false), Some(false), None]]).mean(), None);
        assert_eq!(ErrorCorrelation::new(1).effective_votes(), None);
    }
}
