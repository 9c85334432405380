//! The models that vote.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::money::{MicroUsd, Price};
use crate::stopping::MAX_ROSTER;
use crate::text::{Lines, TextError, normalize};

/// The id of a model at its upstream, for example `mistralai/mistral-small`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ModelId(String);

impl ModelId {
    /// Creates a model id from the upstream's spelling.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One model of a roster, as described by the registry when the poll opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// The model's id.
    pub model: ModelId,
    /// Its maker and product line, derived from its id: a weak proxy for correlated votes.
    pub family: String,
    /// Its price; `None` if unknown.
    pub price: Option<Price>,
    /// The token limit of its first response. The second response may use twice as many tokens.
    pub output_tokens: u32,
}

/// The maximum number of charged responses per member: the first, and one after an unusable first one.
pub const PAID_RESPONSES: u32 = 2;
/// Prompt tokens added by the second request: the unusable response and the error in it.
const REPAIR_TOKENS: u64 = 600;

impl Member {
    /// Returns the maximum cost of this member's vote, if every allowed response uses all its tokens.
    /// `prompt_tokens` is an upper bound for one request. `None` if the price is unknown.
    pub fn worst_case(&self, prompt_tokens: u64) -> Option<MicroUsd> {
        let output = u64::from(self.output_tokens);
        self.price.map(|price| {
            price.of(PAID_RESPONSES, prompt_tokens * u64::from(PAID_RESPONSES) + REPAIR_TOKENS, output * 3)
        })
    }
}

impl Member {
    /// Returns the estimated cost of one request with unreported cost: every prompt token of the bound, and
    /// all tokens of the response. Never more than [`Member::worst_case`]. `None` if the price is unknown.
    pub fn estimate(&self, prompt_tokens: u64) -> Option<MicroUsd> {
        self.price.map(|price| price.of(1, prompt_tokens, u64::from(self.output_tokens)))
    }
}

/// The minimum number of models named by a caller.
pub const MIN_NAMED: usize = 2;
/// The maximum length of a model name, in characters.
const MAX_NAME_CHARS: usize = 200;

/// Model names given by a caller: ids in which `*` matches any text, or other names. Case does not matter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct ModelNames(Vec<String>);

/// The error of [`ModelNames::new`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelNamesError {
    /// An empty list.
    #[error("is empty; name at least one model id")]
    Empty,
    /// Too many names.
    #[error("has {0} model ids; name at most {MAX_ROSTER}")]
    Count(usize),
    /// An invalid name.
    #[error("has an invalid model id: number {number} {error}")]
    Text {
        /// The number of the name in the list, from 1.
        number: usize,
        /// The problem with its text.
        error: TextError,
    },
}

impl ModelNames {
    /// Validates a list of names. The registry checks that such models exist.
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

    /// Returns the names, in the caller's order.
    pub fn as_slice(&self) -> &[String] {
        &self.0
    }
}

crate::checked!(ModelNames: Vec<String>, ModelNamesError, |names| Self::new(&names), |names| names.0);

/// The source of a poll's models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelSource {
    /// The preset of this name.
    Preset(String),
    /// Models named by the caller: ids, or names such as "claude".
    Named(ModelNames),
    /// Models of a panel. Each name is an id, and stands for no other model.
    Ids(ModelNames),
}

/// The models that a poll asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelChoice {
    /// The source of the models.
    pub source: ModelSource,
    /// Models to exclude.
    pub exclude: Option<ModelNames>,
}

impl ModelChoice {
    /// Returns all models of a preset.
    pub fn preset(name: impl Into<String>) -> Self {
        Self { source: ModelSource::Preset(name.into()), exclude: None }
    }

    /// Returns the models that these names stand for.
    pub const fn named(names: ModelNames) -> Self {
        Self { source: ModelSource::Named(names), exclude: None }
    }
}

/// The members resolved from a [`ModelChoice`]: at most [`MAX_ROSTER`]. They are in registry order, or in the order of their
/// strength.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roster {
    pub(crate) members: Arc<[Member]>,
    /// True if the members are the simulated models of the demo roster.
    pub simulated: bool,
    /// Notices to the caller about this roster, in full sentences.
    pub notices: Vec<String>,
    /// True if the members are in the order of their strength, the strongest first.
    pub is_ranked: bool,
}

/// The error of [`Roster::new`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the roster has {0} members; choose at most {MAX_ROSTER}")]
pub struct RosterTooLarge(pub usize);

impl Roster {
    /// Creates a roster of these members. More than [`MAX_ROSTER`] members are rejected
    /// rather than truncated, because the confidence refers to the full roster.
    pub fn new(members: Vec<Member>, simulated: bool, notices: Vec<String>) -> Result<Self, RosterTooLarge> {
        if members.len() > MAX_ROSTER {
            return Err(RosterTooLarge(members.len()));
        }
        Ok(Self { members: members.into(), simulated, notices, is_ranked: false })
    }

    /// Returns the roster with each member changed.
    pub fn map(self, change: impl FnMut(&Member) -> Member) -> Self {
        Self { members: self.members.iter().map(change).collect(), ..self }
    }

    /// Returns the members.
    pub fn members(&self) -> &[Member] {
        &self.members
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_names_are_bounded_and_errors_name_the_entry() {
        let error = |names: &[&str]| ModelNames::new(names).unwrap_err().to_string();
        assert_eq!(error(&[]), "is empty; name at least one model id");
        assert!(error(&["x"; 151]).contains("has 151 model ids; name at most 150"));
        assert!(error(&["a/b", " "]).contains("number 2 is blank"));
        assert!(ModelNames::new(&["a".repeat(201)]).is_err());
        assert_eq!(ModelNames::new(&[" a/* "]).unwrap().as_slice(), ["a/*"]);
    }

    #[test]
    fn a_roster_above_the_limit_is_rejected() {
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
