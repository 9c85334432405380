//! Whether the poll stops now, and why.

use serde::{Deserialize, Serialize};

use super::bridge::locked;
use super::prefix::{Responses, Standing};
use super::rule::Rule;

/// Why a poll ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum TerminationReason {
    /// No possible answers of the remaining members could change the winner.
    MathematicalLock,
    /// The confidence that all members together would choose this winner reached the threshold.
    Confidence,
    /// The next call did not fit the budget.
    Budget,
    /// Every member was asked, and has answered or could not be heard.
    RosterExhausted,
}

impl TerminationReason {
    /// The name used in answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MathematicalLock => "mathematical_lock",
            Self::Confidence => "confidence",
            Self::Budget => "budget",
            Self::RosterExhausted => "roster_exhausted",
        }
    }
}

impl std::fmt::Display for TerminationReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The end of a poll.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decision {
    /// Why it ended.
    pub reason: TerminationReason,
    /// The option the confidence is about, by index. None for a tie, and when nothing can be said.
    pub option: Option<usize>,
    /// 1 − confidence that `option` is the full roster's answer. 0 when that is certain: at the lock, and
    /// when all were heard (even a tie is certain then). 1 when nothing can be said.
    pub p: f64,
    /// The count over all completed answers.
    pub standing: Standing,
}

impl Decision {
    /// The confidence, for display.
    pub fn confidence(&self) -> f64 {
        1.0 - self.p
    }

    /// Whether the confidence is about another option than the one leading all completed votes. This can
    /// happen when answers arrive out of order. It is rare, and the guarantee then holds for `option`, not
    /// for the leader of the tally.
    pub fn differs_from_tally(&self) -> bool {
        self.option != self.standing.leader
    }
}

/// Decides whether the poll ends; call it after every answer. The reasons are tried in this order:
/// nobody is left to ask or to wait for; the lock on all completed votes; the confidence of the best prefix; the budget.
///
/// `out_of_budget` says that the next call does not fit the budget and none is in flight. The guarantee
/// covers the confidence of a poll ended by its budget as well, and of one some of whose members were not heard.
pub fn decide(responses: &Responses, rule: &Rule, out_of_budget: bool) -> Option<Decision> {
    use TerminationReason::{Budget, Confidence, MathematicalLock, RosterExhausted};
    let standing = responses.overall();
    let ended = |reason, option, p| Some(Decision { reason, option, p, standing });
    if responses.is_exhausted() {
        // Nothing was left unasked, even if the last answer was the one that locked the result.
        if responses.unknown() > 0 {
            let highest = responses.highest_confidence();
            return ended(RosterExhausted, highest.option, highest.p);
        }
        let p = if standing.evidence.leader > 0 { 0.0 } else { 1.0 };
        return ended(RosterExhausted, standing.leader, p);
    }
    if locked(standing.evidence) {
        return ended(MathematicalLock, standing.leader, 0.0);
    }
    if let Some(stop) = responses.best_prefix(rule) {
        return ended(Confidence, Some(stop.prefix.option), stop.p);
    }
    if out_of_budget {
        let highest = responses.highest_confidence();
        return ended(Budget, highest.option, highest.p);
    }
    None
}
