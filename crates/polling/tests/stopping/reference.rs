//! Reference values from independent computations, mostly as exact rationals.

use crate::{evidence, rule};
use ep_polling::Threshold;
use ep_polling::stopping::{MAX_ROSTER, confidence, locked, p_value, responses_needed};
use std::sync::Arc;

/// x, y, R and the confidence.
const CONFIDENCES: [(u32, u32, u32, f64); 30] = [
    (2, 0, 3, 2.0 / 3.0),
    (3, 0, 7, 17.0 / 21.0),
    (4, 0, 6, 20.0 / 21.0),
    (4, 1, 5, 5.0 / 7.0),
    (4, 1, 3, 27.0 / 35.0),
    (5, 0, 7, 65.0 / 66.0),
    (5, 0, 10, 1675.0 / 1716.0),
    (6, 1, 8, 125.0 / 132.0),
    (1, 0, 24, 0.0),
    (2, 0, 23, 265_000.0 / 676_039.0),
    (3, 0, 22, 918_525.0 / 1_352_078.0),
    (4, 0, 21, 570_442.0 / 676_039.0),
    (5, 0, 20, 3625.0 / 3876.0),
    (6, 0, 19, 94_064.0 / 96_577.0),
    (7, 1, 15, 2849.0 / 2964.0),
    (8, 2, 11, 86_525.0 / 92_378.0),
    (9, 4, 6, 2105.0 / 2431.0),
    (12, 8, 5, 198_000.0 / 676_039.0),
    (6, 0, 44, 650_357_518_571.0 / 686_119_227_300.0),
    (7, 0, 43, 2_938_544_469_743.0 / 3_009_776_343_756.0),
    (15, 6, 24, 3_539_209_524.0 / 3_811_773_485.0),
    (20, 12, 15, 627_037_607.0 / 797_813_055.0),
    (7, 0, 93, 0.962_112_979_308_160_1),
    (20, 8, 65, 0.913_535_091_595_553_3),
    (40, 27, 33, 0.818_739_556_474_688_2),
    (7, 0, 143, 0.957_895_676_921_282),
    (30, 14, 75, 0.953_339_059_675_861_3),
    (70, 55, 21, 0.974_200_619_421_193_9),
    (6, 2, 2, 1.0),
    (3, 3, 4, 0.0),
];

#[test]
fn confidences_are_the_exact_ones() {
    for (x, y, r, expected) in CONFIDENCES {
        let found = confidence(evidence(x, y, r));
        assert!((found - expected).abs() < 1e-10, "C({x}, {y}, {r}) = {found}, not {expected}");
    }
}

#[test]
fn the_lock_has_confidence_one_and_no_leader_has_zero() {
    assert_eq!(p_value(evidence(6, 2, 2)), 0.0);
    assert_eq!(p_value(evidence(3, 3, 4)), 1.0);
    assert_eq!(p_value(evidence(0, 0, 0)), 1.0);
}

#[test]
fn tiny_p_values_keep_their_digits() {
    // In this order of a dead heat, all votes of one side come first, one short of the lock: 2·75!·75!/150!.
    let p = p_value(evidence(75, 0, 75));
    let exact = (1..=75).fold(2.0, |p, k| p * f64::from(k) / f64::from(75 + k));
    assert!(p < 1e-43 && (p / exact - 1.0).abs() < 1e-9, "{p:e}, not {exact:e}");
    assert!(!rule(1.0).stops(evidence(75, 0, 75)), "1 - p is 1 there, yet it is not the lock");
}

#[test]
fn critical_levels_match() {
    let rule = rule(0.95);
    let expected = [
        (10, 2.128_231_706),
        (12, 2.803_360_381),
        (24, 2.507_918_081),
        (25, 1.640_986_270),
        (50, 2.550_864_618),
        (100, 2.533_120_965),
        (150, 2.713_940_444),
    ];
    for (votes, level) in expected {
        let found = rule.critical_level(votes).unwrap();
        assert!((found - level).abs() < 1e-8, "M = {votes}: {found}, not {level}");
    }
    assert_eq!(rule.critical_level(5), None);
    assert_eq!(rule.critical_level(6), None);
    assert_eq!(rule.critical_level(MAX_ROSTER + 1), None);
}

#[test]
fn stopping_boundaries_match() {
    let cases: [(u32, f64, &[u32]); 4] = [
        (25, 0.95, &[6, 8, 9, 10, 11, 12]),
        (25, 0.8, &[4, 6, 8, 9, 10, 11, 12, 12]),
        (50, 0.95, &[7, 9, 11, 13, 14, 15, 17, 18, 19, 20, 21, 22, 23, 23, 24, 25, 25]),
        (100, 0.95, &[7, 10, 12, 14, 15, 17, 19, 20, 22, 23, 24, 26, 27, 28, 29, 30]),
    ];
    for (roster, threshold, boundary) in cases {
        let rule = rule(threshold);
        for (y, least) in (0..).zip(boundary) {
            let stops = |x: &u32| rule.stops(evidence(*x, y, roster - x - y));
            assert_eq!((y + 1..=roster - y).find(stops), Some(*least), "N = {roster}, y = {y}");
        }
    }
}

#[test]
fn first_waves_are_as_large_as_a_stop_needs() {
    let thresholds = [0.5, 0.8, 0.9, 0.95, 0.99, 0.999];
    let waves = [
        (5, [2, 3, 3, 3, 3, 3]),
        (10, [3, 3, 4, 4, 5, 6]),
        (15, [3, 4, 4, 5, 6, 7]),
        (25, [3, 4, 5, 6, 7, 9]),
        (50, [3, 5, 6, 7, 9, 11]),
        (100, [3, 5, 6, 7, 9, 12]),
        (150, [3, 5, 6, 7, 10, 13]),
    ];
    for (roster, expected) in waves {
        let found = thresholds.map(|threshold| responses_needed(&rule(threshold), evidence(0, 0, roster)));
        assert_eq!(found, expected, "N = {roster}");
    }
}

#[test]
fn threshold_zero_stops_at_any_leader_and_one_only_at_the_lock() {
    assert!(rule(0.0).stops(evidence(1, 0, 24)));
    assert!(!rule(0.0).stops(evidence(0, 0, 25)));
    assert!(!rule(0.0).stops(evidence(4, 4, 2)));
    assert!(rule(0.39).stops(evidence(2, 0, 23)));
    assert!(!rule(1e-6).stops(evidence(1, 0, 24)));
    for x in 1..=100 {
        for y in 0..=(100 - x) {
            let state = evidence(x, y, 100 - x - y);
            assert_eq!(rule(1.0).stops(state), locked(state), "{state:?}");
        }
    }
}

#[test]
fn above_the_largest_roster_only_the_lock_stops() {
    assert_eq!(p_value(evidence(100, 0, 51)), 0.0);
    assert_eq!(p_value(evidence(75, 0, 76)), 1.0);
    assert!(rule(0.95).stops(evidence(100, 0, 51)));
    assert!(!rule(0.95).stops(evidence(75, 0, 76)));
    assert_eq!(p_value(evidence(u32::MAX, u32::MAX, u32::MAX)), 1.0);
    assert_eq!(p_value(evidence(u32::MAX, 0, 0)), 0.0);
}

#[test]
fn rules_are_cached_within_bounds() {
    // No other test uses this threshold, because parallel tests share the cache.
    let unusual = || rule(0.123_456_789);
    assert!((0..100).any(|_| Arc::ptr_eq(&unusual(), &unusual())));
    let first = unusual();
    for step in 0..100 {
        _ = rule(f64::from(step) / 1000.0);
    }
    assert!(!Arc::ptr_eq(&first, &unusual()), "the cache is bounded");
    assert_eq!(rule(0.95).threshold(), Threshold::DEFAULT);
}
