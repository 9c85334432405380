//! The models that vote.

use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::fault::Result;
use ep_polling::{
    BallotView, ExplanationText, Member, ModelChoice, ModelId, ModelResponse, PicoUsd, Price, Roster, Spend,
    Timestamp,
};
use ep_store::UserId;

/// The models offered by an upstream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Registry {
    /// Time when the list was fetched from the upstream.
    pub fetched_at: Timestamp,
    /// Time when the list will be fetched again.
    pub cache_expires_at: Timestamp,
    /// Number of models.
    pub count: usize,
    /// Same value as `count`, for compatibility.
    pub model_count: Option<usize>,
    /// True for the simulated models of the demo roster.
    pub simulated: bool,
    /// The models, one entry per id.
    pub variants: Vec<Variant>,
    /// The presets whose models are ordered by strength.
    #[serde(default)]
    pub panels: Vec<RankedPanel>,
}

impl Registry {
    /// True if this preset includes any of the models.
    pub fn has_preset(&self, name: &str) -> bool {
        self.variants.iter().any(|variant| variant.presets.iter().any(|preset| preset == name))
    }
}

/// A preset whose models are ordered by strength.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RankedPanel {
    /// The preset's name.
    pub name: String,
    /// Ids of its models, the strongest first.
    pub models: Vec<String>,
    /// The basis of the order.
    pub order: PanelOrder,
}

/// The basis of an order by strength.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum PanelOrder {
    /// The price: the models were not judged.
    Price,
    /// Labelled rows on which the operator judged the models.
    Evidence,
}

/// One model of a registry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Variant {
    /// The model's id at the upstream.
    pub id: String,
    /// Display name.
    pub name: String,
    /// The model's maker or provider.
    pub provider: String,
    /// Family of the model: models of one maker and product line.
    pub family: String,
    /// Maximum number of input and output tokens.
    pub context_length: Option<u64>,
    /// Price; null if unknown.
    pub pricing: Option<VariantPricing>,
    /// True if the model is known to be free of charge.
    pub free: bool,
    /// True if the model supports tools; null if unknown.
    pub supports_tools: Option<bool>,
    /// Request parameters that the model is known to support.
    pub supported_parameters: Vec<String>,
    /// True for a decision model: it does not chat, but gives a probability to each option. Presets include it only if they name
    /// it or ask for decision models.
    #[serde(default)]
    pub decision_model: bool,
    /// The presets that include the model.
    pub presets: Vec<String>,
}

/// The price of a model in USD per token, as decimal text, because floats would lose digits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VariantPricing {
    /// Per prompt token.
    pub prompt: String,
    /// Per completion token.
    pub completion: String,
    /// Per request.
    pub request: String,
}

impl VariantPricing {
    /// Returns the price; `None` if a text is no price.
    pub fn price(&self) -> Option<Price> {
        let [prompt, completion, request] =
            [&self.prompt, &self.completion, &self.request].map(|usd| PicoUsd::parse(usd));
        Some(Price { prompt: prompt?, completion: completion?, request: request? })
    }
}

/// The handling of a call with an unneeded response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AbandonPolicy {
    /// Cancel the call. This saves the upstream work, and the call is not charged.
    Cancel,
    /// Wait for the response. The call is charged either way, and only the response states the cost.
    Drain,
}

/// The turn of a call while an upstream is full: polls come before rows of batches, and accounts take turns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Turn {
    /// The account that owns the poll; `None` for a free poll.
    pub account: Option<UserId>,
    /// True for a row of a batch, unless another process has opened it.
    pub of_batch: bool,
}

/// The time for which a response is wanted.
#[derive(Debug, Clone)]
pub struct CallLimits {
    /// Time limit from now.
    pub within: Duration,
    /// Cancelled when the poll has ended, so the response is no longer needed.
    pub dropped: CancellationToken,
    /// The turn among calls that wait for the upstream.
    pub turn: Turn,
}

impl From<Duration> for CallLimits {
    fn from(within: Duration) -> Self {
        Self { within, dropped: CancellationToken::new(), turn: Turn::default() }
    }
}

/// The response of a voter that was asked for an explanation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplanationResponse {
    /// The explanation; `None` if the voter gave none.
    pub text: Option<ExplanationText>,
    /// The total cost of all attempts.
    pub spend: Spend,
}

/// The response of a model that was asked for options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposalResponse {
    /// The options, as the model wrote them; empty if it proposed none.
    pub options: Vec<String>,
    /// The total cost of all attempts.
    pub spend: Spend,
}

/// Lists and calls models.
#[async_trait]
pub trait Models: Send + Sync {
    /// Returns the models on offer. [`Kind::NotConfigured`](crate::fault::Kind::NotConfigured) without an
    /// upstream, [`Kind::Unavailable`](crate::fault::Kind::Unavailable) if it cannot be reached and no list
    /// is cached.
    async fn registry(&self) -> Result<Registry>;

    /// Returns the names of the presets, in the order of their documentation.
    fn presets(&self) -> Vec<String>;

    /// Returns the roster of a choice. [`Kind::InvalidPreset`](crate::fault::Kind::InvalidPreset) for an
    /// unknown preset, [`Kind::InvalidInput`](crate::fault::Kind::InvalidInput) for unknown models, and the
    /// errors of [`Models::registry`].
    async fn roster(&self, choice: &ModelChoice) -> Result<Roster>;

    /// Requests a vote from one model within the limits of `limits`, with fallback levels, one repair and
    /// retries. Never fails: a failure is a response without a vote. After cancellation no further request is
    /// sent; one already sent is waited for.
    async fn vote(&self, member: &Member, view: &BallotView, limits: CallLimits) -> ModelResponse;

    /// Requests an explanation from a model that voted for this option of `view`, in at most as many requests as a
    /// vote, with at most as many tokens. Never fails: a failure is a response without a text.
    async fn explain(
        &self,
        member: &Member,
        view: &BallotView,
        option: usize,
        limits: CallLimits,
    ) -> ExplanationResponse;

    /// Requests options for the question of `view`, which has no choices, in at most two requests. Never fails: a failure is a
    /// response without options.
    async fn propose(&self, _member: &Member, _view: &BallotView, _limits: CallLimits) -> ProposalResponse {
        ProposalResponse { options: Vec::new(), spend: Spend::NOTHING }
    }

    /// Returns the learnt facts about requests to this model, as phrases such as `answers as a stream`. Empty if this process has
    /// not asked the model.
    fn learnt(&self, _model: &ModelId) -> Vec<&'static str> {
        Vec::new()
    }

    /// Forgets the stored facts about models that match this pattern, in which `*` matches any text. Other processes notice it
    /// within a minute. Returns the number of models.
    async fn forget(&self, _pattern: &str) -> Result<usize> {
        Ok(0)
    }

    /// Returns the handling of an unneeded call to this member.
    fn abandon(&self, member: &Member) -> AbandonPolicy;
}
