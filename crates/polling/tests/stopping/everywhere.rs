//! Properties checked for every possible evidence.

use crate::evidence;
use ep_polling::stopping::{Evidence, MAX_ROSTER, locked, p_value};

/// The largest roster checked: all of them in an optimised build, fewer in a slow one.
const MOST: u32 = if cfg!(debug_assertions) { 80 } else { MAX_ROSTER as u32 };

/// Every evidence with a unique leader and x + y + R of at most `most`.
fn states(most: u32) -> impl Iterator<Item = Evidence> {
    (1..=most).flat_map(move |x| {
        (0..x.min(most + 1 - x)).flat_map(move |y| (0..=most - x - y).map(move |r| evidence(x, y, r)))
    })
}

#[test]
fn p_is_zero_exactly_at_the_lock() {
    for state in states(MOST) {
        let p = p_value(state);
        assert!((0.0..=1.0).contains(&p), "{state:?}: {p}");
        assert_eq!(p == 0.0, locked(state), "{state:?}: {p:e}");
    }
}

#[test]
fn an_answer_never_lowers_the_confidence() {
    // A member without an answer counts for the rival. Whatever it then answers, the confidence does not
    // fall.
    for Evidence { leader: x, rival: y, remaining: r } in states(MOST).filter(|s| s.rival > 0) {
        let unanswered = p_value(evidence(x, y, r)) * (1.0 + 1e-12);
        assert!(p_value(evidence(x + 1, y - 1, r)) <= unanswered, "for the leader: {x}, {y}, {r}");
        assert!(p_value(evidence(x, y - 1, r)) <= unanswered, "no vote, or for a third: {x}, {y}, {r}");
    }
}

#[test]
fn asking_a_member_never_helps_before_it_answers() {
    for Evidence { leader: x, rival: y, remaining: r } in states(MOST).filter(|s| s.remaining > 0) {
        let before = p_value(evidence(x, y, r));
        assert!(p_value(evidence(x, y + 1, r - 1)) >= before * (1.0 - 1e-12), "{x}, {y}, {r}");
    }
}
