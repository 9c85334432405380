//! The decision of a tied poll.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::tally::Tally;

/// The version of [`decide`]. It changes whenever the same votes get another decision.
pub const VERSION: u32 = 2;

/// Returns the version of records that do not name it. It broke ties although votes were missing.
pub const fn first_version() -> u32 {
    1
}

crate::words! {
    /// The rule for a tie.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
    pub enum TieRule {
        /// The tie is reported.
        #[default]
        Report = "report",
        /// Of the tied options, the one decides that the strongest model voted for.
        Strongest = "strongest",
        /// A person decides.
        Review = "review",
    }
}

/// The rule that decided a poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum DecidedBy {
    /// The option has the most votes.
    Plurality,
    /// Options are tied, and the strongest model decided.
    TieBreak,
    /// Nothing: a tie, too few votes, or none.
    None,
}

/// A text that is not a tie rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be report, strongest or review")]
pub struct NotATieRule;

impl fmt::Display for TieRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for TieRule {
    type Err = NotATieRule;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|rule| rule.as_str() == text).ok_or(NotATieRule)
    }
}

/// Returns the option that decides: that with the most votes, or by the rule one of those that are tied. `ranked` has the
/// votes of the models, the strongest first; they break a tie only if no vote is missing any more.
///
/// ```
/// use ep_polling::tally::Tally;
/// use ep_polling::tie_rule::{DecidedBy, TieRule, decide};
///
/// let votes = [Some(2), None, Some(0), Some(1), Some(0), Some(1)];
/// let tally = Tally::of(3, votes);
/// assert_eq!(decide(&tally, TieRule::Strongest, votes, true), (Some(0), DecidedBy::TieBreak));
/// assert_eq!(decide(&tally, TieRule::Strongest, votes, false), (None, DecidedBy::None));
/// assert_eq!(decide(&tally, TieRule::Report, votes, true), (None, DecidedBy::None));
/// assert_eq!(decide(&Tally::of(2, [Some(1)]), TieRule::Report, [Some(1)], true), (Some(1), DecidedBy::Plurality));
/// ```
pub fn decide(
    tally: &Tally,
    rule: TieRule,
    ranked: impl IntoIterator<Item = Option<usize>>,
    is_final: bool,
) -> (Option<usize>, DecidedBy) {
    if let Some(leader) = tally.leader() {
        return (Some(leader), DecidedBy::Plurality);
    }
    let most = tally.counts().iter().copied().max().unwrap_or(0);
    let is_tied = |option: &usize| most > 0 && tally.counts().get(*option) == Some(&most);
    let strongest = ranked.into_iter().flatten().find(is_tied);
    match strongest.filter(|_| rule == TieRule::Strongest && is_final) {
        Some(option) => (Some(option), DecidedBy::TieBreak),
        None => (None, DecidedBy::None),
    }
}
