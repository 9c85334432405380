//! The guarantee: computed exactly for small rosters, and simulated with adversarial latencies.

use crate::exact::{StopTable, error, rosters};
use crate::simulation::{Member, agrees, in_flight, lognormal, outcome, run};
use crate::{LEVELS, evidence, rule};
use ep_polling::stopping::p_value;
use ep_polling::{Pace, Responses};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

#[test]
fn two_options_err_at_most_as_often_as_allowed() {
    for roster in (5..=30).step_by(5) {
        for level in LEVELS {
            let rule = rule(level);
            let table = StopTable::new(roster, |x, y, r| rule.stops(evidence(x, y, r)));
            for (votes, failures) in rosters(roster, 2) {
                let wrong = error(&votes, failures, &table);
                assert!(wrong <= (1.0 - level) * (1.0 + 1e-8), "{votes:?} + {failures} at {level}: {wrong}");
            }
        }
    }
}

#[test]
fn the_worst_two_option_roster_errs_as_often_as_allowed() {
    // A rule that errs less often than allowed makes too many calls. The expected errors were computed
    // independently.
    for (level, expected) in LEVELS.into_iter().zip([0.4120, 0.1977, 0.0978, 0.0388, 0.0093]) {
        let rule = rule(level);
        let table = StopTable::new(25, |x, y, r| rule.stops(evidence(x, y, r)));
        let errors = rosters(25, 2).into_iter().map(|(votes, none)| error(&votes, none, &table));
        let worst = errors.fold(0.0, f64::max);
        assert!((worst - expected).abs() < 1e-4, "{level}: {worst}, not {expected}");
    }
}

#[test]
fn three_options_err_at_most_as_often_as_allowed_at_every_level() {
    let roster = 11;
    let mut levels: Vec<f64> = Vec::new();
    for x in 1..=roster {
        for y in 0..=(roster - x) {
            levels.extend((0..=roster - x - y).map(|r| p_value(evidence(x, y, r))));
        }
    }
    levels.retain(|p| *p > 0.0 && *p < 1.0);
    levels.sort_by(f64::total_cmp);
    levels.dedup_by(|a, b| *a - *b < 1e-12);
    assert!(levels.len() > 10);
    for level in levels {
        let risk = level * (1.0 + 1e-9);
        let table = StopTable::new(roster as usize, |x, y, r| x > y && p_value(evidence(x, y, r)) <= risk);
        for (votes, failures) in rosters(roster as usize, 3) {
            let wrong = error(&votes, failures, &table);
            assert!(wrong <= risk, "{votes:?} + {failures} at p = {level}: {wrong}");
        }
    }
}

/// Returns fifty members in random dispatch order. Of the fast half 65 % choose 0, of the slow half 75 %
/// choose 1.
fn misleading_latencies(rng: &mut ChaCha8Rng) -> Vec<Member> {
    let mut members: Vec<Member> = (0..50)
        .map(|member| {
            let fast = member < 25;
            let answer = Some(usize::from(rng.random_bool(if fast { 0.35 } else { 0.75 })));
            Member { answer, unknown: false, seconds: lognormal(rng, if fast { 2.0 } else { 8.0 }, 0.4) }
        })
        .collect();
    members.shuffle(rng);
    members
}

#[test]
fn latency_does_not_bias_the_outcome() {
    const TRIALS: u32 = 3000;
    let rule = rule(0.95);
    let mut rng = ChaCha8Rng::seed_from_u64(20_261_121);
    let (mut at_once, mut rolling, mut naive) = (0, 0, 0);
    for _ in 0..TRIALS {
        let members = misleading_latencies(&mut rng);
        let all = run(&members, 2, &rule, Responses::roster);
        at_once += u32::from(agrees(&all, &members, 2));
        let waves = run(&members, 2, &rule, |responses| in_flight(Pace::Balanced, &rule, responses));
        rolling += u32::from(agrees(&waves, &members, 2));

        // For comparison: the same votes counted in order of arrival must agree rarely.
        let mut arrived = members.clone();
        arrived.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let mut responses = Responses::new(2, arrived.len());
        let answer = arrived.iter().find_map(|member| {
            let position = responses.launch()?;
            responses.record(position, member.answer);
            responses.best_prefix(&rule)
        });
        naive += u32::from(answer.map(|stop| stop.prefix.option) == outcome(&members, 2));
    }
    let [at_once, rolling, naive] = [at_once, rolling, naive].map(|n| f64::from(n) / f64::from(TRIALS));
    assert!(at_once >= 0.95 && rolling >= 0.95, "at once {at_once}, rolling {rolling}");
    assert!(naive < 0.85, "counting in order of arrival agreed {naive}: this scenario tests nothing");
}
