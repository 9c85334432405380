//! Ballot views shown to models, model responses, and stored ballots.

use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::order::Seed;
use super::stopping::FinalResponse;
use super::text::comparison_key;
use crate::money::Spend;
use crate::probabilities::Probabilities;

/// The version of the reader, which finds the vote that a response declares: 1 before decision record 12, 2 since.
/// Each poll stores its version, and sums count polls by it.
pub const READER: u32 = 2;

/// Returns the version of the first reader, for votes that were stored without one.
pub const fn first_reader() -> u32 {
    1
}

/// The ballot shown to one model: the question and all options, in an order drawn for this model.
#[derive(Debug, Clone)]
pub struct BallotView {
    /// The question.
    pub question: Arc<str>,
    /// The options in the order shown.
    pub choices: Vec<Choice>,
    /// The form in which the model names its choice.
    pub answer: ChoiceForm,
    /// A random number in the delimiters around question and options, which makes them unpredictable.
    pub delimiter_mark: u32,
}

/// One option as shown to one model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The option's text.
    pub text: String,
    /// The option's index in the caller's order, from 0.
    pub option: usize,
}

/// The form in which a model names its choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChoiceForm {
    /// The option's text.
    Text,
    /// The letter of the position at which the option is shown, from `A` or, if an option is itself a letter, from `P`.
    Letter,
}

impl ChoiceForm {
    /// The longest option that models are asked to repeat, in bytes of UTF-8. A byte is at most one token, so
    /// the option fits the smallest token limit of a response.
    pub const MAX_TEXT_BYTES: usize = 200;

    /// Returns [`ChoiceForm::Text`], or [`ChoiceForm::Letter`] if an option is longer than
    /// [`MAX_TEXT_BYTES`](Self::MAX_TEXT_BYTES), contains a character that JSON escapes, or differs from
    /// another only in case. Some servers truncate values at escaped characters (see
    /// `examples/ballot-forms`).
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

/// The ballot views of one poll.
#[derive(Debug, Clone, Copy)]
pub struct BallotViews<'p> {
    seed: Seed,
    question: &'p Arc<str>,
    options: &'p [String],
    answer: ChoiceForm,
}

impl<'p> BallotViews<'p> {
    /// Creates the views of a poll with this question and these options.
    pub fn new(seed: Seed, question: &'p Arc<str>, options: &'p [String]) -> Self {
        Self { seed, question, options, answer: ChoiceForm::for_options(options) }
    }

    /// Returns the view of the member at `position` of the dispatch order.
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
    /// Returns the options in the order shown, as indices into the caller's order.
    pub fn option_order(&self) -> Vec<usize> {
        self.choices.iter().map(|choice| choice.option).collect()
    }
}

crate::words! {
    /// The reason for a missing vote.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
    pub enum Reason {
        /// No response within the time limit of one model.
        Timeout = "timeout",
        /// No response before the poll's deadline.
        Deadline = "deadline",
        /// The upstream was unreachable or closed the connection.
        Unreachable = "unreachable",
        /// The upstream or the model limited the request rate.
        RateLimited = "rate_limited",
        /// The upstream was overloaded or not ready.
        Busy = "busy",
        /// The upstream rejected the request: unpaid, not permitted, or an unknown model.
        Rejected = "rejected",
        /// The upstream reported an internal error.
        UpstreamError = "upstream_error",
        /// The model refused to vote, or a content filter blocked its response.
        Refused = "refused",
        /// The response named no option, even after a repair request.
        Unparsable = "unparsable",
        /// The response named several options.
        Conflicting = "conflicting",
        /// The response reached the token limit before it named an option.
        Truncated = "truncated",
    }
}

impl Reason {
    /// Returns `true` if the model gave a complete response without a vote. Otherwise its vote is unknown,
    /// and the confidence counts it for the strongest rival. A truncated response is unknown, because the
    /// service sets the token limit. So is a rejected call, because an account without credit says nothing
    /// about the model.
    pub const fn is_final_response(self) -> bool {
        match self {
            Self::Refused | Self::Unparsable | Self::Conflicting => true,
            Self::Timeout
            | Self::Deadline
            | Self::Unreachable
            | Self::RateLimited
            | Self::Busy
            | Self::Rejected
            | Self::UpstreamError
            | Self::Truncated => false,
        }
    }
}

/// A missing vote: its reason, and a public detail of at most [`NoVote::MAX_DETAIL`] characters without
/// secrets or addresses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoVote {
    /// The kind of failure.
    pub reason: Reason,
    /// A one-sentence description of the failure.
    pub detail: String,
}

impl NoVote {
    /// The maximum length of the detail, in characters.
    pub const MAX_DETAIL: usize = 200;

    /// Creates a missing vote. Truncates the detail and replaces control characters with spaces.
    pub fn new(reason: Reason, detail: impl AsRef<str>) -> Self {
        let detail = detail.as_ref().chars().map(|c| if c.is_control() { ' ' } else { c });
        Self { reason, detail: detail.take(Self::MAX_DETAIL).collect::<String>().trim().to_owned() }
    }
}

crate::words! {
    /// The form of the response of a model that chats.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
    pub enum BallotMode {
        /// A tool call that the request forced.
        ForcedTool = "forced_tool",
        /// A tool call that the request offered but did not force.
        OfferedTool = "offered_tool",
        /// JSON output that follows the request's schema.
        JsonSchema = "json_schema",
        /// Plain text.
        Text = "text",
    }
}

/// The form of the last response of a model that chats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Casting {
    /// The form of the response.
    pub mode: BallotMode,
    /// True if the model reasoned first; `None` if the upstream does not report it.
    pub reasoned: Option<bool>,
    /// True if it is a second response, because the first one declared no vote.
    #[serde(default)]
    pub asked_again: bool,
}

/// The tokens of all responses of a model to one ballot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tokens {
    /// The tokens of the prompts.
    pub prompt: u32,
    /// The tokens of the responses.
    pub completion: u32,
}

impl Tokens {
    /// The largest number of each kind, so that a database column of 32 bits holds it.
    pub const MAX: u32 = i32::MAX as u32;

    /// Creates the counts of one response. Each is limited to [`Tokens::MAX`].
    pub fn new(prompt: u64, completion: u64) -> Self {
        let limited = |tokens: u64| tokens.min(Self::MAX.into()) as u32;
        Self { prompt: limited(prompt), completion: limited(completion) }
    }

    /// Returns the sum.
    pub fn plus(self, other: Self) -> Self {
        let sum = |one: u32, two: u32| u64::from(one) + u64::from(two);
        Self::new(sum(self.prompt, other.prompt), sum(self.completion, other.completion))
    }
}

/// The tokens of the models of several ballots, as far as the upstream reports them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TokenUsage {
    /// Tokens of the prompts.
    pub prompt_tokens: u64,
    /// Tokens of the responses.
    pub completion_tokens: u64,
}

impl TokenUsage {
    /// Sums the tokens of ballots.
    pub fn of<'a>(ballots: impl IntoIterator<Item = &'a Ballot>) -> Self {
        ballots.into_iter().filter_map(|ballot| ballot.tokens).fold(Self::default(), |sum, tokens| Self {
            prompt_tokens: sum.prompt_tokens + u64::from(tokens.prompt),
            completion_tokens: sum.completion_tokens + u64::from(tokens.completion),
        })
    }
}

/// The result of asking one model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelResponse {
    /// The option chosen (from 0, in the caller's order), or the reason for a missing vote.
    pub vote: Result<usize, NoVote>,
    /// The probabilities of the options; `None` without them, as for every model that chats.
    pub probabilities: Option<Probabilities>,
    /// The form of the response; `None` without a response, or for a decision model.
    pub casting: Option<Casting>,
    /// The total cost of all attempts.
    pub spend: Spend,
    /// The tokens of all attempts, as far as the upstream reports them; `None` if it reports none.
    pub tokens: Option<Tokens>,
    /// The model that responded, if the upstream reports another one than requested.
    pub answered_by: Option<String>,
}

impl ModelResponse {
    /// Creates a response with this vote and this cost only.
    pub fn new(vote: Result<usize, NoVote>, spend: Spend) -> Self {
        Self { vote, probabilities: None, casting: None, spend, tokens: None, answered_by: None }
    }
}

/// The stored outcome of asking one member. The ballots of a poll are its event log.
///
/// The model and the option order follow from the position: see [`Plan`](super::plan::Plan).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ballot {
    /// Sequence number in order of completion, from 1.
    pub seq: u32,
    /// The member's position in the dispatch order, from 0.
    pub position: u32,
    /// The option chosen (from 0, in the caller's order), or the reason for a missing vote.
    pub vote: Result<usize, NoVote>,
    /// The probabilities of the options; `None` without them, as for every model that chats.
    pub probabilities: Option<Probabilities>,
    /// The form of the response; `None` without a response, for a decision model, or for a poll older than this
    /// field.
    pub casting: Option<Casting>,
    /// The time from the request to the final response, in milliseconds.
    pub latency_ms: u32,
    /// The time from the start of the poll to the final response, in milliseconds.
    pub at_ms: u32,
    /// The cost.
    pub spend: Spend,
    /// The tokens, as far as the upstream reports them; `None` if it reports none, or for a poll older than this field.
    pub tokens: Option<Tokens>,
    /// The model that responded, if the upstream reports another one than requested.
    pub answered_by: Option<String>,
}

impl Ballot {
    /// Returns the ballot's input to the stopping rule.
    pub fn response(&self) -> FinalResponse {
        match &self.vote {
            Ok(option) => FinalResponse::Vote(*option),
            Err(no_vote) if no_vote.reason.is_final_response() => FinalResponse::NoVote,
            Err(_) => FinalResponse::Unknown,
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
        let form = |texts: &[&str]| ChoiceForm::for_options(&options(texts));
        assert_eq!(form(&["C", "C++", "C#"]), ChoiceForm::Text);
        assert_eq!(form(&["yes", "Yes"]), ChoiceForm::Letter);
        assert_eq!(form(&["a", &"x".repeat(200)]), ChoiceForm::Text);
        assert_eq!(form(&["a", &"語".repeat(67)]), ChoiceForm::Letter);
        assert_eq!(form(&["a", "the \"b\""]), ChoiceForm::Letter);
        assert_eq!(form(&["C:\\", "D:"]), ChoiceForm::Letter);
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
