//! `get_poll_result`: a poll's public result, without costs and without its caller.

use ep_kernel::ctx::Ctx;
use ep_kernel::executor::PollState;
use ep_kernel::fault::{Fault, Kind};
use ep_kernel::ports::Closing;
use ep_kernel::tool::{
    Access, Agents, Cost, Effect, Latency, Presentation, Rate, Rest, Spec, Task, Tool, ToolOutput,
};
use ep_polling::money::Usd;
use ep_polling::poll_id::PollId;
use ep_polling::stopping::TerminationReason;
use ep_polling::tally::NamedTally;
use ep_polling::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{readable, result_url};
use crate::polls::reply::{Families, RunningPoll, Status, Summary, Timing, VoteResult, headline, votes};

/// Reads a result.
pub struct GetPollResult;

/// Which result.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ResultQuery {
    /// The poll's id: EP-<date>-<suffix>.
    #[serde(alias = "resultId", alias = "result_id")]
    pub poll_id: String,
}

/// What a poll came to.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PollResult {
    /// The poll's id.
    pub poll_id: PollId,
    /// Whether all, some or none of the recorded answers are votes.
    pub status: Status,
    /// The winning option, or the literal `tie`, or the literal `no_votes`.
    pub outcome: String,
    /// The question.
    pub question: Option<String>,
    /// What could be chosen.
    pub options: Vec<String>,
    /// Always `fptp`: first past the post.
    pub poll_type: &'static str,
    /// The option with the most votes; null on a tie or without votes.
    pub winning_option: Option<String>,
    /// Whether two or more options share the highest count.
    pub is_tie: bool,
    /// The confidence at which the poll could stop early.
    pub confidence_threshold: Option<f64>,
    /// The most the poll could spend, in USD.
    pub max_cost_usd: Option<Usd>,
    /// Whether the poll ended before every model had answered.
    pub early_terminated: bool,
    /// Why the poll ended; null where it was cancelled.
    pub termination_reason: Option<TerminationReason>,
    /// Models without a recorded answer when the poll ended.
    pub models_skipped: u32,
    /// Votes per option.
    pub tally: NamedTally,
    /// Every answer, in the order in which they came.
    pub votes: Vec<VoteResult>,
    /// Number of models with a recorded answer, failures included.
    pub models_requested: u32,
    /// Number of recorded answers that are votes.
    pub models_succeeded: u32,
    /// Number of recorded answers without a vote.
    pub models_failed: u32,
    /// How long it took.
    pub timing: Timing,
    /// When the poll was accepted.
    pub created_at: Timestamp,
    /// Confidence that asking the whole roster would give this outcome: agreement of models, not truth.
    pub confidence: f64,
    /// How the votes spread over model families.
    pub families: Families,
    /// Which models were asked.
    pub preset: String,
    /// Whether the voters are simulated.
    pub simulated: bool,
    /// What to know about this roster.
    pub notices: Vec<String>,
    /// This result's address.
    pub result_url: String,
    #[serde(skip)]
    private: bool,
}

/// A result, or how far the poll is.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ResultReply {
    /// The poll has ended.
    Complete(Box<PollResult>),
    /// It still runs.
    Running(RunningPoll),
}

impl ToolOutput for ResultReply {
    fn presentation(&self) -> Presentation {
        match self {
            Self::Running(running) => running.presentation(),
            Self::Complete(r) => {
                let cached = if r.private { Presentation::default() } else { Presentation::immutable() };
                let winner = r.winning_option.as_deref();
                let summary = headline(&r.outcome, winner, &r.tally, r.confidence, &r.result_url);
                cached.summary(summary).task(&r.poll_id)
            }
        }
    }
}

impl Tool for GetPollResult {
    const SPEC: Spec = Spec {
        name: "get_poll_result",
        title: "Get a poll's result",
        summary: "Reads a poll by its poll_id: outcome, tally and every vote, or its progress while it still runs. Free.",
        manual: include_str!("get_poll_result.md"),
        example: include_str!("get_poll_result.example.json"),
        access: Access::PUBLIC,
        effect: Effect::Read,
        cost: Cost::Free,
        latency: Latency::Instant,
        rate: Rate::Results,
        rest: Some(Rest::get("/api/results/{poll_id}")),
        stream: None,
        agents: Agents::Core,
        task: Task::Read,
        intents: &["show me the poll's result", "is my poll done"],
        faults: &[Kind::NotFound],
    };
    type Input = ResultQuery;
    type Output = ResultReply;

    async fn call(cx: &Ctx, query: ResultQuery) -> Result<ResultReply, Fault> {
        let state = readable(cx, &query.poll_id).await?;
        let url = result_url(cx, &state.record.id);
        Ok(match &state.record.closing {
            Some(closing) => ResultReply::Complete(Box::new(PollResult::new(&state, closing, url))),
            None => ResultReply::Running(RunningPoll::new(&state, url)),
        })
    }
}

impl PollResult {
    fn new(state: &PollState, closing: &Closing, result_url: String) -> Self {
        let plan = &state.record.plan;
        let summary = Summary::new(state, closing);
        Self {
            poll_id: state.record.id.clone(),
            status: summary.status,
            outcome: summary.outcome,
            question: Some(plan.question.to_string()),
            options: plan.options.clone(),
            poll_type: "fptp",
            winning_option: summary.winning_option,
            is_tie: summary.is_tie,
            confidence_threshold: Some(plan.threshold.get()),
            max_cost_usd: Some(Usd(plan.budget.amount())),
            early_terminated: summary.skipped > 0,
            termination_reason: closing.reason,
            models_skipped: summary.skipped,
            tally: summary.tally,
            votes: votes(state, false),
            models_requested: summary.requested,
            models_succeeded: summary.succeeded,
            models_failed: summary.requested - summary.succeeded,
            timing: Timing { gather_ms: closing.gather_ms, total_ms: closing.total_ms },
            created_at: state.record.created_at,
            confidence: summary.confidence,
            families: summary.families,
            preset: plan.preset.clone(),
            simulated: plan.simulated,
            notices: plan.notices.clone(),
            result_url,
            private: plan.private,
        }
    }
}

#[cfg(test)]
mod tests {
    use ep_kernel::tool::Cache;
    use serde_json::json;

    use super::*;
    use crate::polls::PollQuestion;
    use crate::testing::Service;

    #[tokio::test]
    async fn results_are_public_and_immutable_private_ones_their_owners() {
        let service = Service::start().await;
        let (owner, other) = (service.user().await, service.user().await);
        for private in [false, true] {
            let asked = json!({ "question": "Which of the two is better?", "options": ["Alpha", "Beta"], "private": private });
            let poll = service.call::<PollQuestion>(&owner, asked).await.unwrap().value;
            let query = json!({ "poll_id": poll["poll_id"] });
            let own = service.call::<GetPollResult>(&owner, query.clone()).await.unwrap();
            assert_eq!(own.value["tally"], poll["tally"]);
            assert!(
                own.value.get("costs").is_none() && own.value["votes"][0].get("estimated_cost").is_none()
            );
            for caller in [&other, &Service::anonymous()] {
                let read = service.call::<GetPollResult>(caller, query.clone()).await;
                match read {
                    Ok(read) => assert_eq!((private, read.presentation.cache), (false, Cache::Immutable)),
                    Err(refused) => assert_eq!((private, refused.kind()), (true, Kind::NotFound)),
                }
            }
        }
        let unknown = service.call::<GetPollResult>(&owner, json!({ "poll_id": "EP-1" })).await.unwrap_err();
        assert_eq!(unknown.kind(), Kind::NotFound);
    }
}
