//! The guarantee by enumeration: the exact error rate of every possible roster.

use crate::exact::{StopTable, error, rosters};
use crate::{LEVELS, evidence, rule};
use ep_polling::stopping::p_value;

/// Returns the maximum error of all two-option rosters, failures included, at each level.
fn worst_of_two(roster: usize) -> [f64; 5] {
    let all = rosters(roster, 2);
    LEVELS.map(|level| {
        let rule = rule(level);
        let table = StopTable::new(roster, |x, y, r| rule.stops(evidence(x, y, r)));
        let worst = all.iter().map(|(votes, none)| error(votes, *none, &table)).fold(0.0, f64::max);
        assert!(worst <= (1.0 - level) * (1.0 + 1e-8), "N = {roster}, c = {level}: {worst}");
        worst
    })
}

#[test]
fn two_options_never_err_too_often() {
    for roster in 5..=60 {
        worst_of_two(roster);
    }
}

fn assert_worst(roster: usize, expected: [f64; 5]) {
    let found = worst_of_two(roster);
    for (found, expected) in found.into_iter().zip(expected) {
        assert!((found - expected).abs() < 1e-4, "N = {roster}: {found}, not {expected}");
    }
}

#[test]
fn two_options_err_as_often_as_allowed() {
    assert_worst(25, [0.4120, 0.1977, 0.0978, 0.0388, 0.0093]);
    assert_worst(100, [0.4959, 0.1992, 0.0995, 0.0493, 0.0099]);
}

#[test]
fn two_options_err_as_often_as_allowed_in_the_largest_roster() {
    assert_worst(150, [0.4727, 0.1956, 0.0991, 0.0497, 0.0100]);
}

/// Checks every roster, with every p-value attainable at the roster size used as the risk.
fn check_every_level(options: usize, roster: u32) {
    let mut levels: Vec<f64> = Vec::new();
    for x in 1..=roster {
        for y in 0..=(roster - x) {
            levels.extend((0..=roster - x - y).map(|r| p_value(evidence(x, y, r))));
        }
    }
    levels.retain(|p| *p > 0.0 && *p < 1.0 - 1e-12);
    levels.sort_by(f64::total_cmp);
    levels.dedup_by(|later, earlier| *later - *earlier < 1e-12 * *later);

    let all = rosters(roster as usize, options);
    let (mut worst_of_two, mut worst_of_more) = (0.0_f64, 0.0_f64);
    for level in &levels {
        let risk = level * (1.0 + 1e-9);
        let table = StopTable::new(roster as usize, |x, y, r| x > y && p_value(evidence(x, y, r)) <= risk);
        for (votes, failures) in &all {
            let ratio = error(votes, *failures, &table) / level;
            assert!(ratio <= 1.0 + 1e-8, "{votes:?} + {failures} at p = {level}: {ratio} x");
            let live = votes.iter().filter(|count| **count > 0).count();
            let worst = if live > 2 { &mut worst_of_more } else { &mut worst_of_two };
            *worst = worst.max(ratio);
        }
    }
    println!(
        "K = {options}, N = {roster}: {} levels x {} rosters, worst error / (1 - c): {worst_of_two:.6} with \
         two live options, {worst_of_more:.6} with more",
        levels.len(),
        all.len()
    );
    assert!((worst_of_two - 1.0).abs() < 1e-8, "the dead heat errs exactly as often as allowed");
    assert!(worst_of_more < 0.96, "with more live options errors are rarer");
}

#[test]
fn three_options_never_err_too_often_at_any_level() {
    check_every_level(3, 20);
}

#[test]
fn four_options_never_err_too_often_at_any_level() {
    check_every_level(4, 16);
}

#[test]
fn five_options_never_err_too_often_at_any_level() {
    check_every_level(5, 12);
}
