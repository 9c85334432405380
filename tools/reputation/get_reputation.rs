//! `get_reputation`: reads the service's performance figures.

use std::time::Duration;

use ep_kernel::reputation::MIN_VOTES;
use ep_polling::Timestamp;

use super::{mean, mean_usd, rounded};
use crate::prelude::*;

/// Reads the service's performance figures.
pub struct GetReputation;

/// The performance of the service.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ServiceReputation {
    /// The share of minutes in the last 24 hours in which the service ran; null in its first hour.
    pub uptime_24h: Option<f64>,
    /// The share of minutes in the last 30 days in which the service ran.
    pub uptime_30d: Option<f64>,
    /// The start of the uptime measurement.
    pub measured_since: Option<Timestamp>,
    /// The share of polls that a rule ended with at least one vote; cancelled polls do not count. Null below
    /// 30 votes, as all averages.
    pub success_rate: Option<f64>,
    /// Mean time from acceptance to the end of a poll, in milliseconds; cancelled polls do not count.
    pub average_latency_ms: Option<f64>,
    /// Mean cost of a poll's calls, including free polls, in USD.
    pub average_cost_usd: Option<f64>,
    /// The counts behind these figures.
    pub totals: Totals,
    /// Time of computation, at most 5 minutes ago.
    pub computed_at: Timestamp,
    #[serde(skip)]
    fresh_for: Duration,
}

/// The counts behind the figures.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Totals {
    /// Closed public polls of real models.
    pub polls: i64,
    /// Polls among these that asked free models.
    pub free_polls: i64,
    /// Polls among these that their owner cancelled.
    pub cancelled_polls: i64,
    /// Polls among these whose votes an earlier version of the reader has read.
    pub polls_read_earlier: i64,
    /// Models asked.
    pub calls: i64,
    /// Models that voted.
    pub votes: i64,
    /// Different models.
    pub models: usize,
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
        summary: "Returns the service's uptime, success rate, average latency and average cost. Free.",
        manual: include_str!("get_reputation.md"),
        access: Access::PUBLIC,
        effect: Effect::Read,
        rest: Some(Rest::get("/api/reputation")),
        agents: Agents::Set(ToolSet::Polls),
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
        ..Spec::PLAIN
    };
    type Input = Nothing;
    type Output = ServiceReputation;

    async fn call(cx: &Ctx, _: Nothing) -> Result<ServiceReputation, Fault> {
        let figures = cx.reputation().figures().await?;
        let (service, models) = (figures.sums.service, &figures.sums.models);
        let totals = Totals {
            polls: service.polls,
            free_polls: service.free,
            cancelled_polls: service.cancelled,
            polls_read_earlier: figures.sums.read_earlier(),
            calls: models.values().map(|model| model.calls).sum(),
            votes: models.values().map(|model| model.votes).sum(),
            models: models.len(),
        };
        let enough = totals.votes >= MIN_VOTES;
        let finished = service.polls - service.cancelled;
        Ok(ServiceReputation {
            uptime_24h: figures.uptime_day.map(rounded),
            uptime_30d: figures.uptime_month.map(rounded),
            measured_since: figures.heartbeats_since,
            success_rate: mean(service.answered, finished).filter(|_| enough),
            average_latency_ms: mean(service.total_ms, finished).filter(|_| enough),
            average_cost_usd: mean_usd(service.cost, service.polls).filter(|_| enough),
            totals,
            computed_at: figures.computed_at,
            fresh_for: cx.reputation().fresh_for(&figures),
        })
    }
}
