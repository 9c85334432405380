//! `get_reputation`: how the service does.

use std::time::Duration;

use ep_kernel::ctx::Ctx;
use ep_kernel::fault::Fault;
use ep_kernel::reputation::{Figures, MIN_VOTES};
use ep_kernel::tool::{
    Access, Agents, Cost, Effect, Latency, Nothing, Presentation, Rate, Rest, Spec, Task, Tool, ToolOutput,
};
use ep_polling::time::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::{mean, mean_usd, rounded};

/// Reads the service's figures.
pub struct GetReputation;

/// How the service does.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ServiceReputation {
    /// The share of the last 24 hours' minutes in which the service ran; null in its first hour.
    pub uptime_24h: Option<f64>,
    /// The same for the last 30 days.
    pub uptime_30d: Option<f64>,
    /// Since when uptime is measured.
    pub measured_since: Option<Timestamp>,
    /// The share of polls that ended with at least one vote, by a rule; cancelled polls do not count. Null below 30
    /// votes, as all averages.
    pub success_rate: Option<f64>,
    /// From acceptance to the end of a poll, in milliseconds; cancelled polls do not count.
    pub average_latency_ms: Option<f64>,
    /// What the calls of a poll cost, free polls included, in USD.
    pub average_cost_usd: Option<f64>,
    /// What these figures come from.
    pub totals: Totals,
    /// When they were computed: at most 5 minutes ago.
    pub computed_at: Timestamp,
    #[serde(skip)]
    fresh_for: Duration,
}

/// How much there was.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Totals {
    /// Polls of real models that anyone may read, that have ended.
    pub polls: i64,
    /// Of these, polls of models that charge nothing.
    pub free_polls: i64,
    /// Of these, polls that their owner cancelled.
    pub cancelled_polls: i64,
    /// Models asked.
    pub calls: i64,
    /// Models that voted.
    pub votes: i64,
    /// Different models.
    pub models: usize,
}

impl ServiceReputation {
    fn new(figures: &Figures, fresh_for: Duration) -> Self {
        let (service, models) = (figures.sums.service, &figures.sums.models);
        let totals = Totals {
            polls: service.polls,
            free_polls: service.free,
            cancelled_polls: service.cancelled,
            calls: models.values().map(|model| model.calls).sum(),
            votes: models.values().map(|model| model.votes).sum(),
            models: models.len(),
        };
        let enough = totals.votes >= MIN_VOTES;
        let finished = service.polls - service.cancelled;
        Self {
            uptime_24h: figures.uptime_day.map(rounded),
            uptime_30d: figures.uptime_month.map(rounded),
            measured_since: figures.heartbeats_since,
            success_rate: mean(service.answered, finished).filter(|_| enough),
            average_latency_ms: mean(service.total_ms, finished).filter(|_| enough),
            average_cost_usd: mean_usd(service.cost, service.polls).filter(|_| enough),
            totals,
            computed_at: figures.computed_at,
            fresh_for,
        }
    }
}

impl ToolOutput for ServiceReputation {
    fn presentation(&self) -> Presentation {
        Presentation::shared(self.fresh_for)
    }
}

impl Tool for GetReputation {
    const SPEC: Spec = Spec {
        name: "get_reputation",
        title: "Read the service's reputation",
        summary: "Reads the service's uptime, success rate, average latency and average cost. Free.",
        manual: include_str!("get_reputation.md"),
        example: "{}",
        access: Access::PUBLIC,
        effect: Effect::Read,
        cost: Cost::Free,
        latency: Latency::Instant,
        rate: Rate::Default,
        rest: Some(Rest::get("/api/reputation")),
        stream: None,
        agents: Agents::Extended,
        task: Task::None,
        intents: &[
            "how reliable is this service",
            "how trustworthy is this API",
            "what is your uptime",
            "what does a poll cost on average",
            "the average latency of polls",
            "how often do polls fail",
            "what is the success rate",
            "your average latency and success rate",
            "statistics of the service",
        ],
        faults: &[],
    };
    type Input = Nothing;
    type Output = ServiceReputation;

    async fn call(cx: &Ctx, _: Nothing) -> Result<ServiceReputation, Fault> {
        let figures = cx.reputation().figures().await?;
        Ok(ServiceReputation::new(&figures, cx.reputation().fresh_for(&figures)))
    }
}
