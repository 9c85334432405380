//! Simulates the guarantee of proofs: over draws of gold rows, a bound that is proved is broken at most as often as its risk.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use ep_polling::evaluation::draw::{Group, unlikely};
use ep_polling::evaluation::proof::{Claim, GoldRow, MAX_THRESHOLDS, Scope, Score, Scores, prove};
use ep_polling::evaluation::{Fraction, binomial};
use proptest::prelude::*;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Draws of gold rows per population.
const DRAWS: u64 = 300;
/// The probability of a failure of a test by chance is below this.
const CHANCE: f64 = 1e-9;

/// The rows of a file as the rule sees them: each score has a share of the rows and an error rate.
#[derive(Debug, Clone)]
struct Population(Vec<Level>);

#[derive(Debug, Clone, Copy)]
struct Level {
    score: Score,
    rows: u64,
    error_rate: f64,
}

impl Population {
    fn rows(&self) -> u64 {
        self.0.iter().map(|level| level.rows).sum()
    }

    fn scores(&self) -> Scores {
        let mut scores = Scores::default();
        for level in &self.0 {
            (0..level.rows).for_each(|_| scores.add(level.score));
        }
        scores
    }

    /// Returns the error rate that the scope of a claim is about, if this threshold accepts.
    fn error_rate(&self, threshold: Score, scope: Scope) -> f64 {
        let accepted = || self.0.iter().filter(|level| level.score >= threshold);
        let wrong: f64 = accepted().map(|level| level.rows as f64 * level.error_rate).sum();
        let of: u64 = match scope {
            Scope::Accepted => accepted().map(|level| level.rows).sum(),
            Scope::File => self.rows(),
        };
        wrong / of as f64
    }

    /// Draws gold rows at random, with replacement.
    fn draw(&self, gold: usize, random: &mut ChaCha8Rng) -> Vec<GoldRow> {
        let row = |random: &mut ChaCha8Rng| {
            let mut place = random.random_range(0..self.rows());
            let level = self.0.iter().find(|level| {
                let is_in = place < level.rows;
                place = place.saturating_sub(level.rows);
                is_in
            });
            let level = level.unwrap();
            GoldRow { score: level.score, is_wrong: random.random_bool(level.error_rate) }
        };
        (0..gold).map(|_| row(random)).collect()
    }
}

fn population() -> impl Strategy<Value = Population> {
    let level = (1_u64..200, 0.0_f64..0.4);
    // Often the error rate falls with the score, and often it does not.
    (prop::collection::vec(level, 1..8), any::<bool>()).prop_map(|(mut levels, is_sorted)| {
        if is_sorted {
            levels.sort_by(|first, second| second.1.total_cmp(&first.1));
        }
        let levels = levels.iter().enumerate();
        let level = |(score, &(rows, error_rate))| Level { score: Score(score as u64 + 1), rows, error_rate };
        Population(levels.map(level).collect())
    })
}

/// Asserts that so many breaks in [`DRAWS`] draws are no more than the risk and chance allow.
fn assert_within(breaks: u64, risk: Fraction) {
    let at_least = 1.0 - breaks.checked_sub(1).map_or(0.0, |less| binomial::at_most(less, DRAWS, risk));
    assert!(at_least > CHANCE, "{breaks} of {DRAWS} draws broke a bound with a risk of {}", risk.get());
}

fn claim(scope: Scope, max_error: f64, risk: f64) -> Claim {
    Claim { scope, max_error: Fraction::new(max_error).unwrap(), risk: Fraction::new(risk).unwrap() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn bounds_are_broken_at_most_as_often_as_the_risk(
        population in population(),
        max_error in 0.02_f64..0.3,
        risk in prop::sample::select(vec![0.01, 0.05, 0.2]),
        gold in 20_usize..150,
        file in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let claim = claim(if file { Scope::File } else { Scope::Accepted }, max_error, risk);
        let thresholds = population.scores().thresholds(gold as u64, &claim);
        prop_assert!(thresholds.is_sorted_by(|first, second| first > second));
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut breaks = [0, 0];
        for _ in 0..DRAWS {
            let gold = population.draw(gold, &mut random);
            let with_gold = population.scores().thresholds_with_gold(&gold, &claim);
            for (thresholds, breaks) in [&thresholds, &with_gold].into_iter().zip(&mut breaks) {
                *breaks += u64::from(prove(thresholds, &gold, &claim).is_some_and(|test| {
                    population.error_rate(test.threshold, claim.scope) > max_error
                }));
            }
        }
        for breaks in breaks {
            assert_within(breaks, claim.risk);
        }
    }
}

/// The best of several rules is proved only if they share the risk.
#[test]
fn several_rules_share_the_risk() {
    const RULES: u32 = 20;
    let claim = claim(Scope::Accepted, 0.05, 0.05);
    // Every rule is a little worse than the bound.
    let population = Population(vec![Level { score: Score(1), rows: 100, error_rate: 0.055 }]);
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let mut breaks = |claim: Claim| {
        let thresholds = population.scores().thresholds(300, &claim);
        let broken = (0..DRAWS).filter(|_| {
            (0..RULES).any(|_| prove(&thresholds, &population.draw(300, &mut random), &claim).is_some())
        });
        broken.count() as u64
    };
    assert_within(breaks(claim.for_rules(RULES)), claim.risk);
    let undivided = breaks(claim);
    assert!(undivided > DRAWS / 4, "{undivided} of {DRAWS}");
}

/// Many scores are divided by quantiles, and nothing is lost at their ends.
#[test]
fn many_scores_have_few_thresholds() {
    let mut scores = Scores::default();
    (1..=1_000).for_each(|score| scores.add(Score(score)));
    // Rows without a label take no part.
    scores.add_rows(Score::NO_LABEL, 500);
    let thresholds = scores.thresholds(10_000, &claim(Scope::Accepted, 0.05, 0.05));
    assert_eq!(thresholds.len(), MAX_THRESHOLDS);
    assert_eq!(thresholds.last(), Some(&Score(1)));
    assert_eq!(scores.accepted_rows(thresholds[0]), 40);
}

#[test]
fn gold_that_is_too_small_has_no_thresholds() {
    let mut scores = Scores::default();
    (1..=10).for_each(|score| scores.add(Score(score)));
    let claim = claim(Scope::Accepted, 0.05, 0.05);
    assert_eq!(scores.thresholds(58, &claim), []);
    assert_eq!(scores.thresholds(59, &claim), [Score(1)]);
    assert_eq!(prove(&[], &[], &claim), None);
}

/// A row without a label is never accepted, even if no gold row is wrong.
#[test]
fn rows_without_a_label_have_no_threshold() {
    let mut scores = Scores::default();
    scores.add_rows(Score::NO_LABEL, 5);
    scores.add_rows(Score(1), 95);
    let claim = claim(Scope::Accepted, 0.05, 0.05);
    let thresholds = scores.thresholds(200, &claim);
    assert_eq!(thresholds, [Score(1)]);
    let gold: Vec<GoldRow> = (0..200)
        .map(|place| GoldRow { score: Score(u64::from(place >= 10)), is_wrong: place < 10 })
        .collect();
    let proved = prove(&thresholds, &gold, &claim).unwrap();
    assert_eq!((proved.accepted, proved.wrong), (190, 0));
}

/// Gold of the strictest level says nothing about the others, and gold of the loosest level nothing about those above it.
#[test]
fn a_level_without_a_gold_row_is_never_accepted() {
    let mut scores = Scores::default();
    for (score, rows) in [(3, 600), (2, 300), (1, 100)] {
        scores.add_rows(Score(score), rows);
    }
    let claim = claim(Scope::Accepted, 0.05, 0.05);
    let gold = |counts: [usize; 3]| -> Vec<GoldRow> {
        let of = |(level, count): (usize, usize)| {
            vec![GoldRow { score: Score(3 - level as u64), is_wrong: false }; count]
        };
        counts.into_iter().enumerate().flat_map(of).collect()
    };
    let proved = |counts| {
        let gold = gold(counts);
        prove(&scores.thresholds_with_gold(&gold, &claim), &gold, &claim).map(|test| test.threshold)
    };
    assert_eq!(proved([120, 60, 20]), Some(Score(1)));
    assert_eq!(proved([199, 1, 0]), Some(Score(2)));
    assert_eq!(proved([200, 0, 0]), Some(Score(3)));
    assert_eq!(proved([140, 0, 60]), Some(Score(3)));
    assert_eq!(proved([0, 100, 100]), None);
}

/// Honest draws are stopped at most as often as the risk says, in the same draws that a proof takes.
#[test]
fn random_draws_are_rarely_unlikely_and_chosen_ones_always() {
    let risk = Fraction::new(0.05).unwrap();
    let mut random = ChaCha8Rng::seed_from_u64(11);
    for sizes in [vec![452, 231, 38], vec![30, 15, 5], vec![1_900, 60, 30, 10], vec![20; 12], vec![8; 25]] {
        let mut places: Vec<usize> = Vec::new();
        for (group, &size) in sizes.iter().enumerate() {
            places.extend(std::iter::repeat_n(group, size));
        }
        let gold = places.len() / 3;
        let is_stopped = |drawn: &[usize]| {
            let count = |group: usize| drawn.iter().filter(|place| **place == group).count() as u64;
            let groups: Vec<Group> = sizes
                .iter()
                .enumerate()
                .map(|(group, &rows)| Group { rows: rows as u64, drawn: count(group) })
                .collect();
            !unlikely(&groups, risk).is_empty()
        };
        let stopped = (0..DRAWS).filter(|_| {
            places.shuffle(&mut random);
            is_stopped(&places[..gold])
        });
        assert_within(stopped.count() as u64, risk);
        // The same rows in the order of their groups: the first ones are all of the strictest level.
        places.sort_unstable();
        assert!(is_stopped(&places[..gold]), "{sizes:?}");
    }
}
