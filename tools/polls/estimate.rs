//! Estimates of a poll's cost and duration.

use ep_kernel::tool::ToolOutput;
use ep_kernel::{Ctx, PollExecutor};
use ep_polling::plan::INSTRUCTION_TOKENS;
use ep_polling::{MicroUsd, PanelVersion, Plan, Price, Usd};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::draft::affordable;

/// Completion tokens of a plain vote: a short tool call.
const TYPICAL_OUTPUT_TOKENS: u64 = 40;
/// Bytes per prompt token in ordinary text.
const BYTES_PER_TOKEN: u64 = 4;
/// Prompt tokens of a short question with two options.
const SHORT_PROMPT_TOKENS: u64 = (INSTRUCTION_TOKENS + 200) / BYTES_PER_TOKEN;

/// Returns the typical cost of one vote on a short question.
pub fn typical_vote_cost(price: Price) -> MicroUsd {
    price.of(1, SHORT_PROMPT_TOKENS, TYPICAL_OUTPUT_TOKENS)
}

/// The estimates for a poll before it runs.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Estimates {
    /// The preset that chose the models; null if the request named them.
    pub preset: Option<String>,
    /// The version of your panel that the models come from; absent without a panel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PanelVersion")]
    pub panel: Option<PanelVersion>,
    /// Number of models that may be asked.
    pub models: u32,
    /// The fewest responses after which the poll can stop by confidence.
    pub calls_at_least: u32,
    /// Maximum number of calls: the same as `models`.
    pub calls_at_most: u32,
    /// Cost of the fewest calls, to the cheapest models, with brief responses, in USD.
    pub cost_usd_at_least: Usd,
    /// Cost of calls to all models, with brief responses, in USD.
    pub cost_usd_typical_full_roster: Usd,
    /// The maximum cost, in USD: the worst case of the whole roster, or max_cost_usd if that is less
    /// (estimate_poll: 1).
    pub cost_usd_at_most: Usd,
    /// Number of models with an unknown price; their cost is not included in the figures.
    pub models_of_unknown_price: u32,
    /// Median time of this service's recent votes, in milliseconds; null before the first vote.
    pub typical_vote_ms: Option<u32>,
    /// Maximum duration of the poll, in milliseconds.
    pub latency_ms_at_most: u64,
    /// The confidence (that the whole roster would give the same outcome) at which the poll stops early.
    pub confidence_threshold: f64,
    /// True if the voters are simulated.
    pub simulated: bool,
    /// Notices about the roster.
    pub notices: Vec<String>,
}

impl ToolOutput for Estimates {
    fn add_notices(&mut self, notices: Vec<String>) {
        self.notices.extend(notices);
    }
}

impl Estimates {
    /// Computes the estimates of a poll.
    pub fn new(cx: &Ctx, plan: &Plan) -> Self {
        let first_wave = PollExecutor::first_wave(plan);
        let typical_prompt = plan.prompt_tokens() / BYTES_PER_TOKEN;
        let typical = |price: Price| price.of(1, typical_prompt, TYPICAL_OUTPUT_TOKENS);
        let mut costs: Vec<MicroUsd> =
            plan.roster.iter().filter_map(|member| member.price).map(typical).collect();
        // The order of the models is not drawn yet, so the minimum is the cost of the cheapest models.
        costs.sort_unstable();
        let members = plan.roster.len();
        Self {
            preset: plan.preset.clone(),
            panel: plan.panel.clone(),
            models: members as u32,
            calls_at_least: first_wave as u32,
            calls_at_most: members as u32,
            cost_usd_at_least: Usd(costs.iter().take(first_wave).copied().sum()),
            cost_usd_typical_full_roster: Usd(costs.into_iter().sum()),
            cost_usd_at_most: Usd(plan.hold(first_wave).at_most),
            models_of_unknown_price: plan.roster.iter().filter(|member| member.price.is_none()).count()
                as u32,
            typical_vote_ms: cx.polls().typical_vote_ms(),
            latency_ms_at_most: plan.longest().as_millis() as u64,
            confidence_threshold: plan.threshold.get(),
            simulated: plan.simulated,
            notices: plan.notices.for_owner().to_vec(),
        }
    }
}

/// The result of a dry run: the poll was checked and priced; no model was asked.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct DryRun {
    /// Always true.
    pub dry_run: bool,
    /// True if the poll would be accepted.
    pub valid: bool,
    /// Errors to fix before the poll is accepted.
    pub errors: Vec<String>,
    /// The estimated cost and duration; null if errors prevent an estimate.
    pub estimates: Option<Estimates>,
}

impl ToolOutput for DryRun {
    fn add_notices(&mut self, notices: Vec<String>) {
        if let Some(estimates) = &mut self.estimates {
            estimates.add_notices(notices);
        }
    }
}

impl DryRun {
    /// Builds the dry run of a valid request, which may still have too small a budget.
    pub fn of(cx: &Ctx, plan: &Plan) -> Self {
        let errors: Vec<String> =
            affordable(plan).err().map(|fault| fault.message().to_owned()).into_iter().collect();
        Self { dry_run: true, valid: errors.is_empty(), errors, estimates: Some(Estimates::new(cx, plan)) }
    }
}
