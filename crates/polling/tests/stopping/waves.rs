//! The number of calls in flight, in simulated time.

use crate::simulation::{in_flight, members, run};
use crate::{LEVELS, evidence, rule};
use ep_polling::stopping::responses_needed;
use ep_polling::{Pace, Responses};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

#[test]
fn a_thrifty_poll_makes_exactly_the_calls_of_asking_one_by_one() {
    let mut rng = ChaCha8Rng::seed_from_u64(20_261_121);
    for trial in 0..2000 {
        let (roster, options) = (rng.random_range(1..=50), rng.random_range(2..=5));
        let a = [0.2, 0.5, 1.0, 10.0][trial % 4];
        let rule = rule(LEVELS[trial % 5]);
        let members = members(&mut rng, roster, options, a);
        let slow = run(&members, options, &rule, |_| 1);
        let thrifty = |responses: &Responses| in_flight(Pace::Thrifty, &rule, responses);
        let rolling = run(&members, options, &rule, thrifty);
        assert_eq!(rolling.calls, slow.calls, "trial {trial}");
        assert_eq!(rolling.decision.option, slow.decision.option, "trial {trial}");
        assert!(rolling.seconds <= slow.seconds);
        let capped = run(&members, options, &rule, |responses| thrifty(responses).min(2));
        assert_eq!((capped.calls, capped.most_in_flight.max(2)), (slow.calls, 2), "trial {trial}");
    }
}

#[test]
fn a_pace_never_exceeds_the_members_without_a_response() {
    for open_responses in 0..=60 {
        for calls in 0..=open_responses {
            let paces = [Pace::Thrifty, Pace::Balanced, Pace::Fast];
            let [thrifty, balanced, fast] = paces.map(|pace| pace.in_flight(calls, open_responses));
            assert_eq!((thrifty, fast), (calls, open_responses));
            assert!(thrifty <= balanced && balanced <= fast);
        }
    }
}

#[test]
fn responses_needed_is_at_most_the_remaining_members() {
    assert_eq!(responses_needed(&rule(0.95), evidence(5, 5, 0)), 0);
    assert_eq!(responses_needed(&rule(0.95), evidence(5, 5, 1)), 1);
    assert_eq!(responses_needed(&rule(0.95), evidence(2, 4, 1)), 1);
    assert_eq!(responses_needed(&rule(1.0), evidence(0, 0, 1000)), 501);
}
