//! Proofs of an error bound from gold labels, by a fixed sequence of exact binomial tests.
//!
//! A rule gives each row a label and a [`Score`]. Thresholds of the score are fixed without looking at a gold label, and
//! tested from the strictest to the loosest. A test passes if so few errors among the gold rows would be improbable with an
//! error rate above the bound. The first test that fails ends the sequence, and the last one that passed is proved.
//! Because the order is fixed beforehand, the risk of a wrong proof is that of one test (fixed-sequence testing: Maurer,
//! Hothorn, Lehmacher, 1995; for selective labels: Bauer et al., 1991, and Angelopoulos et al., "Learn then test", 2021).
//!
//! A proof is valid under these conditions, which the caller ensures:
//!
//! - The gold rows are drawn at random from the rows that the bound is about.
//! - [`Scores`] holds the scores of all these rows, not those of the gold rows alone.
//! - Panel, prompt, rule, bound and risk are fixed before a label of these gold rows is read.
//! - The gold rows are tested once. For several rules on the same gold, each has its part of the risk
//!   ([`Claim::for_rules`]).

use std::collections::BTreeMap;
use std::ops::Bound;

use serde::{Deserialize, Serialize};

use crate::evaluation::binomial;
use crate::evaluation::fraction::Fraction;

/// The maximum number of thresholds that are tested one by one; more scores are divided by quantiles.
pub const MAX_THRESHOLDS: usize = 25;

/// The order in which labels are believed: a label with a higher score is accepted before one with a lower score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Score(pub u64);

impl Score {
    /// The score of a row without a label, which no threshold accepts.
    pub const NO_LABEL: Self = Self(0);
}

/// The rows that an error bound is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Of the accepted rows, at most this share is wrong.
    Accepted,
    /// Of all rows, at most this share is accepted and wrong: the finished file, if the other rows are reviewed by hand.
    File,
}

/// An error bound that can be proved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Claim {
    /// The rows that it is about.
    pub scope: Scope,
    /// The permitted error rate.
    pub max_error: Fraction,
    /// The risk that a false claim is proved.
    pub risk: Fraction,
}

/// A row with a gold label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GoldRow {
    /// The score of its label.
    pub score: Score,
    /// True if its label differs from the gold label.
    pub is_wrong: bool,
}

/// One test of a sequence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Test {
    /// Labels with this score or a higher one are accepted.
    pub threshold: Score,
    /// Gold rows that are accepted.
    pub accepted: u64,
    /// Of these, rows with a wrong label.
    pub wrong: u64,
    /// The probability of so few errors, if the error rate were exactly the permitted one.
    pub p_value: f64,
}

/// The scores of all rows, which fix the thresholds.
#[derive(Debug, Clone, Default)]
pub struct Scores(BTreeMap<Score, u64>);

impl Claim {
    /// Returns the claim for each of this many rules that are tested on the same gold rows.
    #[must_use]
    pub fn for_rules(self, rules: u32) -> Self {
        Self { risk: self.risk.divided_by(rules), ..self }
    }

    /// Returns the fewest gold rows that can prove the claim, if none of them is wrong.
    ///
    /// ```
    /// use ep_polling::evaluation::proof::{Claim, Scope};
    /// use ep_polling::evaluation::Fraction;
    ///
    /// let claim = |max_error| Claim {
    ///     scope: Scope::Accepted,
    ///     max_error: Fraction::new(max_error).unwrap(),
    ///     risk: Fraction::FIVE_PERCENT,
    /// };
    /// assert_eq!([0.10, 0.05, 0.02].map(|bound| claim(bound).fewest_gold()), [29, 59, 149]);
    /// ```
    pub fn fewest_gold(&self) -> u64 {
        (self.risk.get().ln() / (-self.max_error.get()).ln_1p()).ceil() as u64
    }

    /// Returns the most errors among this many gold rows with which the claim holds; `None` if the rows are too few.
    ///
    /// ```
    /// use ep_polling::evaluation::proof::{Claim, Scope};
    /// use ep_polling::evaluation::Fraction;
    ///
    /// let claim =
    ///     Claim { scope: Scope::Accepted, max_error: Fraction::FIVE_PERCENT, risk: Fraction::FIVE_PERCENT };
    /// assert_eq!([58, 59, 150, 200].map(|rows| claim.most_wrong(rows)), [None, Some(0), Some(2), Some(4)]);
    /// ```
    pub fn most_wrong(&self, rows: u64) -> Option<u64> {
        let passes = |wrong: &u64| binomial::at_most(*wrong, rows, self.max_error) <= self.risk.get();
        (0..rows).take_while(passes).last()
    }

    /// True if a test speaks for the claim.
    pub fn is_passed_by(&self, test: &Test) -> bool {
        test.p_value <= self.risk.get()
    }

    /// Tests one threshold.
    fn test(&self, threshold: Score, gold: &[GoldRow]) -> Test {
        let accepted = gold.iter().filter(|row| row.score >= threshold);
        let (mut rows, mut wrong) = (0, 0);
        for row in accepted {
            rows += 1;
            wrong += u64::from(row.is_wrong);
        }
        let p_value = binomial::at_most(wrong, self.trials(rows, gold.len() as u64), self.max_error);
        Test { threshold, accepted: rows, wrong, p_value }
    }

    /// Returns the gold rows that a test counts errors among, if `accepted` of all `gold` rows are accepted.
    pub const fn trials(&self, accepted: u64, gold: u64) -> u64 {
        match self.scope {
            Scope::Accepted => accepted,
            Scope::File => gold,
        }
    }
}

impl Scores {
    /// Adds the score of a row.
    pub fn add(&mut self, score: Score) {
        self.add_rows(score, 1);
    }

    /// Adds the score of several rows.
    pub fn add_rows(&mut self, score: Score, rows: u64) {
        *self.0.entry(score).or_default() += rows;
    }

    /// Returns each score with its number of rows.
    pub fn iter(&self) -> impl Iterator<Item = (Score, u64)> {
        self.0.iter().map(|(score, rows)| (*score, *rows))
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        self.0.values().sum()
    }

    /// Returns the number of rows that a threshold accepts.
    pub fn accepted_rows(&self, threshold: Score) -> u64 {
        self.0.range(threshold..).map(|(_, rows)| rows).sum()
    }

    /// Returns the share of the rows that a threshold accepts.
    pub fn accepted(&self, threshold: Score) -> f64 {
        self.accepted_rows(threshold) as f64 / self.rows().max(1) as f64
    }

    /// Returns the thresholds to test, the strictest first: one for each of the [levels](Self::levels). Those that may accept
    /// too few of `gold` rows to prove the claim are left out. No gold label is needed.
    pub fn thresholds(&self, gold: u64, claim: &Claim) -> Vec<Score> {
        let rows = self.rows() as f64;
        let needed = match claim.scope {
            Scope::Accepted => claim.fewest_gold(),
            Scope::File => 0,
        };
        let mut accepted = 0;
        let is_tested = |(threshold, rows_of_level): (Score, u64)| {
            accepted += rows_of_level;
            accepts_enough(gold, accepted as f64 / rows, needed).then_some(threshold)
        };
        self.levels().into_iter().filter_map(is_tested).collect()
    }

    /// Returns the [thresholds](Self::thresholds) above the first level without a gold row. Gold says nothing about the labels
    /// of such a level, so no rule accepts them. Testing may end there, because no gold label decides it.
    pub fn thresholds_with_gold(&self, gold: &[GoldRow], claim: &Claim) -> Vec<Score> {
        let mut thresholds = self.thresholds(gold.len() as u64, claim);
        if let Some(without) = self.level_without_gold(gold) {
            thresholds.retain(|threshold| *threshold > without);
        }
        thresholds
    }

    /// Returns the strictest level without a gold row, by its lowest score.
    pub fn level_without_gold(&self, gold: &[GoldRow]) -> Option<Score> {
        let mut above = None;
        let is_without = |(lowest, _): &(Score, u64)| {
            let is_in = |score: Score| score >= *lowest && above.is_none_or(|above| score < above);
            let is_without = !gold.iter().any(|row| is_in(row.score));
            above = Some(*lowest);
            is_without
        };
        self.levels().into_iter().find(is_without).map(|(lowest, _)| lowest)
    }

    /// Returns the levels of labels that are believed alike, the strictest first: the lowest score of each, and its number of
    /// rows. Each score is a level, or more than [`MAX_THRESHOLDS`] scores are divided by quantiles.
    pub fn levels(&self) -> Vec<(Score, u64)> {
        let labels = || self.0.range((Bound::Excluded(Score::NO_LABEL), Bound::Unbounded));
        let of_labels: u64 = labels().map(|(_, count)| count).sum();
        let quantiles = labels().count() > MAX_THRESHOLDS;
        let (mut levels, mut accepted, mut before, mut next) = (Vec::new(), 0, 0, 1);
        for (&score, &count) in labels().rev() {
            accepted += count;
            let is_quantile = accepted * MAX_THRESHOLDS as u64 >= of_labels * next;
            if quantiles && !is_quantile {
                continue;
            }
            next = accepted * MAX_THRESHOLDS as u64 / of_labels.max(1) + 1;
            levels.push((score, accepted - before));
            before = accepted;
        }
        levels
    }
}

/// True if a threshold with this coverage accepts as many gold rows as a test needs, with a probability of 95 %. A test that
/// fails for want of rows would end the sequence.
fn accepts_enough(gold: u64, coverage: f64, needed: u64) -> bool {
    match (needed.checked_sub(1), Fraction::new(coverage)) {
        (None, _) => true,
        (Some(too_few), Ok(coverage)) => {
            binomial::at_most(too_few, gold, coverage) <= Fraction::FIVE_PERCENT.get()
        }
        // All rows are accepted.
        (Some(_), Err(_)) => gold >= needed,
    }
}

/// Tests a sequence of thresholds until one fails. Returns the loosest threshold that is proved, if any.
///
/// ```
/// use ep_polling::evaluation::proof::{prove, Claim, GoldRow, Score, Scope, Scores};
/// use ep_polling::evaluation::Fraction;
///
/// let claim = Claim { scope: Scope::Accepted, max_error: Fraction::FIVE_PERCENT, risk: Fraction::FIVE_PERCENT };
/// // 200 gold rows of a panel of three: 150 unanimous labels, one of them wrong; 50 majorities, 10 of them wrong.
/// let row = |score, is_wrong| GoldRow { score: Score(score), is_wrong };
/// let gold: Vec<GoldRow> =
///     (0..150).map(|place| row(3, place == 0)).chain((0..50).map(|place| row(2, place < 10))).collect();
/// // They were drawn from a file of 2,000 rows.
/// let mut scores = Scores::default();
/// (0..1_480).for_each(|_| scores.add(Score(3)));
/// (0..520).for_each(|_| scores.add(Score(2)));
/// let proved = prove(&scores.thresholds_with_gold(&gold, &claim), &gold, &claim).expect("a proof");
/// assert_eq!((proved.threshold, proved.accepted, proved.wrong), (Score(3), 150, 1));
/// ```
pub fn prove(thresholds: &[Score], gold: &[GoldRow], claim: &Claim) -> Option<Test> {
    sequence(thresholds, gold, claim).into_iter().rfind(|test| claim.is_passed_by(test))
}

/// Returns the tests of [`prove`]: those that passed and, if one failed, that one.
pub fn sequence(thresholds: &[Score], gold: &[GoldRow], claim: &Claim) -> Vec<Test> {
    let mut tests = Vec::new();
    for &threshold in thresholds {
        let test = claim.test(threshold, gold);
        tests.push(test);
        if !claim.is_passed_by(&test) {
            break;
        }
    }
    tests
}
