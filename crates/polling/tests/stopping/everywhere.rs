//! Properties checked for all possible evidence.

use crate::evidence;
use ep_polling::Evidence;
use ep_polling::stopping::{MAX_ROSTER, locked, p_value};

/// The largest roster checked: the maximum in an optimised build, a smaller one in a slow build.
const MOST: u32 = if cfg!(debug_assertions) { 80 } else { MAX_ROSTER as u32 };

/// Returns all evidence with a unique leader and x + y + R of at most `most`.
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
fn a_response_never_lowers_the_confidence() {
    // A member without a response counts for the rival. No response can lower the confidence.
    for Evidence { leader: x, rival: y, remaining: r } in states(MOST).filter(|s| s.rival > 0) {
        let without_response = p_value(evidence(x, y, r)) * (1.0 + 1e-12);
        assert!(p_value(evidence(x + 1, y - 1, r)) <= without_response, "for the leader: {x}, {y}, {r}");
        assert!(p_value(evidence(x, y - 1, r)) <= without_response, "no vote, or for a third: {x}, {y}, {r}");
    }
}

#[test]
fn asking_a_member_never_raises_confidence_before_its_response() {
    for Evidence { leader: x, rival: y, remaining: r } in states(MOST).filter(|s| s.remaining > 0) {
        let before = p_value(evidence(x, y, r));
        assert!(p_value(evidence(x, y + 1, r - 1)) >= before * (1.0 - 1e-12), "{x}, {y}, {r}");
    }
}
