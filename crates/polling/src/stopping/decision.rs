//! The decision to stop a poll, and its reason.

use serde::{Deserialize, Serialize};

use super::prefix::{Responses, Standing};
use super::rule::Rule;

crate::words! {
    /// The reason why a poll ended.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
    pub enum TerminationReason {
        /// No possible votes of the remaining members could change the winner.
        MathematicalLock = "mathematical_lock",
        /// The confidence that this option wins in the full roster reached the threshold.
        Confidence = "confidence",
        /// The next call did not fit the budget.
        Budget = "budget",
        /// Every member has responded or failed.
        RosterExhausted = "roster_exhausted",
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
    /// The reason.
    pub reason: TerminationReason,
    /// The index of the option that the confidence refers to; `None` for a tie or without evidence.
    pub option: Option<usize>,
    /// 1 − confidence that `option` is the full roster's outcome. It is 0 at the lock, and once all members
    /// have responded (even with a tie). It is 1 without evidence.
    pub p: f64,
    /// The count over all completed responses.
    pub standing: Standing,
}

impl Decision {
    /// Returns the confidence, for display.
    pub fn confidence(&self) -> f64 {
        1.0 - self.p
    }

    /// True if the confidence refers to another option than the leader of all completed votes. This is rare
    /// and needs responses that arrive out of order. The guarantee then holds for `option`, not for the
    /// leader of the tally.
    pub fn differs_from_tally(&self) -> bool {
        self.option != self.standing.leader
    }
}

/// Decides whether the poll ends; call it after every response. The conditions are checked in this order:
/// no member is left to ask or to wait for; the lock on all completed votes; the confidence of the best
/// prefix; the budget.
///
/// `out_of_budget` is true if the next call does not fit the budget and no call is in flight. The guarantee
/// also covers the confidence of polls that end by their budget or with failed calls.
pub fn decide(responses: &Responses, rule: &Rule, out_of_budget: bool) -> Option<Decision> {
    use TerminationReason::{Budget, Confidence, MathematicalLock, RosterExhausted};
    let standing = responses.overall();
    let ended = |reason, option, p| Some(Decision { reason, option, p, standing });
    if responses.is_exhausted() {
        // Every member was asked, even if the last response was the one that locked the result.
        if responses.unknown() > 0 {
            let highest = responses.highest_confidence();
            return ended(RosterExhausted, highest.option, highest.p);
        }
        let p = if standing.evidence.leader > 0 { 0.0 } else { 1.0 };
        return ended(RosterExhausted, standing.leader, p);
    }
    if responses.is_locked() {
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
