//! A label with the votes that it comes from.

use ep_polling::ballot::first_reader;
use ep_polling::no_answer::are_too_few;
use ep_polling::tie_rule;
use ep_polling::{OptionProbability, Reason, Timestamp, Usd};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A label, as a line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The row's id.
    pub id: Value,
    /// The digest of everything that was asked: see [`Key`].
    pub key: Key,
    /// The label; null if there is none.
    pub label: Option<String>,
    /// The rule that decided.
    pub by: DecidedBy,
    /// The share of the panel that voted for the label; 0 without a label.
    pub score: f64,
    /// True if the votes contest the label, or tie.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub contested: bool,
    /// The votes, in the order of the models' ids.
    pub votes: Vec<EntryVote>,
    /// The cost of the row, in USD.
    pub cost_usd: Usd,
    /// The poll's id.
    pub poll_id: String,
    /// The time the first poll of the row was opened.
    pub asked_at: Timestamp,
    /// The time its last poll was opened, if models were asked again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_again_at: Option<Timestamp>,
    /// True if the voters are simulated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub simulated: bool,
    /// The version of the reader of its votes; the earliest one of several.
    #[serde(default = "first_reader")]
    pub reader: u32,
    /// The version of the reader of its last votes, if that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub later_reader: Option<u32>,
    /// True if the row has no text, so that no model was asked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub empty: bool,
}

/// The rule that decided a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    /// The option had the most votes.
    Plurality,
    /// Options were tied, and the strongest model decided.
    TieBreak,
    /// A person labelled the row.
    Gold,
    /// A tie without a tie rule, or no votes.
    None,
}

impl From<tie_rule::DecidedBy> for DecidedBy {
    fn from(by: tie_rule::DecidedBy) -> Self {
        match by {
            tie_rule::DecidedBy::Plurality => Self::Plurality,
            tie_rule::DecidedBy::TieBreak => Self::TieBreak,
            tie_rule::DecidedBy::None => Self::None,
        }
    }
}

/// The vote of one model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EntryVote {
    /// The model's id.
    pub model: String,
    /// The option; null without a vote.
    pub vote: Option<String>,
    /// The probabilities of a decision model, in the order of the options; absent for models that chat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probabilities: Option<Vec<OptionProbability>>,
    /// The reason for a missing vote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Reason>,
    /// Time until the response, in milliseconds.
    pub ms: u32,
    /// Its cost, in USD; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd: Option<Usd>,
    /// The model that responded, if it has another name than the one that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<String>,
}

/// True if none of these responses has a vote.
pub(crate) fn are_without_vote(votes: &[EntryVote]) -> bool {
    votes.iter().all(|vote| vote.vote.is_none())
}

/// True if too few of these models voted for a label, because the calls of the others failed.
pub(crate) fn lack_votes(votes: &[EntryVote]) -> bool {
    let known = votes.iter().filter(|vote| vote.vote.is_some()).count() as u32;
    let missing = votes.iter().filter(|vote| vote.has_failed()).count() as u32;
    are_too_few(known, missing)
}

impl EntryVote {
    /// True if the model gave no complete response.
    pub(crate) fn has_failed(&self) -> bool {
        self.vote.is_none() && !self.error.is_some_and(Reason::is_final_response)
    }
}

/// The digest of a row's id, question, options and panel, in hexadecimal digits. The rule for ties is no part of it: another
/// rule decides the same votes anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Key(pub(crate) [u8; 16]);

ep_polling::checked!(
    Key: String,
    hex::FromHexError,
    |text| {
        let mut key = [0; 16];
        hex::decode_to_slice(text, &mut key).map(|()| Self(key))
    },
    |key| hex::encode(key.0)
);
