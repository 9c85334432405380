//! What one model is shown, what it answers, and the ballot that is stored.

use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::order::Seed;
use super::roster::ModelId;
use super::stopping::FinalAnswer;
use super::text::comparison_key;
use crate::money::Spend;

/// What one model is shown: the question, and the options in an order of its own. Every option, always.
#[derive(Debug, Clone)]
pub struct BallotView {
    /// The question.
    pub question: Arc<str>,
    /// The options in the order shown.
    pub choices: Vec<Choice>,
    /// What the model is asked to answer with.
    pub answer: AnswerForm,
    /// What makes the delimiters around question and options unpredictable.
    pub delimiter_mark: u32,
}

/// One option as one model is shown it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The option's text.
    pub text: String,
    /// Which of the poll's options this is, from 0 in the caller's order.
    pub option: usize,
}

/// What a model names its choice with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerForm {
    /// The option's own text.
    Text,
    /// The letter of the place at which the option is shown, from `A`.
    Letter,
}

impl AnswerForm {
    /// The longest option that models are asked to repeat, in bytes of UTF-8: its tokens, at most one for each
    /// byte, must fit the least tokens that an answer is allowed.
    pub const MAX_TEXT_BYTES: usize = 200;

    /// The form for these options: their text, unless one is too long to be repeated, has a character that JSON
    /// escapes (some servers then break the value off, see `examples/ballot-forms`), or two differ in nothing but
    /// case.
    pub fn for_options(options: &[String]) -> Self {
        let mut seen = HashSet::with_capacity(options.len());
        let mut distinct = |option: &String| seen.insert(comparison_key(option).to_lowercase());
        let repeatable =
            |option: &String| option.len() <= Self::MAX_TEXT_BYTES && !option.contains(['"', '\\']);
        if options.iter().all(|option| repeatable(option) && distinct(option)) {
            Self::Text
        } else {
            Self::Letter
        }
    }
}

/// What the members of one poll are shown.
#[derive(Debug, Clone, Copy)]
pub struct BallotViews<'p> {
    seed: Seed,
    question: &'p Arc<str>,
    options: &'p [String],
    answer: AnswerForm,
}

impl<'p> BallotViews<'p> {
    /// The views of a poll with this question and these options.
    pub fn new(seed: Seed, question: &'p Arc<str>, options: &'p [String]) -> Self {
        Self { seed, question, options, answer: AnswerForm::for_options(options) }
    }

    /// What the member at `position` of the dispatch order is shown.
    pub fn at(&self, position: usize) -> BallotView {
        let choice = |option: usize| Choice { text: self.options[option].clone(), option };
        BallotView {
            question: Arc::clone(self.question),
            choices: self.seed.option_order(position, self.options.len()).into_iter().map(choice).collect(),
            answer: self.answer,
            delimiter_mark: self.seed.delimiter_mark(position),
        }
    }
}

impl BallotView {
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
    /// The upstream rejected the request: unpaid, not permitted, or an unknown model.
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
    /// Returns `true` if the model gave a complete answer without a vote. Otherwise its vote is unknown, and the
    /// confidence counts it for the strongest rival. A truncated answer is unknown: the token limit is the
    /// service's own. So is a rejected call: an account without credit is no opinion of the model.
    pub const fn is_complete_answer(self) -> bool {
        match self {
            Self::Refused | Self::Unparsable | Self::Conflicting => true,
            Self::Timeout
            | Self::Deadline
            | Self::Unreachable
            | Self::RateLimited
            | Self::Rejected
            | Self::UpstreamError
            | Self::Truncated => false,
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

/// The form in which a model gave its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum BallotMode {
    /// A tool call that the request forced.
    ForcedTool,
    /// A tool call that the request only asked for.
    OfferedTool,
    /// JSON that the request's schema prescribed.
    JsonSchema,
    /// Text.
    Text,
}

impl BallotMode {
    /// The stable word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ForcedTool => "forced_tool",
            Self::OfferedTool => "offered_tool",
            Self::JsonSchema => "json_schema",
            Self::Text => "text",
        }
    }
}

/// How a model gave its last answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Casting {
    /// In which form.
    pub mode: BallotMode,
    /// Whether it reasoned before; `None` if the upstream does not say.
    pub reasoned: Option<bool>,
}

/// The answer of one model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelAnswer {
    /// The option chosen (from 0, in the caller's order), or why there is none.
    pub vote: Result<usize, NoVote>,
    /// How it was given; `None` if there was no answer.
    pub casting: Option<Casting>,
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
    /// How it was given; `None` if there was no answer, or for a poll older than this record.
    pub casting: Option<Casting>,
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
            Err(no_vote) if no_vote.reason.is_complete_answer() => FinalAnswer::NoVote,
            Err(_) => FinalAnswer::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::options::Options;

    fn options(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn models_repeat_the_text_unless_it_is_long_or_ambiguous() {
        let form = |texts: &[&str]| AnswerForm::for_options(&options(texts));
        assert_eq!(form(&["C", "C++", "C#"]), AnswerForm::Text);
        assert_eq!(form(&["yes", "Yes"]), AnswerForm::Letter);
        assert_eq!(form(&["a", &"x".repeat(200)]), AnswerForm::Text);
        assert_eq!(form(&["a", &"語".repeat(67)]), AnswerForm::Letter);
        assert_eq!(form(&["a", "the \"b\""]), AnswerForm::Letter);
        assert_eq!(form(&["C:\\", "D:"]), AnswerForm::Letter);
    }

    proptest! {
        #[test]
        fn every_member_sees_every_option(
            texts in prop::collection::hash_set("[A-Z]{2}( [A-Z]{2}){0,66}", 2..=10),
            seed: [u8; 32],
            position in 0_usize..150,
        ) {
            let texts: Vec<String> = Options::new(&texts.into_iter().collect::<Vec<_>>()).unwrap().into();
            let view = BallotViews::new(Seed::new(seed), &"Which?".into(), &texts).at(position);
            let mut shown = view.option_order();
            shown.sort_unstable();
            prop_assert_eq!(shown, (0..texts.len()).collect::<Vec<_>>());
            prop_assert!(view.choices.iter().all(|choice| choice.text == texts[choice.option]));
        }
    }
}
