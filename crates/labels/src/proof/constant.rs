//! The label that a panel gives most often, as if it alone were given to every accepted row.

use std::collections::BTreeMap;

use ep_polling::evaluation::proof::Claim;
use serde::{Deserialize, Serialize};

/// The most different labels that are counted. With more, rows have options of their own, and no label is frequent.
const MOST_LABELS: usize = 1_000;

/// The numbers of rows with each label.
#[derive(Default)]
pub(crate) struct LabelCounts(BTreeMap<String, u64>);

impl LabelCounts {
    pub(crate) fn add(&mut self, label: &str) {
        if let Some(count) = self.0.get_mut(label) {
            *count += 1;
        } else if self.0.len() <= MOST_LABELS {
            self.0.insert(label.to_owned(), 1);
        }
    }

    /// Returns the number of different labels that are counted.
    pub(crate) fn different(&self) -> usize {
        self.0.len()
    }

    /// Returns each label that is counted, with its number of rows.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(label, rows)| (label.as_str(), *rows))
    }

    /// Returns the most frequent label; `None` if no label is given twice, or if there are too many.
    pub(crate) fn most_frequent(&self) -> Option<&str> {
        let most = self.0.iter().max_by_key(|(_, count)| **count);
        let most = most.filter(|(_, count)| **count > 1 && self.0.len() <= MOST_LABELS);
        most.map(|(label, _)| label.as_str())
    }
}

/// The most frequent label, tested like the labels of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Constant {
    pub(crate) label: String,
    /// Gold rows that the rule accepts.
    pub(crate) gold: u64,
    /// Of these, rows with another gold label.
    pub(crate) wrong: u64,
    /// True if this label alone passes the test of the rule.
    pub(crate) is_proved: bool,
}

impl Constant {
    /// Tests a label on the gold labels of the accepted rows; `all` is the number of all gold rows.
    pub(crate) fn new(label: &str, accepted: &[Option<&str>], all: u64, claim: &Claim) -> Self {
        let gold = accepted.len() as u64;
        let wrong = accepted.iter().filter(|given| **given != Some(label)).count() as u64;
        let most = claim.most_wrong(claim.trials(gold, all));
        Self { label: label.to_owned(), gold, wrong, is_proved: most.is_some_and(|most| wrong <= most) }
    }
}

#[cfg(test)]
mod tests {
    use ep_polling::evaluation::Fraction;
    use ep_polling::evaluation::proof::Scope;

    use super::*;

    #[test]
    fn the_most_frequent_label_is_one_that_rows_share() {
        let most = |labels: &[&str]| {
            let mut counts = LabelCounts::default();
            for label in labels {
                counts.add(label);
            }
            counts.most_frequent().map(str::to_owned)
        };
        assert_eq!(most(&["ok", "spam", "ok"]).as_deref(), Some("ok"));
        assert_eq!(most(&["left 1", "left 2"]), None);
        let many: Vec<String> = (0..=MOST_LABELS).map(|label| label.to_string()).collect();
        let many: Vec<&str> = many.iter().chain(&many).map(String::as_str).collect();
        assert_eq!(most(&many), None);
    }

    #[test]
    fn a_constant_is_tested_like_a_rule() {
        let claim =
            Claim { scope: Scope::Accepted, max_error: Fraction::FIVE_PERCENT, risk: Fraction::FIVE_PERCENT };
        let gold = |ok: usize, spam: usize| [vec![Some("ok"); ok], vec![Some("spam"); spam]].concat();
        let tested = |ok, spam| Constant::new("ok", &gold(ok, spam), 200, &claim);
        assert_eq!((tested(59, 0).is_proved, tested(58, 0).is_proved), (true, false));
        assert_eq!((tested(196, 4).is_proved, tested(195, 5).is_proved), (true, false));
        assert_eq!((tested(195, 5).gold, tested(195, 5).wrong), (200, 5));
    }
}
