//! Properties over random inputs.

use crate::{evidence, rule};
use ep_polling::stopping::{locked, p_value, responses_needed};
use ep_polling::{Evidence, Responses};
use proptest::prelude::*;

fn any_evidence() -> impl Strategy<Value = Evidence> {
    (0..80_u32, 0..80_u32, 0..80_u32).prop_map(|(x, y, r)| evidence(x, y, r))
}

/// Generates the responses of a roster in dispatch order, and an order of arrival.
fn arrivals() -> impl Strategy<Value = (Vec<Option<usize>>, Vec<usize>)> {
    prop::collection::vec(prop::option::weighted(0.9, 0..4_usize), 1..40).prop_flat_map(|answers| {
        let order: Vec<usize> = (0..answers.len()).collect();
        (Just(answers), Just(order).prop_shuffle())
    })
}

proptest! {
    #[test]
    fn the_rule_stops_when_p_reaches_the_risk(state in any_evidence(), threshold in 0.0..=1.0_f64) {
        let risk = 1.0 - threshold;
        let p = p_value(state);
        prop_assume!((p - risk).abs() > 1e-8 * risk);
        let within = state.has_leader() && p <= risk;
        prop_assert_eq!(rule(threshold).stops(state), within);
    }

    #[test]
    fn nothing_panics_and_p_stays_a_probability(x: u32, y: u32, r: u32, threshold in 0.0..=1.0_f64) {
        let state = evidence(x, y, r);
        prop_assert!((0.0..=1.0).contains(&p_value(state)));
        let stops = rule(threshold).stops(state);
        prop_assert!(stops || !locked(state));
        let near = evidence(x % 200, y % 200, r % 200);
        let calls = responses_needed(&rule(threshold), near);
        prop_assert!(calls <= near.remaining && (calls > 0 || near.remaining == 0));
    }

    #[test]
    fn more_remaining_members_never_raise_confidence(state in any_evidence(), more in 1..20_u32) {
        let later = Evidence { remaining: state.remaining + more, ..state };
        prop_assert!(p_value(later) >= p_value(state));
    }

    #[test]
    fn a_higher_threshold_never_stops_earlier(state in any_evidence(), one in 0.0..=1.0_f64, other in 0.0..=1.0_f64) {
        let (low, high) = (rule(one.min(other)), rule(one.max(other)));
        prop_assert!(!high.stops(state) || low.stops(state));
    }

    #[test]
    fn no_poll_stops_before_the_responses_needed(
        (answers, _) in arrivals(),
        known in 0..40_usize,
        threshold in prop::sample::select(crate::LEVELS.to_vec()),
    ) {
        let rule = rule(threshold);
        let mut responses = Responses::new(4, answers.len());
        let stopped = |responses: &Responses| responses.best_prefix(&rule).is_some();
        for answer in answers.iter().take(known) {
            let position = responses.launch().unwrap();
            responses.record(position, *answer);
        }
        prop_assume!(!stopped(&responses));
        let calls = responses_needed(&rule, responses.overall().evidence) as usize;
        for answer in answers.iter().skip(known).take(calls.saturating_sub(1)) {
            let position = responses.launch().unwrap();
            responses.record(position, *answer);
            prop_assert!(!stopped(&responses));
        }
    }

    #[test]
    fn arrival_order_cannot_raise_confidence_above_the_full_prefixes((answers, order) in arrivals()) {
        // The confidence never exceeds that of the same prefixes once every member has responded.
        let mut full = Responses::new(4, answers.len());
        let mut responses = Responses::new(4, answers.len());
        for (position, answer) in answers.iter().enumerate() {
            full.launch();
            responses.launch();
            full.record(position, *answer);
        }
        let limit = full.highest_confidence().p * (1.0 - 1e-12);
        let mut last = 1.0_f64;
        for position in order {
            responses.record(position, answers[position]);
            let p = responses.highest_confidence().p;
            prop_assert!(p >= limit);
            prop_assert!(p <= last * (1.0 + 1e-12), "a response never lowers the reported confidence");
            last = p;
        }
        prop_assert_eq!(responses.highest_confidence(), full.highest_confidence());
    }

    #[test]
    fn responses_accept_any_sequence_of_calls(
        options in 0..5_usize,
        roster in 0..30_usize,
        steps in prop::collection::vec((0..40_usize, prop::option::of(0..7_usize)), 0..80),
    ) {
        let mut responses = Responses::new(options, roster);
        for (position, answer) in steps {
            if position % 3 == 0 {
                responses.launch();
            }
            responses.record(position, answer);
            let reported = responses.highest_confidence();
            prop_assert!((0.0..=1.0).contains(&reported.p));
            prop_assert!(responses.launched() <= roster && responses.completed() <= roster);
            prop_assert!(responses.in_flight() <= responses.launched());
            let standing = responses.overall().evidence;
            prop_assert_eq!(standing.remaining as usize, roster - responses.completed());
        }
    }
}
