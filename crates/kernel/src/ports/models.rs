//! The models that vote.

use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::fault::Fault;
use ep_polling::ballot::{BallotView, ModelAnswer};
use ep_polling::roster::{Member, ModelChoice, Roster};
use ep_polling::time::Timestamp;

/// The list of the models that an upstream offers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Registry {
    /// When the list was fetched from the upstream.
    pub fetched_at: Timestamp,
    /// When it will be fetched again.
    pub cache_expires_at: Timestamp,
    /// How many models follow.
    pub count: usize,
    /// Same value as `count`; kept for compatibility.
    pub model_count: Option<usize>,
    /// Whether they are the simulated models of the demo roster.
    pub simulated: bool,
    /// The models, one entry for each id.
    pub variants: Vec<Variant>,
}

/// One model of a registry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Variant {
    /// The name the upstream knows it by.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// Who makes it or serves it.
    pub provider: String,
    /// Family of the model: models of one maker and product line.
    pub family: String,
    /// Tokens it can read and write at once.
    pub context_length: Option<u64>,
    /// Price; null if unknown.
    pub pricing: Option<VariantPricing>,
    /// Whether it is known to charge nothing.
    pub free: bool,
    /// Whether it supports tools; null if unknown.
    pub supports_tools: Option<bool>,
    /// Request parameters it is known to support.
    pub supported_parameters: Vec<String>,
    /// The presets that ask it.
    pub presets: Vec<String>,
}

/// What a model charges, in USD per token, as decimal text (floats would lose digits).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VariantPricing {
    /// Per prompt token.
    pub prompt: String,
    /// Per completion token.
    pub completion: String,
    /// Per request.
    pub request: String,
}

/// What to do with a call whose answer is no longer wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Abandon {
    /// Cancel the call: this saves the upstream work, and nothing is charged for it.
    HangUp,
    /// Wait for it: it is charged either way, and only its answer says how much.
    Drain,
}

/// How long an answer is wanted.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// From now on.
    pub within: Duration,
    /// Cancelled when it is wanted no longer, because the poll has ended.
    pub dropped: CancellationToken,
}

impl From<Duration> for Wanted {
    fn from(within: Duration) -> Self {
        Self { within, dropped: CancellationToken::new() }
    }
}

/// Finds and asks models.
#[async_trait]
pub trait Models: Send + Sync {
    /// The models on offer. [`Kind::NotConfigured`](crate::fault::Kind::NotConfigured) if there is no
    /// upstream, [`Kind::Unavailable`](crate::fault::Kind::Unavailable) if it cannot be reached and no list
    /// is cached.
    async fn registry(&self) -> Result<Registry, Fault>;

    /// The names of the presets, in the order in which they are documented.
    fn presets(&self) -> Vec<String>;

    /// The roster of a choice. [`Kind::InvalidPreset`](crate::fault::Kind::InvalidPreset) for a preset that
    /// does not exist, [`Kind::InvalidInput`](crate::fault::Kind::InvalidInput) for models that do not, and
    /// the failures of [`Models::registry`].
    async fn roster(&self, choice: &ModelChoice) -> Result<Roster, Fault>;

    /// Asks one model for its vote as long as that is wanted, using fallback levels, one repair and retries. Never
    /// fails: a failure is an answer without a vote. Once it is dropped no request is sent any more; one that was sent
    /// is waited for.
    async fn vote(&self, member: &Member, view: &BallotView, wanted: Wanted) -> ModelAnswer;

    /// What to do with a call to this member that is no longer wanted.
    fn abandon(&self, member: &Member) -> Abandon;
}
