//! The choice of a panel to prove, from the votes on the gold rows that choose.

use crate::evaluation::panel::cross_fitted;
use crate::evaluation::sign_test::p_value;
use crate::evaluation::votes::Votes;

/// The sizes of panels to choose from.
pub const SIZES: [usize; 3] = [1, 3, 5];

/// The usual number of folds of the cross-fitted accuracy.
pub const FOLDS: usize = 10;

/// Significance level at which one or five members replace the usual three.
const EVIDENCE: f64 = 0.1;

/// Returns the size of the panel to prove: three members, unless one alone or five are clearly more accurate on these rows.
///
/// Three members tell by their votes which labels to trust, and one member does not: on published votes, three models
/// prove far more labels than the best one, even where their accuracy is the same (`benches/published_votes.rs`). One
/// member is the better choice where the others are so weak that they outvote it.
pub fn size_to_prove(votes: &Votes, gold: &[u16]) -> usize {
    let [single, three, five] = SIZES.map(|size| cross_fitted(votes, gold, size, FOLDS));
    match votes.members() {
        0..=2 => 1,
        _ if is_better(&single, &three) && (votes.members() < 5 || is_better(&single, &five)) => 1,
        3..=4 => 3,
        _ if is_better(&five, &three) => 5,
        _ => 3,
    }
}

/// True if the first labels are more often right than the second ones, by a sign test on the rows where they differ.
fn is_better(first: &[bool], second: &[bool]) -> bool {
    let count = |wanted: bool| {
        let differ = first.iter().zip(second).filter(|(first, second)| first != second);
        differ.filter(|(first, _)| **first == wanted).count() as u64
    };
    p_value(count(true), count(false)) <= EVIDENCE
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the votes of members that are right on these shares of the rows, and gold labels of 0.
    fn votes(rows: usize, right: &[f64]) -> (Votes, Vec<u16>) {
        let mut votes = Votes::new(right.len());
        for row in 0..rows {
            let vote = |(member, right): (usize, &f64)| {
                // Errors of the members are spread over the rows independently.
                let place = (row * (2 * member + 7) * 31 + member * 17) % rows;
                Some(u16::from(place as f64 >= right * rows as f64))
            };
            votes.push(&right.iter().enumerate().map(vote).collect::<Vec<_>>());
        }
        (votes, vec![0; rows])
    }

    #[test]
    fn three_members_are_usual_and_one_wins_where_the_others_are_weak() {
        let size = |right: &[f64]| {
            let (votes, gold) = votes(101, right);
            size_to_prove(&votes, &gold)
        };
        assert_eq!(size(&[0.9, 0.9, 0.9, 0.9, 0.9]), 3);
        assert_eq!(size(&[0.98, 0.5, 0.5, 0.5, 0.5]), 1);
        assert_eq!(size(&[0.9, 0.8]), 1);
        assert_eq!(size(&[0.7, 0.7, 0.7]), 3);
    }
}
