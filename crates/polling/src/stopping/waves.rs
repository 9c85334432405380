//! The number of calls to keep in flight.

use serde::{Deserialize, Serialize};

use super::bridge::Evidence;
use super::rule::Rule;

/// Returns the least number of further responses after which the rule could stop: the least k ≥ 1 such that
/// the rule stops if the next k votes all go to the leader. It is at most `remaining`, and 0 if none remain.
///
/// `standing` counts all completed responses (see [`super::Responses::overall`]) and unknown ones for the
/// rival; `remaining` includes members in flight. No other sequence of responses stops sooner. A caller that
/// keeps this many calls in flight, and updates the number after every response, makes exactly as many calls
/// as one that asks one by one. (Checked by simulation of rosters up to 150; not proved.)
pub fn responses_needed(rule: &Rule, standing: Evidence) -> u32 {
    let Evidence { leader, rival, remaining } = standing;
    (1..remaining)
        .find(|k| {
            let leader = leader.saturating_add(*k);
            rule.stops(Evidence { leader, rival, remaining: remaining - k })
        })
        .unwrap_or(remaining)
}

/// The trade-off between calls and time. Order, evidence and guarantee are the same at every pace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum Pace {
    /// Fewest calls: only as many at once as are needed to stop.
    Thrifty,
    /// Twice as many at once: half the waiting for a sixth more calls, as simulated (docs/pace.md).
    #[default]
    Balanced,
    /// The whole roster at once: the least waiting, the most calls.
    Fast,
}

impl Pace {
    /// Returns the number of calls to keep in flight, given the result of [`responses_needed`] and the number
    /// of members without a final response, in flight or not. The result is at most `open_responses`. A caller
    /// may apply a lower limit.
    pub fn in_flight(self, needed: u32, open_responses: u32) -> u32 {
        let calls = match self {
            Self::Thrifty => needed,
            Self::Balanced => needed.saturating_mul(2),
            Self::Fast => open_responses,
        };
        calls.min(open_responses)
    }
}
