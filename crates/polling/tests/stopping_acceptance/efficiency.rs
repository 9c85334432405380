//! The exact number of calls of the rule.

use crate::urn::Urn;
use crate::{LEVELS, data, evidence, rule};
use serde::Deserialize;

/// K, N, a, then calls and agreement at each of [`LEVELS`].
type Row = (usize, usize, f64, [(f64, f64); 5]);

#[rustfmt::skip]
const EXPECTED: [Row; 14] = [
    (2, 10, 1.0, [(5.2714, 0.96385), (5.6381, 0.97511), (6.5016, 0.99192), (6.7619, 0.99481), (7.3492, 0.99928)]),
    (2, 25, 0.3, [(5.5773, 0.98411), (7.2952, 0.99445), (8.5794, 0.99786), (9.7686, 0.99930), (11.0255, 0.99985)]),
    (2, 25, 1.0, [(8.0838, 0.96600), (10.4725, 0.98795), (11.9871, 0.99531), (13.2924, 0.99845), (14.6698, 0.99967)]),
    (2, 50, 1.0, [(11.2197, 0.95374), (17.6352, 0.99055), (20.0443, 0.99592), (22.0061, 0.99825), (25.0798, 0.99970)]),
    (2, 100, 0.3, [(9.2828, 0.97879), (14.7989, 0.99509), (17.5330, 0.99792), (19.8430, 0.99915), (23.9194, 0.99986)]),
    (2, 100, 1.0, [(16.1892, 0.95399), (25.5234, 0.98907), (30.0122, 0.99536), (33.4853, 0.99810), (39.4176, 0.99967)]),
    (2, 150, 1.0, [(21.1877, 0.95844), (32.6170, 0.98954), (38.3709, 0.99577), (42.9934, 0.99808), (50.8603, 0.99972)]),
    (3, 25, 1.0, [(11.6939, 0.95787), (14.2444, 0.98574), (15.7256, 0.99495), (16.9860, 0.99855), (18.1013, 0.99971)]),
    (3, 50, 0.3, [(10.3976, 0.96856), (15.9136, 0.99439), (17.9702, 0.99767), (19.6790, 0.99903), (22.5514, 0.99985)]),
    (3, 100, 1.0, [(27.0100, 0.94598), (39.0497, 0.98910), (44.4267, 0.99583), (48.3948, 0.99847), (54.7316, 0.99977)]),
    (4, 25, 0.3, [(9.4223, 0.97039), (11.6509, 0.99002), (13.0866, 0.99643), (14.3457, 0.99892), (15.5875, 0.99978)]),
    (4, 25, 1.0, [(14.1952, 0.96017), (16.5658, 0.98753), (17.9651, 0.99620), (19.0006, 0.99894), (19.8761, 0.99982)]),
    (4, 50, 1.0, [(22.1804, 0.94894), (30.0552, 0.99303), (32.3981, 0.99746), (34.0560, 0.99903), (36.5926, 0.99988)]),
    (5, 25, 1.0, [(15.9672, 0.96385), (18.1584, 0.98978), (19.4584, 0.99733), (20.2645, 0.99923), (20.9700, 0.99990)]),
];

fn bridge(urn: &Urn, level: f64) -> crate::urn::Expected {
    let rule = rule(level);
    urn.expected(|x, y, r| rule.stops(evidence(x, y, r)))
}

#[test]
fn calls_and_agreement_are_the_exact_ones() {
    for (options, roster, a, expected) in EXPECTED {
        let urn = Urn::new(options, roster, a);
        for (level, (calls, agreement)) in LEVELS.into_iter().zip(expected) {
            let found = bridge(&urn, level);
            let cell = format!("K = {options}, N = {roster}, a = {a}, c = {level}: {found:?}");
            assert!((found.calls - calls).abs() < 1e-4, "{cell}, not {calls} calls");
            assert!((found.agreement - agreement).abs() < 1e-5, "{cell}, not {agreement} agreement");
        }
    }
}

#[test]
#[ignore = "reads data of others: see the head of main.rs"]
fn data_all_exact_rows_are_met() {
    #[derive(Debug, Deserialize)]
    struct Row {
        #[serde(rename = "N")]
        roster: usize,
        #[serde(rename = "K")]
        options: usize,
        dirichlet_a: f64,
        rule: String,
        threshold: f64,
        mean_calls: f64,
        agreement: f64,
        p_conf_stop: f64,
    }
    let table = csv::Reader::from_reader(data("EP_STOPPING_DATA", "exact_ref.csv"));
    let mut urns: Vec<((usize, usize, f64), Urn)> = Vec::new();
    let mut rows = 0;
    for row in table.into_deserialize().map(|row: Result<Row, _>| row.unwrap()) {
        if row.rule != "bridge" {
            continue;
        }
        let cell = (row.options, row.roster, row.dirichlet_a);
        if urns.last().is_none_or(|(last, _)| *last != cell) {
            urns.push((cell, Urn::new(cell.0, cell.1, cell.2)));
        }
        let found = bridge(&urns.last().unwrap().1, row.threshold);
        assert!((found.calls - row.mean_calls).abs() < 1e-4, "{row:?}: {found:?}");
        assert!((found.agreement - row.agreement).abs() < 1e-4, "{row:?}: {found:?}");
        assert!((found.by_confidence - row.p_conf_stop).abs() < 1e-4, "{row:?}: {found:?}");
        rows += 1;
    }
    assert_eq!(rows, 225);
}

/// Adaptive-Consistency's Beta rule: the posterior probability that the leader is likelier than its rival,
/// under a uniform prior.
fn beta(x: u32, y: u32) -> f64 {
    let n = x + y + 1;
    let mut term = 0.5_f64.powi(n as i32);
    let mut sum = 0.0;
    for k in 0..=x {
        sum += term;
        term *= f64::from(n - k) / f64::from(k + 1);
    }
    sum
}

/// Returns the calls that a rule needs for an agreement, interpolated linearly between the given points.
fn calls_at(agreement: f64, mut curve: Vec<(f64, f64)>) -> f64 {
    curve.sort_by(|one, other| one.0.total_cmp(&other.0));
    let after = curve.iter().position(|point| point.0 >= agreement).expect("thresholds go up to 1");
    if after == 0 {
        return curve[0].1;
    }
    let ((below, fewer), (above, more)) = (curve[after - 1], curve[after]);
    fewer + (more - fewer) * (agreement - below) / (above - below)
}

#[test]
fn at_equal_agreement_no_more_calls_than_the_beta_rule() {
    const AGREEMENTS: [f64; 3] = [0.98, 0.99, 0.995];
    let mut ratios = [const { Vec::new() }; 3];
    for roster in [10, 25, 50, 100] {
        for options in if roster == 100 { 2..=3 } else { 2..=4 } {
            for a in [0.2, 0.5, 1.0, 3.0] {
                let urn = Urn::new(options, roster, a);
                let risks = (0..36).map(|step| 0.7_f64 * 0.8_f64.powi(step));
                let curve = |calls: &dyn Fn(f64) -> crate::urn::Expected| {
                    let points = risks.clone().map(|risk| calls(1.0 - risk));
                    points.map(|point| (point.agreement, point.calls)).collect::<Vec<_>>()
                };
                let ours = curve(&|level| bridge(&urn, level));
                let theirs = curve(&|level| urn.expected(|x, y, _| beta(x, y) >= level));
                for (ratios, agreement) in ratios.iter_mut().zip(AGREEMENTS) {
                    ratios.push(calls_at(agreement, ours.clone()) / calls_at(agreement, theirs.clone()));
                }
            }
        }
    }
    for (mut ratios, agreement) in ratios.into_iter().zip(AGREEMENTS) {
        ratios.sort_by(f64::total_cmp);
        let median = ratios[ratios.len() / 2];
        println!(
            "at agreement {agreement}: median {median:.4} x the Beta rule's calls, {} cells",
            ratios.len()
        );
        assert!(median <= 1.0, "{agreement}: {median}");
    }
}
