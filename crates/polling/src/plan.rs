//! The plan of a poll, fixed when the poll opens.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ballot::BallotViews;
use super::budget::Budget;
use super::options::Options;
use super::order::Seed;
use super::roster::{Member, ModelChoice, ModelSource, Roster};
use super::stopping::Pace;
use super::threshold::Threshold;
use crate::money::{Hold, MicroUsd, Spend, SpendBasis};

/// A validated poll request.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The question, already normalised.
    pub question: String,
    /// The options.
    pub options: Options,
    /// The models to ask.
    pub models: ModelChoice,
    /// The confidence at which the poll may stop early.
    pub threshold: Threshold,
    /// The maximum cost of the poll.
    pub budget: Budget,
    /// The policy for calls in flight.
    pub pace: Pace,
    /// True if only the owner may read the result.
    pub private: bool,
}

/// A poll as it was opened. It is stored completely, so that any process can run it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The question.
    pub question: Arc<str>,
    /// The options, in the caller's order.
    pub options: Vec<String>,
    /// The preset that chose the roster; `None` if the caller named the models.
    pub preset: Option<String>,
    /// The confidence at which the poll may stop early.
    pub threshold: Threshold,
    /// The maximum cost of the poll; stored as an integer.
    #[serde(rename = "max_cost_micro_usd", alias = "budget", with = "crate::budget::stored")]
    pub budget: Budget,
    /// The policy for calls in flight.
    pub pace: Pace,
    /// True if only the owner may read the result.
    pub private: bool,
    /// True if the voters are simulated.
    pub simulated: bool,
    /// The roster in dispatch order.
    pub roster: Vec<Member>,
    /// The seed of every random choice of the poll.
    pub seed: Seed,
    /// The time limit of the poll, in milliseconds.
    pub deadline_ms: u64,
    /// Notices to the caller about the roster.
    pub notices: Vec<String>,
}

/// The stored format of a poll, and the rules for running and counting it.
///
/// A process runs, shows and counts only polls of known formats. With the wrong rules it would ask models
/// again, decide differently and charge twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PollForm {
    /// A [`Plan`] as JSON, decided by first past the post.
    First = 1,
}

impl PollForm {
    /// The format of new polls.
    pub const NEWEST: Self = Self::First;

    /// Returns the format's number in the database.
    pub const fn number(self) -> i64 {
        self as i64
    }

    /// Returns the format with this number, or `None` if only newer versions of the program know it.
    pub const fn from_number(number: i64) -> Option<Self> {
        match number {
            1 => Some(Self::First),
            _ => None,
        }
    }
}

/// An upper bound for the prompt tokens of the instructions and the tool schema, without question and
/// options.
pub const INSTRUCTION_TOKENS: u64 = 700;

impl Plan {
    /// Draws the dispatch order and creates the plan.
    pub fn new(draft: Draft, roster: Roster, seed: Seed, deadline: Duration) -> Self {
        let Roster { mut members, simulated, notices } = roster;
        seed.shuffle(&mut members);
        Self {
            question: draft.question.into(),
            options: draft.options.into(),
            preset: match draft.models.source {
                ModelSource::Preset(name) => Some(name),
                ModelSource::Named(_) => None,
            },
            threshold: draft.threshold,
            budget: draft.budget,
            pace: draft.pace,
            private: draft.private,
            simulated,
            roster: members,
            seed,
            deadline_ms: deadline.as_millis() as u64,
            notices,
        }
    }

    /// Returns the ballot views of the members.
    pub fn ballot_views(&self) -> BallotViews<'_> {
        BallotViews::new(self.seed, &self.question, &self.options)
    }

    /// Returns an upper bound for the prompt tokens of one request, at one token per byte. Each option
    /// appears in the list and in the schema, where it may contain escapes.
    pub fn prompt_tokens(&self) -> u64 {
        let options: usize = self.options.iter().map(|option| option.len() + 16).sum();
        INSTRUCTION_TOKENS + self.question.len() as u64 + 3 * options as u64
    }

    /// Returns the maximum cost of the member at this position. An unknown price counts as zero,
    /// because responses without a price are not charged.
    pub fn worst_case(&self, position: usize) -> MicroUsd {
        self.roster[position].worst_case(self.prompt_tokens()).unwrap_or(MicroUsd::ZERO)
    }

    /// Returns the charge for a response of the member at this position, at most its worst case. An unknown
    /// cost is estimated from the listed price. Without a listed price, the spend is returned unchanged.
    pub fn charged(&self, position: usize, spend: Spend) -> Spend {
        let member = &self.roster[position];
        let prompt_tokens = self.prompt_tokens();
        let (Some(worst), Some(estimate)) =
            (member.worst_case(prompt_tokens), member.estimate(prompt_tokens))
        else {
            return spend;
        };
        match spend.basis {
            SpendBasis::Unknown => {
                Spend { amount: spend.amount.plus(estimate).min(worst), basis: SpendBasis::Estimated }
            }
            _ => Spend { amount: spend.amount.min(worst), ..spend },
        }
    }

    /// Returns the money to reserve for the poll; `first_wave` is the number of calls before the first
    /// response.
    pub fn hold(&self, first_wave: usize) -> Hold {
        let worst = |members: usize| (0..members).map(|position| self.worst_case(position)).sum::<MicroUsd>();
        let at_most = self.at_most();
        Hold { at_least: worst(first_wave.min(self.roster.len())).min(at_most), at_most }
    }

    /// True if every member is known to be free, so that the poll cannot cost anything.
    pub fn is_free(&self) -> bool {
        self.roster.iter().all(|member| member.price.is_some_and(|price| price.is_free()))
    }

    /// Returns the maximum cost of the poll: the worst cases of all members, or the budget if that is less.
    pub fn at_most(&self) -> MicroUsd {
        let everything = (0..self.roster.len()).map(|position| self.worst_case(position)).sum::<MicroUsd>();
        everything.min(self.budget.amount())
    }

    /// Returns the smallest budget with which the poll can start, whichever member is asked first: the
    /// largest worst case of a single member.
    pub fn least_budget(&self) -> MicroUsd {
        (0..self.roster.len()).map(|position| self.worst_case(position)).max().unwrap_or_default()
    }
}
