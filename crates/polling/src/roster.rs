//! The models that vote.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::money::{MicroUsd, Price};
use crate::stopping::MAX_ROSTER;
use crate::text::{Lines, TextError, normalize};

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

/// One model of a roster, as the registry described it when the poll was opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Its name.
    pub model: ModelId,
    /// Its maker and product line, as its id tells them: a weak proxy for which votes are correlated.
    pub family: String,
    /// What it charges; `None` if unknown.
    pub price: Option<Price>,
    /// The completion tokens allowed for its first answer. A second answer is allowed twice as many.
    pub output_tokens: u32,
}

/// How many answers of a member may cost money: the first, and one more after an unusable first one.
pub const PAID_ANSWERS: u32 = 2;
/// Prompt tokens that the second request adds: the unusable answer and what was wrong with it.
const REPAIR_TOKENS: u64 = 600;

impl Member {
    /// The most that this member's vote can cost: every allowed answer, each using all its tokens.
    /// `prompt_tokens` is an upper bound for one request. `None` if the price is unknown.
    pub fn worst_case(&self, prompt_tokens: u64) -> Option<MicroUsd> {
        let output = u64::from(self.output_tokens);
        self.price.map(|price| {
            price.of(PAID_ANSWERS, prompt_tokens * u64::from(PAID_ANSWERS) + REPAIR_TOKENS, output * 3)
        })
    }
}

impl Member {
    /// What one request to this member is estimated to cost if nobody says: every prompt token of the bound, and
    /// all tokens of its answer. Never more than [`Member::worst_case`]. `None` if the price is unknown.
    pub fn estimate(&self, prompt_tokens: u64) -> Option<MicroUsd> {
        self.price.map(|price| price.of(1, prompt_tokens, u64::from(self.output_tokens)))
    }
}

/// Fewest models of a poll whose caller names them.
pub const MIN_NAMED: usize = 2;
/// Most characters of a model's name.
const MAX_NAME_CHARS: usize = 200;

/// Names of models as callers write them: ids, in which `*` stands for any text. Case does not matter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct ModelNames(Vec<String>);

/// Why a list of models' names was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelNamesError {
    /// No name.
    #[error("must be a list with at least one model id")]
    Empty,
    /// Too many names.
    #[error("must be a list of at most {MAX_ROSTER} model ids; {0} were given")]
    Count(usize),
    /// One of them is not usable.
    #[error("must be a list of model ids: number {number} {error}")]
    Text {
        /// Which one, from 1.
        number: usize,
        /// What is wrong with it.
        error: TextError,
    },
}

impl ModelNames {
    /// Checks a list of names; whether there are such models is the registry's to say.
    pub fn new<S: AsRef<str>>(names: &[S]) -> Result<Self, ModelNamesError> {
        match names.len() {
            0 => return Err(ModelNamesError::Empty),
            1..=MAX_ROSTER => {}
            count => return Err(ModelNamesError::Count(count)),
        }
        let checked = names.iter().enumerate().map(|(index, name)| {
            normalize(name.as_ref(), 1, MAX_NAME_CHARS, Lines::One)
                .map_err(|error| ModelNamesError::Text { number: index + 1, error })
        });
        checked.collect::<Result<_, _>>().map(Self)
    }

    /// The names, in the caller's order.
    pub fn as_slice(&self) -> &[String] {
        &self.0
    }
}

impl TryFrom<Vec<String>> for ModelNames {
    type Error = ModelNamesError;
    fn try_from(names: Vec<String>) -> Result<Self, Self::Error> {
        Self::new(&names)
    }
}

impl From<ModelNames> for Vec<String> {
    fn from(names: ModelNames) -> Self {
        names.0
    }
}

/// Where the models of a poll come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelSource {
    /// The preset of this name.
    Preset(String),
    /// The models that the caller names.
    Named(ModelNames),
}

/// Which models a poll asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelChoice {
    /// Where they come from.
    pub source: ModelSource,
    /// Which of them not to ask.
    pub exclude: Option<ModelNames>,
}

impl ModelChoice {
    /// The models of a preset, all of them.
    pub fn preset(name: impl Into<String>) -> Self {
        Self { source: ModelSource::Preset(name.into()), exclude: None }
    }
}

/// The members found for a [`ModelChoice`], before the poll draws their order: at most [`MAX_ROSTER`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roster {
    pub(crate) members: Vec<Member>,
    /// Whether the members are the simulated models of the demo roster.
    pub simulated: bool,
    /// What the caller should know about this roster, in full sentences.
    pub notices: Vec<String>,
}

/// What [`Roster::new`] refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a poll has at most {MAX_ROSTER} members; {0} were given")]
pub struct RosterTooLarge(pub usize);

impl Roster {
    /// A roster of these members, in registry order. More than [`MAX_ROSTER`] are refused, not cut: a cut
    /// would change whose answer the confidence is about.
    pub fn new(members: Vec<Member>, simulated: bool, notices: Vec<String>) -> Result<Self, RosterTooLarge> {
        if members.len() > MAX_ROSTER {
            return Err(RosterTooLarge(members.len()));
        }
        Ok(Self { members, simulated, notices })
    }

    /// The members, in registry order.
    pub fn members(&self) -> &[Member] {
        &self.members
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_models_are_bounded_and_errors_name_the_entry() {
        let error = |names: &[&str]| ModelNames::new(names).unwrap_err().to_string();
        assert_eq!(error(&[]), "must be a list with at least one model id");
        assert!(error(&["x"; 151]).contains("at most 150 model ids; 151 were given"));
        assert!(error(&["a/b", " "]).contains("number 2 must not be blank"));
        assert!(ModelNames::new(&["a".repeat(201)]).is_err());
        assert_eq!(ModelNames::new(&[" a/* "]).unwrap().as_slice(), ["a/*"]);
    }

    #[test]
    fn a_roster_beyond_the_ceiling_is_refused() {
        let roster = |count: usize| {
            let member = |n: usize| Member {
                model: ModelId::new(n.to_string()),
                family: String::new(),
                price: None,
                output_tokens: 1,
            };
            Roster::new((0..count).map(member).collect(), false, Vec::new())
        };
        assert_eq!(roster(MAX_ROSTER).map(|roster| roster.members().len()), Ok(MAX_ROSTER));
        assert_eq!(roster(MAX_ROSTER + 1), Err(RosterTooLarge(MAX_ROSTER + 1)));
    }
}
