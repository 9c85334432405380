//! Who votes.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::money::{MicroUsd, Price};

/// The name an upstream knows a model by, for example `mistralai/mistral-small`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ModelId(String);

impl ModelId {
    /// A model id as the upstream spells it.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One model with a vote, as it stood when the poll was opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Its name.
    pub model: ModelId,
    /// Models that share makers and training; their votes are correlated.
    pub family: String,
    /// What it charges; `None` where nobody says.
    pub price: Option<Price>,
    /// Completion tokens granted to its first answer. A second, last answer is granted twice as many.
    pub output_tokens: u32,
}

/// How often a member may give an answer that costs money: once, and once more after a repair.
pub const PAID_ANSWERS: u32 = 2;
/// Prompt tokens that a repair adds to the second request: the bad answer and the advice.
const REPAIR_TOKENS: u64 = 600;

impl Member {
    /// The most that this member's vote can cost: every allowed answer, each using all its tokens.
    /// `prompt_tokens` is an upper bound for one request. `None` where the price is unknown.
    pub fn worst_case(&self, prompt_tokens: u64) -> Option<MicroUsd> {
        let output = u64::from(self.output_tokens);
        self.price.map(|price| {
            price.of(PAID_ANSWERS, prompt_tokens * u64::from(PAID_ANSWERS) + REPAIR_TOKENS, output * 3)
        })
    }
}

/// The members a preset found, before the poll draws their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roster {
    /// Who votes, in registry order.
    pub members: Vec<Member>,
    /// Whether the members are the simulated models of the demo roster.
    pub simulated: bool,
    /// What the caller should know about this roster, in sentences.
    pub notices: Vec<String>,
}
