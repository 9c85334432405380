//! What one model is shown, what it answers, and the ballot that is stored.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::order::Seed;
use super::roster::ModelId;
use super::stopping::FinalAnswer;
use crate::money::Spend;

/// What one model is shown: the question, and the options in an order and under codes of its own.
#[derive(Debug, Clone)]
pub struct BallotView {
    /// The question.
    pub question: Arc<str>,
    /// The options in the order shown.
    pub choices: Vec<Choice>,
}

/// One option as one model is shown it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The neutral code to answer with.
    pub code: String,
    /// The option's text.
    pub text: String,
    /// Which of the poll's options this is, from 0 in the caller's order.
    pub option: usize,
}

impl BallotView {
    /// What the member at `position` of the dispatch order is shown.
    pub fn for_position(seed: Seed, position: usize, question: &Arc<str>, options: &[String]) -> Self {
        let order = seed.option_order(position, options.len());
        let codes = seed.codes(position, options.len(), options);
        let choices = order
            .into_iter()
            .zip(codes)
            .map(|(option, code)| Choice { code, text: options[option].clone(), option })
            .collect();
        Self { question: Arc::clone(question), choices }
    }

    /// The options in the order shown, as indices into the caller's order.
    pub fn option_order(&self) -> Vec<usize> {
        self.choices.iter().map(|choice| choice.option).collect()
    }
}

/// Why a member cast no vote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum Reason {
    /// No answer in the time given to one model.
    Timeout,
    /// No answer before the poll's own deadline.
    Deadline,
    /// The upstream could not be reached, or broke off.
    Unreachable,
    /// The upstream or the model asked for fewer requests.
    RateLimited,
    /// The upstream rejected the request: no credit, no permission, or unknown model.
    Rejected,
    /// The upstream reported a failure of its own.
    UpstreamError,
    /// The model declined to answer, or a content filter blocked the answer.
    Refused,
    /// The answer named no option, even after a repair.
    Unparsable,
    /// The answer named several options.
    Conflicting,
    /// The answer ended at the token limit before it named an option.
    Truncated,
}

impl Reason {
    /// The stable word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Deadline => "deadline",
            Self::Unreachable => "unreachable",
            Self::RateLimited => "rate_limited",
            Self::Rejected => "rejected",
            Self::UpstreamError => "upstream_error",
            Self::Refused => "refused",
            Self::Unparsable => "unparsable",
            Self::Conflicting => "conflicting",
            Self::Truncated => "truncated",
        }
    }
}

impl Reason {
    /// Whether the model was heard. If not, its answer is unknown: the call failed on its way, so the model did
    /// not choose to give no vote. A rejected call is one of these: an account without credit is no opinion of
    /// the model.
    pub const fn was_heard(self) -> bool {
        match self {
            Self::Refused | Self::Unparsable | Self::Conflicting | Self::Truncated => true,
            Self::Timeout
            | Self::Deadline
            | Self::Unreachable
            | Self::RateLimited
            | Self::Rejected
            | Self::UpstreamError => false,
        }
    }
}

/// Why a member cast no vote, with a detail for the public result: no secrets, no addresses, at most
/// [`NoVote::MAX_DETAIL`] characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoVote {
    /// The kind of failure.
    pub reason: Reason,
    /// What happened, in one sentence.
    pub detail: String,
}

impl NoVote {
    /// The longest detail, in characters.
    pub const MAX_DETAIL: usize = 200;

    /// Cuts a longer detail and turns control characters into spaces.
    pub fn new(reason: Reason, detail: impl AsRef<str>) -> Self {
        let detail = detail.as_ref().chars().map(|c| if c.is_control() { ' ' } else { c });
        Self { reason, detail: detail.take(Self::MAX_DETAIL).collect::<String>().trim().to_owned() }
    }
}

/// The answer of one model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelAnswer {
    /// The option chosen (from 0, in the caller's order), or why there is none.
    pub vote: Result<usize, NoVote>,
    /// What asking cost, every attempt together.
    pub spend: Spend,
    /// The model that answered, if the upstream names another one than was asked.
    pub answered_by: Option<String>,
}

/// A final answer as it is stored. The ballots of a poll are its event log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ballot {
    /// Its number in the order of completion, from 1.
    pub seq: u32,
    /// The member's position in the dispatch order, from 0.
    pub position: u32,
    /// The model that was asked.
    pub model: ModelId,
    /// The option chosen (from 0, in the caller's order), or why there is none.
    pub vote: Result<usize, NoVote>,
    /// The options in the order this member saw them.
    pub option_order: Vec<usize>,
    /// The time from request to final answer, in milliseconds.
    pub latency_ms: u32,
    /// The time from the start of the poll to the final answer, in milliseconds.
    pub at_ms: u32,
    /// What it cost.
    pub spend: Spend,
    /// The model that answered, if the upstream names another one than was asked.
    pub answered_by: Option<String>,
}

impl Ballot {
    /// What it says to the stopping rule.
    pub fn answer(&self) -> FinalAnswer {
        match &self.vote {
            Ok(option) => FinalAnswer::Vote(*option),
            Err(no_vote) if no_vote.reason.was_heard() => FinalAnswer::NoVote,
            Err(_) => FinalAnswer::Unknown,
        }
    }
}
