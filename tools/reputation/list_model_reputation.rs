//! `list_model_reputation`: reads the performance figures of each model.

use std::collections::BTreeMap;
use std::time::Duration;

use ep_kernel::reputation::MIN_VOTES;
use ep_polling::reputation::{ModelSums, WHOLE};
use ep_polling::{BallotSlot, ModelId, SlotShare, Timestamp};

use super::{mean, mean_usd, rounded};
use crate::prelude::*;

/// Reads the performance figures of the models.
pub struct ListModelReputation;

/// The size of the list.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ModelQuery {
    /// Maximum number of models, starting with those with the most votes.
    #[serde(default = "most")]
    #[schemars(range(min = 1, max = MOST))]
    pub limit: u32,
}

/// Maximum number of models in a list.
const MOST: u32 = 1_000;

const fn most() -> u32 {
    MOST
}

/// The performance of the models.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ModelReputations {
    /// Models that have been asked, those with the most votes first.
    pub models: Vec<ModelReputation>,
    /// Minimum number of votes for a model's figures.
    pub minimum_votes: i64,
    /// Time of computation, at most 5 minutes ago.
    pub computed_at: Timestamp,
    #[serde(skip)]
    fresh_for: Duration,
}

/// The performance of a model. Below 30 votes, all but the counts is null.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct ModelReputation {
    /// The model.
    pub model_id: String,
    /// Number of calls.
    pub calls: i64,
    /// Number of votes.
    pub votes: i64,
    /// The share of calls that ended in a vote.
    pub success_rate: Option<f64>,
    /// The share of calls that it refused.
    pub refused_rate: Option<f64>,
    /// The share of calls with no readable choice, or with several.
    pub unreadable_rate: Option<f64>,
    /// The share of calls without a response: timeout, unreachable, rate-limited or rejected.
    pub failure_rate: Option<f64>,
    /// Mean time of a vote, in milliseconds.
    pub average_latency_ms: Option<f64>,
    /// Mean cost of a call where known, in USD.
    pub average_cost_usd: Option<f64>,
    /// The share of its votes for the winner; ties and polls that no rule ended do not count.
    pub with_outcome_rate: Option<f64>,
    /// Its preference for the option shown first or last.
    pub slot_bias: Option<SlotBias>,
    /// Agreement of its votes with feedback on outcomes; null without feedback.
    pub feedback: Option<FeedbackAgreement>,
}

/// A model's bias for the position at which an option is shown. The order is drawn anew for each model in
/// each poll.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct SlotBias {
    /// Number of votes behind these figures.
    pub votes: i64,
    /// The share of its votes for the option shown first, minus the share expected by chance.
    pub first_slot_excess: f64,
    /// The share of its votes for the option shown last, minus the share expected by chance.
    pub last_slot_excess: f64,
    /// The excess, in either direction, within which chance alone keeps 19 of 20 models.
    pub chance_margin: f64,
}

/// Agreement of a model's votes with feedback.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct FeedbackAgreement {
    /// Its votes in polls with feedback on the outcome.
    pub judged_votes: i64,
    /// The share of these that were for an outcome called correct, or against one called incorrect. If
    /// accounts disagree, a vote counts in proportion.
    pub accuracy: Option<f64>,
}

impl ModelReputation {
    fn new(model: &ModelId, sums: &ModelSums, slots: Option<&BTreeMap<BallotSlot, i64>>) -> Self {
        let enough = sums.votes >= MIN_VOTES;
        let of_calls = |count| mean(count, sums.calls).filter(|_| enough);
        Self {
            model_id: model.to_string(),
            calls: sums.calls,
            votes: sums.votes,
            success_rate: of_calls(sums.votes),
            refused_rate: of_calls(sums.refused),
            unreadable_rate: of_calls(sums.unreadable),
            failure_rate: of_calls(sums.calls - sums.votes - sums.refused - sums.unreadable),
            average_latency_ms: mean(sums.latency_ms, sums.votes).filter(|_| enough),
            average_cost_usd: mean_usd(sums.cost, sums.priced).filter(|_| enough),
            with_outcome_rate: mean(sums.with_outcome, sums.decided).filter(|_| enough),
            slot_bias: slots.filter(|_| enough).and_then(SlotBias::of),
            feedback: (enough && sums.judged > 0).then(|| FeedbackAgreement {
                judged_votes: sums.judged,
                accuracy: mean(sums.agreed, sums.judged).map(|millionths| rounded(millionths / WHOLE as f64)),
            }),
        }
    }
}

impl SlotBias {
    fn of(slots: &BTreeMap<BallotSlot, i64>) -> Option<Self> {
        let first = SlotShare::of(slots, |slot| slot.slot == 0)?;
        let last = SlotShare::of(slots, |slot| slot.slot + 1 == slot.options)?;
        Some(Self {
            votes: first.votes,
            first_slot_excess: rounded(first.excess),
            last_slot_excess: rounded(last.excess),
            chance_margin: rounded(first.margin),
        })
    }
}

impl ToolOutput for ModelReputations {
    fn presentation(&self) -> Presentation {
        Presentation::shared(self.fresh_for)
    }
}

impl Tool for ListModelReputation {
    const SPEC: Spec = Spec {
        name: "list_model_reputation",
        title: "Read the models' reputation",
        summary: "Lists each model's statistics: success, latency, cost, agreement with outcomes and feedback. Free.",
        manual: include_str!("list_model_reputation.md"),
        example: r#"{ "limit": 20 }"#,
        access: Access::PUBLIC,
        effect: Effect::Read,
        rest: Some(Rest::get("/api/reputation/models")),
        agents: Agents::Set(ToolSet::Polls),
        intents: &[
            "which models are reliable",
            "how fast is each model",
            "which model answers fastest",
            "compare the models' track records",
            "the success rate of each model",
            "statistics per model",
            "failure rate, latency and cost per model",
            "which models agree with the winner most often",
            "is this model any good",
            "which models fail often",
            "the most accurate model by feedback",
            "how often does each model vote with the majority",
        ],
        ..Spec::PLAIN
    };
    type Input = ModelQuery;
    type Output = ModelReputations;

    async fn call(cx: &Ctx, query: ModelQuery) -> Result<ModelReputations, Fault> {
        if !(1..=MOST).contains(&query.limit) {
            return Err(Fault::invalid("limit", format!("must be from 1 to {MOST}")));
        }
        let figures = cx.reputation().figures().await?;
        let mut models: Vec<_> = figures.sums.models.iter().collect();
        models.sort_by_key(|(_, sums)| std::cmp::Reverse(sums.votes));
        models.truncate(query.limit as usize);
        let reputation = |(model, sums)| ModelReputation::new(model, sums, figures.sums.slots.get(model));
        Ok(ModelReputations {
            models: models.into_iter().map(reputation).collect(),
            minimum_votes: MIN_VOTES,
            computed_at: figures.computed_at,
            fresh_for: cx.reputation().fresh_for(&figures),
        })
    }
}
