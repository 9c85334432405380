//! The most frequent label, if it alone were given to every row. A panel is worth its price only if it is more often right.

use crate::counted::counted;
use serde::{Deserialize, Serialize};

use crate::evaluation::sign_test::p_value;

/// The risk of either verdict, if the panel and the most frequent label are equally often right.
const RISK: f64 = 0.05;

/// With fewer rows on which only one of both is right, an undecided test is for want of rows. A panel that is right on three of
/// four such rows is found to be better in three of five tests with 20 rows.
const FEW: u64 = 20;

/// A panel, compared with its most frequent label alone by a sign test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Constant {
    /// The most frequent label by hand.
    pub label: String,
    /// The share of the rows with this label.
    pub share: f64,
    /// Rows on which only the panel is right.
    pub wins: u64,
    /// Rows on which only the most frequent label is right.
    pub losses: u64,
    /// The probability of so many wins or more, if both are equally often right.
    pub p_value: f64,
    /// The verdict, with a risk of 5 %.
    pub verdict: Verdict,
}

/// The verdict of a sign test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The panel is more often right.
    Better,
    /// The rows do not tell.
    Undecided,
    /// The most frequent label is more often right.
    Worse,
}

impl Constant {
    /// Compares a panel, which is right on these rows, with the most frequent of the labels by hand. `None` if no two rows
    /// have the same label.
    ///
    /// ```
    /// use ep_polling::evaluation::constant::{Constant, Verdict};
    ///
    /// let gold = [vec!["ok"; 45], vec!["spam"; 5]].concat();
    /// let perfect = Constant::of(&gold, &[true; 50]).unwrap();
    /// assert_eq!((perfect.wins, perfect.losses, perfect.verdict), (5, 0, Verdict::Better));
    /// // A panel that always says "ok" is right on the same rows.
    /// let same = Constant::of(&gold, &gold.iter().map(|label| *label == "ok").collect::<Vec<_>>()).unwrap();
    /// assert_eq!((same.wins, same.losses, same.verdict), (0, 0, Verdict::Undecided));
    /// ```
    pub fn of(gold: &[&str], is_right: &[bool]) -> Option<Self> {
        let mut labels = gold.to_vec();
        labels.sort_unstable();
        let groups = labels.chunk_by(|one, other| one == other);
        let most = groups.max_by_key(|group| group.len()).filter(|group| group.len() > 1)?;
        let (label, share) = (*most.first()?, most.len() as f64 / gold.len() as f64);
        let only = |panel: bool| {
            let rows = gold.iter().zip(is_right);
            rows.filter(|(gold, is_right)| **is_right == panel && (**gold == label) != panel).count() as u64
        };
        let (wins, losses) = (only(true), only(false));
        let verdict = Verdict::of(wins, losses);
        Some(Self { label: label.to_owned(), share, wins, losses, p_value: p_value(wins, losses), verdict })
    }

    /// True if the test has its figures from these wins and losses, in so many rows.
    pub(crate) fn is_consistent(&self, rows: u64) -> bool {
        let Self { share, wins, losses, verdict, .. } = *self;
        wins.checked_add(losses).is_some_and(|counted| counted <= rows)
            && (0.0..=1.0).contains(&share)
            && (self.p_value - p_value(wins, losses)).abs() < 1e-9
            && verdict == Verdict::of(wins, losses)
    }

    /// True if the panel may well be better, and too few rows tell.
    pub fn lacks_rows(&self) -> bool {
        self.verdict == Verdict::Undecided && self.wins >= self.losses && self.wins + self.losses < FEW
    }

    /// Returns the verdict in words.
    pub fn sentence(&self) -> String {
        let Self { label, share, wins, losses, p_value, verdict } = self;
        let verdict = match verdict {
            Verdict::Better => "are more often right",
            Verdict::Undecided => "are not shown to be more often right",
            Verdict::Worse => "are less often right",
        };
        let rows = match wins + losses {
            0 => "both are right on the same rows".to_owned(),
            count => {
                let p_value =
                    if *p_value < 0.001 { "p < 0.001".to_owned() } else { format!("p = {p_value:.3}") };
                let rows = counted(count, "row");
                format!(
                    "of the {rows} on which only one of both is right, they win {wins} (sign test, {p_value})"
                )
            }
        };
        let more = if self.lacks_rows() { " Label more rows that any model labels otherwise." } else { "" };
        format!(
            "The proposed labels {verdict} than always saying “{label}” ({:.0} % right): {rows}.{more}",
            share * 100.0
        )
    }
}

impl Verdict {
    fn of(wins: u64, losses: u64) -> Self {
        match () {
            () if p_value(wins, losses) <= RISK => Self::Better,
            () if p_value(losses, wins) <= RISK => Self::Worse,
            () => Self::Undecided,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the comparison with 96 rows of "ok" and four of "spam". The panel finds some spam, and errs on some other rows.
    fn compared(found: usize, errors: usize) -> Constant {
        let gold = [vec!["ok"; 96], vec!["spam"; 4]].concat();
        let is_right: Vec<bool> = (0..100).map(|row| (errors..96 + found).contains(&row)).collect();
        Constant::of(&gold, &is_right).unwrap()
    }

    #[test]
    fn four_rare_rows_cannot_decide_for_a_panel() {
        let perfect = compared(4, 0);
        assert_eq!((perfect.verdict, perfect.lacks_rows()), (Verdict::Undecided, true));
        assert_eq!(
            perfect.sentence(),
            "The proposed labels are not shown to be more often right than always saying “ok” (96 % right): of the 4 rows on \
             which only one of both is right, they win 4 (sign test, p = 0.062). Label more rows that any model labels otherwise."
        );
        let worse = compared(1, 8);
        assert_eq!((worse.verdict, worse.lacks_rows()), (Verdict::Worse, false));
        assert!(
            worse.sentence().starts_with("The proposed labels are less often right than always saying “ok”")
        );
        assert!(!compared(1, 3).lacks_rows());
        assert_eq!(Constant::of(&["left 1", "left 2"], &[true, true]), None);
    }

    #[test]
    fn figures_of_others_must_agree() {
        let fine = compared(2, 1);
        assert!(fine.is_consistent(100) && !fine.is_consistent(2));
        let mut wrong = [fine.clone(), fine.clone(), fine.clone(), fine];
        wrong[0].p_value = 0.01;
        wrong[1].verdict = Verdict::Better;
        wrong[2].share = f64::NAN;
        (wrong[3].wins, wrong[3].losses) = (u64::MAX, 1);
        assert!(wrong.iter().all(|wrong| !wrong.is_consistent(100)));
    }
}
