//! What is fixed about a poll when it opens.

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

/// What a caller asks for, validated.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The question, already normalised.
    pub question: String,
    /// The options.
    pub options: Options,
    /// Which models to ask.
    pub models: ModelChoice,
    /// How sure the early answer must be.
    pub threshold: Threshold,
    /// The most the poll may spend.
    pub budget: Budget,
    /// How many calls may be in flight.
    pub pace: Pace,
    /// Whether only the owner may read the result.
    pub private: bool,
}

/// A poll as it was opened. It is stored whole, so that any process can run it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The question.
    pub question: Arc<str>,
    /// The options, in the caller's order.
    pub options: Vec<String>,
    /// The preset that chose the roster; `None` where the caller named the models.
    pub preset: Option<String>,
    /// How sure the early answer must be.
    pub threshold: Threshold,
    /// The most the poll may spend; stored as an integer.
    #[serde(rename = "max_cost_micro_usd", alias = "budget", with = "crate::budget::stored")]
    pub budget: Budget,
    /// How many calls may be in flight.
    pub pace: Pace,
    /// Whether only the owner may read the result.
    pub private: bool,
    /// Whether the voters are simulated.
    pub simulated: bool,
    /// The roster in dispatch order.
    pub roster: Vec<Member>,
    /// What every random choice of the poll follows from.
    pub seed: Seed,
    /// How long the poll may take, in milliseconds.
    pub deadline_ms: u64,
    /// What the caller should know about the roster.
    pub notices: Vec<String>,
}

/// The form in which a poll is stored, and the rules by which it is run and counted.
///
/// A process runs, shows and counts only polls of the forms that it knows. Under the wrong rules it would ask
/// models again, decide otherwise and charge twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PollForm {
    /// A [`Plan`] as JSON, decided by first past the post.
    First = 1,
}

impl PollForm {
    /// The form of new polls.
    pub const NEWEST: Self = Self::First;

    /// Its number in the database.
    pub const fn number(self) -> i64 {
        self as i64
    }

    /// Returns the form with this number, or `None` if only newer versions of the program know it.
    pub const fn from_number(number: i64) -> Option<Self> {
        match number {
            1 => Some(Self::First),
            _ => None,
        }
    }
}

/// An upper bound for the prompt tokens of everything but question and options: instructions and tool schema.
pub const INSTRUCTION_TOKENS: u64 = 700;

impl Plan {
    /// Draws the dispatch order and fixes the poll.
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

    /// What the members are shown.
    pub fn ballot_views(&self) -> BallotViews<'_> {
        BallotViews::new(self.seed, &self.question, &self.options)
    }

    /// An upper bound for the prompt tokens of one request: one token per byte. Every option stands in the list and,
    /// perhaps with escapes, in the schema.
    pub fn prompt_tokens(&self) -> u64 {
        let options: usize = self.options.iter().map(|option| option.len() + 16).sum();
        INSTRUCTION_TOKENS + self.question.len() as u64 + 3 * options as u64
    }

    /// The most that the member at this position can cost. An unknown price counts as zero, because nothing
    /// is charged for it.
    pub fn worst_case(&self, position: usize) -> MicroUsd {
        self.roster[position].worst_case(self.prompt_tokens()).unwrap_or(MicroUsd::ZERO)
    }

    /// What is charged for an answer of the member at this position: never more than its worst case, and an
    /// estimate for what the upstream charged without saying how much. Without a listed price there is no
    /// bound, and the amount stays as it is.
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

    /// The money to set aside for the poll; `first_wave` is the number of calls made before the first answer.
    pub fn hold(&self, first_wave: usize) -> Hold {
        let worst = |members: usize| (0..members).map(|position| self.worst_case(position)).sum::<MicroUsd>();
        let at_most = self.at_most();
        Hold { at_least: worst(first_wave.min(self.roster.len())).min(at_most), at_most }
    }

    /// Whether every member is known to charge nothing, so that the poll cannot cost anything.
    pub fn is_free(&self) -> bool {
        self.roster.iter().all(|member| member.price.is_some_and(|price| price.is_free()))
    }

    /// The most that the poll can cost: every member's worst case, or the budget if that is less.
    pub fn at_most(&self) -> MicroUsd {
        let everything = (0..self.roster.len()).map(|position| self.worst_case(position)).sum::<MicroUsd>();
        everything.min(self.budget.amount())
    }

    /// The smallest budget at which the poll can begin, whichever member comes first: the greatest worst case of
    /// one member.
    pub fn least_budget(&self) -> MicroUsd {
        (0..self.roster.len()).map(|position| self.worst_case(position)).max().unwrap_or_default()
    }
}
