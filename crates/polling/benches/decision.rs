//! Processor time of the stopping rule: single decisions and whole polls, cold and warm.
//!
//! ```sh
//! cargo bench -p ep-polling --bench decision
//! ```
//!
//! "Cold" is the first run in the life of the process; results are cached, so it happens once. The loops are
//! timed directly, because a cold run cannot be repeated and warm runs far exceed the clock's resolution.

use std::hint::black_box;
use std::time::{Duration, Instant};

use ep_polling::stopping::{decide, p_value, responses_needed};
use ep_polling::{Evidence, Responses, Rule, Threshold};

const REPEATS: u32 = 1000;

fn timed(action: impl FnOnce()) -> Duration {
    let start = Instant::now();
    action();
    start.elapsed()
}

/// Prints the time of the first run and the mean time of many later runs.
fn show(what: &str, mut action: impl FnMut()) {
    let cold = timed(&mut action);
    let warm = timed(|| (0..REPEATS).for_each(|_| action())) / REPEATS;
    println!("{what:<62} {cold:>12.1?} {warm:>12.1?}");
}

/// Runs a poll with equal votes for two options and all calls launched at once. Calls the closure `look` for each
/// response.
fn split_poll(members: usize, in_order: bool, mut look: impl FnMut(&Responses)) {
    let mut responses = Responses::new(4, members);
    while responses.launch().is_some() {}
    for step in 0..members {
        let position = if in_order { step } else { members - 1 - step };
        responses.record(position, Some(step % 2));
        look(&responses);
    }
}

fn main() {
    let rule = |threshold: f64| Rule::for_threshold(Threshold::new(threshold).unwrap_or_default());
    println!("{:<62} {:>12} {:>12}", "", "cold", "warm");

    let balanced = rule(0.95);
    for (x, y, r) in [(6, 0, 19), (20, 12, 18), (7, 0, 143), (30, 14, 106), (60, 50, 40)] {
        let evidence = Evidence { leader: x, rival: y, remaining: r };
        let roster = x + y + r;
        show(&format!("decision: stops({x}, {y}, {r}), N = {roster}"), || {
            black_box(balanced.stops(black_box(evidence)));
        });
    }
    for (x, y, r) in [(6, 0, 19), (20, 12, 18), (7, 0, 143), (30, 14, 106), (60, 50, 40)] {
        let evidence = Evidence { leader: x, rival: y, remaining: r };
        let roster = x + y + r;
        show(&format!("confidence: p_value({x}, {y}, {r}), N = {roster}"), || {
            black_box(p_value(black_box(evidence)));
        });
    }
    for roster in [25, 50, 150] {
        let evidence = Evidence { leader: 0, rival: 0, remaining: roster };
        show(&format!("first wave: responses_needed, N = {roster}, a new threshold"), || {
            black_box(responses_needed(&rule(0.9 + f64::from(roster) * 1e-4), black_box(evidence)));
        });
    }
    for members in [50, 150] {
        for (threshold, in_order) in [(1.0, true), (1.0, false), (0.95, true), (0.95, false)] {
            let order = if in_order { "in order" } else { "back to front" };
            let rule = rule(threshold);
            show(&format!("{members} decisions of a split poll at {threshold}, {order}"), || {
                split_poll(members, in_order, |responses| _ = black_box(decide(responses, &rule, false)));
            });
        }
        show(&format!("{members} highest confidences of a split poll, in order"), || {
            split_poll(members, true, |responses| _ = black_box(responses.highest_confidence()));
        });
        show(&format!("{members} highest confidences of a split poll, back to front"), || {
            split_poll(members, false, |responses| _ = black_box(responses.highest_confidence()));
        });
        show(&format!("{members} times responses_needed in a split poll"), || {
            split_poll(members, true, |responses| {
                _ = black_box(responses_needed(&balanced, responses.overall().evidence));
            });
        });
    }
}
