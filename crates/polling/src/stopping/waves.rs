//! How many calls to keep in flight.

use serde::{Deserialize, Serialize};

use super::bridge::Evidence;
use super::rule::Rule;

/// The least number of further answers after which the rule could stop: the least k ≥ 1 such that the rule
/// stops if the next k answers all go to the leader. At most the members remaining, so 0 when none remain.
///
/// `standing` counts all completed answers (see [`super::Responses::overall`]), unknown ones for the rival;
/// members in flight are among the remaining ones. No other sequence of answers stops sooner. Keeping this many calls in flight, and
/// computing the number again after every answer, therefore makes exactly the calls of asking one by one.
/// (Checked by simulation of rosters up to 150; not proved.)
pub fn answers_needed(rule: &Rule, standing: Evidence) -> u32 {
    let Evidence { leader, rival, remaining } = standing;
    (1..remaining)
        .find(|k| {
            let leader = leader.saturating_add(*k);
            rule.stops(Evidence { leader, rival, remaining: remaining - k })
        })
        .unwrap_or(remaining)
}

/// How a poll trades calls for time. Order, evidence and guarantee are the same at every pace.
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
    /// How many calls to keep in flight, given the result of [`answers_needed`] and the number of members
    /// without a final answer (in flight or not asked yet). Never more than the latter. A caller may apply
    /// a lower limit of its own.
    pub fn in_flight(self, needed: u32, unanswered: u32) -> u32 {
        let calls = match self {
            Self::Thrifty => needed,
            Self::Balanced => needed.saturating_mul(2),
            Self::Fast => unanswered,
        };
        calls.min(unanswered)
    }
}
