//! Panels on gold rows: the accuracy of members, their rank, and the labels of the best few.

use std::ops::RangeInclusive;

use crate::tally::Tally;
use crate::tie_rule::{self, TieRule};

use crate::evaluation::binomial;
use crate::evaluation::fraction::Fraction;
use crate::evaluation::proof::{GoldRow, Score};
use crate::evaluation::votes::{Vote, Votes};

/// Right labels among rows with a gold label.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Accuracy {
    /// Rows with the right label. A row without a label is not right.
    pub right: u64,
    /// All rows.
    pub rows: u64,
}

impl Accuracy {
    /// Returns the share of right labels; zero without rows.
    pub fn share(&self) -> f64 {
        self.right as f64 / self.rows.max(1) as f64
    }

    /// Returns the 95 % interval of Clopper and Pearson.
    pub fn interval(&self) -> RangeInclusive<f64> {
        binomial::interval(self.right, self.rows, Fraction::FIVE_PERCENT)
    }

    /// Counts rows.
    pub fn count(is_right: &[bool]) -> Self {
        Self { right: is_right.iter().filter(|right| **right).count() as u64, rows: is_right.len() as u64 }
    }

    /// Counts labels.
    pub fn of(labels: impl IntoIterator<Item = Vote>, gold: &[u16]) -> Self {
        let right = labels.into_iter().zip(gold).filter(|(label, gold)| *label == Some(**gold)).count();
        Self { right: right as u64, rows: gold.len() as u64 }
    }
}

/// Returns the label of these members, the strongest first: the option with the most votes and, of tied options, that of
/// the highest-ranked member; `None` without votes.
///
/// ```
/// use ep_polling::evaluation::panel::label;
///
/// let row = [Some(1), Some(0), Some(1), Some(0)];
/// assert_eq!(label(&row, &[0, 1, 2]), Some(1));
/// assert_eq!(label(&row, &[1, 0, 2, 3]), Some(0), "a tie");
/// ```
pub fn label(row: &[Vote], members: &[usize]) -> Vote {
    let votes = members.iter().filter_map(|&member| row.get(member).copied().flatten()).map(usize::from);
    let options = votes.clone().max().map_or(0, |highest| highest + 1);
    let tally = Tally::of(options, votes.clone().map(Some));
    let (option, _) = tie_rule::decide(&tally, TieRule::Strongest, votes.map(Some), true);
    option.and_then(|option| u16::try_from(option).ok())
}

/// Returns the score of a label: first by the votes for it among the strongest `few` members, then by the votes for it
/// among all. Without a label, it is [`Score::NO_LABEL`].
///
/// On MMLU-Pro, the [area](crate::evaluation::risk_coverage::area) of labels of the best three is .141 in this order. It is .154 by the
/// votes of these three alone (`tests/reference.rs`).
pub fn score(row: &[Vote], label: Vote, ranked: &[usize], few: usize) -> Score {
    let votes = |members: &[usize]| {
        let voted = |member: &&usize| label.is_some() && row.get(**member).copied().flatten() == label;
        members.iter().filter(voted).count() as u64
    };
    let few = ranked.get(..few).unwrap_or(ranked);
    Score(votes(few) * (ranked.len() as u64 + 1) + votes(ranked))
}

/// Returns the accuracy of each member.
pub fn accuracies(votes: &Votes, gold: &[u16]) -> Vec<Accuracy> {
    let of = |member: usize| Accuracy::of(votes.rows().map(|row| row.get(member).copied().flatten()), gold);
    (0..votes.members()).map(of).collect()
}

/// Returns the members by accuracy, the most accurate first. Of equally accurate members, the first one is first.
pub fn ranked(accuracies: &[Accuracy]) -> Vec<usize> {
    let mut members: Vec<usize> = (0..accuracies.len()).collect();
    members.sort_by_key(|&member| accuracies.get(member).map(|accuracy| std::cmp::Reverse(accuracy.right)));
    members
}

/// Returns the labels and [scores](score) of these members, the strongest first, as gold rows.
pub fn gold_rows(votes: &Votes, gold: &[u16], members: &[usize], few: usize) -> Vec<GoldRow> {
    let rows = votes.rows().zip(gold);
    rows.map(|(row, &gold)| {
        let label = label(row, members);
        GoldRow { score: score(row, label, members, few), is_wrong: label != Some(gold) }
    })
    .collect()
}

/// Returns the correctness of each row's label by cross-fitting: the label is that of the `size` members that are most
/// accurate on the other folds. Its mean is the accuracy to expect of members that are chosen on rows like these.
pub fn cross_fitted(votes: &Votes, gold: &[u16], size: usize, folds: usize) -> Vec<bool> {
    let folds = folds.clamp(2, votes.len().max(2));
    let mut is_right = vec![false; votes.len().min(gold.len())];
    for fold in 0..folds {
        let others: Vec<usize> = (0..votes.len()).filter(|place| place % folds != fold).collect();
        let others_gold: Vec<u16> = others.iter().filter_map(|&place| gold.get(place).copied()).collect();
        let mut members = ranked(&accuracies(&votes.select(&others), &others_gold));
        members.truncate(size);
        let held_out = votes.rows().zip(gold).zip(&mut is_right).skip(fold).step_by(folds);
        for ((row, &gold), is_right) in held_out {
            *is_right = label(row, &members) == Some(gold);
        }
    }
    is_right
}
