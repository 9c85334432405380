//! `get_poll_result`: reads a poll's public result, without its caller; its owner can add costs.

use std::borrow::Cow;
use std::time::Duration;

use ep_kernel::PollState;
use ep_kernel::tool::Brief;
use ep_polling::{
    ModelCounts, NamedTally, NoAnswer, PanelVersion, PollId, ScaleResult, TerminationReason, Timestamp, Usd,
};
use ep_store::Closing;

use crate::poll_id::poll_id;
use crate::polls::audience::Audience;
use crate::polls::brief;
use crate::polls::facts::ResultText;
use crate::polls::follow::follow;
use crate::polls::notices::notices;
use crate::polls::reasons::{VoterReason, reasons};
use crate::polls::reply::{Costs, PublicVote, RunningPoll, Timing, VoteResult, missing, votes};
use crate::polls::sentences::EndedPoll;
use crate::polls::summary::{FamilySpread, PollDecision, Status, Summary, families};
use crate::prelude::*;
use crate::result_link::{GET_POLL_RESULT, result_url};

/// Reads a result.
pub struct GetPollResult;

/// The result to read.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ResultQuery {
    /// The poll's id: EP-<date>-<suffix>.
    #[serde(alias = "resultId", alias = "result_id")]
    #[schemars(extend("x-aliases" = ["resultId", "result_id"]))]
    pub poll_id: String,
    /// Adds its cost and its panel, for its owner alone.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub costs: bool,
    /// Longest wait for its end, in ms (default 0).
    #[schemars(range(max = MAX_RESULT_WAIT_MS))]
    pub wait_ms: Option<u32>,
}

/// Maximum wait for a result, in milliseconds.
const MAX_RESULT_WAIT_MS: u32 = 60_000;

/// The result of a poll, or its votes so far.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct PollResult {
    /// The poll's id.
    pub poll_id: PollId,
    /// The status: `queued` or `running`; then all, some or none of the models that counted voted.
    pub status: Status,
    /// The winning option, or the literal `tie`, or the literal `no_votes`; null while the poll runs.
    pub outcome: Option<String>,
    /// The question.
    pub question: Option<String>,
    /// The options.
    pub options: Vec<String>,
    /// Always `fptp`: first past the post.
    pub poll_type: Cow<'static, str>,
    /// The option with the most votes; null on a tie, without votes, and while the poll runs.
    pub winning_option: Option<String>,
    /// The votes on a scale, beside the fields about options; absent if the options are no levels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ScaleResult")]
    pub scale: Option<ScaleResult>,
    /// True if two or more options share the highest count.
    pub is_tie: bool,
    /// True if the result is contested: options tie, the winner has less than two thirds of the votes (of a complete poll: of
    /// all models), or the strongest model that voted chose another option (of models with an order of strength). On a scale,
    /// the winner is the median, or the pass or fail. Absent while the poll runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub contested: Option<bool>,
    /// The decision by the tie rule; absent unless requested by `on_tie`, and while the poll runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PollDecision")]
    pub decision: Option<PollDecision>,
    /// The reason why the votes give no answer; absent if they give one, and while the poll runs. `no_votes`; `tie`; or
    /// `unsupported`: too few votes, so that the missing ones could give another outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub no_answer: Option<NoAnswer>,
    /// The confidence at which the poll could stop early.
    pub confidence_threshold: Option<f64>,
    /// The maximum cost, in USD; null if its models are free.
    pub max_cost_usd: Option<Usd>,
    /// True if the poll ended before every model of the roster counted.
    pub early_terminated: bool,
    /// The reason why the poll ended; null if it was cancelled, and while it runs.
    pub termination_reason: Option<TerminationReason>,
    /// Votes per option.
    pub tally: NamedTally,
    /// Every response, in order of arrival.
    #[schemars(with = "Vec<PublicVote>")]
    pub votes: Vec<VoteResult>,
    /// Reasons of some voters, requested after the vote and no part of it. Absent without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<VoterReason>,
    /// The numbers of models; while the poll runs, of those that responded so far.
    #[serde(flatten)]
    pub models: ModelCounts,
    /// The duration of the poll.
    pub timing: Timing,
    /// The time the poll was accepted.
    pub created_at: Timestamp,
    /// Confidence that the whole roster would give this outcome (or, while the poll runs, choose the leader; with a pass
    /// mark: pass or fail likewise): agreement among these models, not truth.
    pub confidence: f64,
    /// Distribution of the votes over model families: a weak proxy for independence.
    pub families: FamilySpread,
    /// The preset that chose the models; null if the request named them.
    pub preset: Option<String>,
    /// The version of the owner's panel that the models came from, for its owner with `costs: true`; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PanelVersion")]
    pub panel: Option<PanelVersion>,
    /// The version of the reader that found the votes in the responses; absent while the poll runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32")]
    pub reader: Option<u32>,
    /// True if the voters are simulated.
    pub simulated: bool,
    /// Notices about this poll: its roster, and models that gave no vote or did not respond.
    pub notices: Vec<String>,
    /// URL of this result.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub result_url: Option<String>,
    /// The cost of a closed poll, if its owner requested it with `costs: true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Costs")]
    pub costs: Option<Costs>,
    /// The progress of a running poll.
    #[serde(flatten)]
    pub progress: Option<Progress>,
    #[serde(skip)]
    shown: Option<ResultView>,
}

/// The progress of a running poll.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Progress {
    /// The option with strictly the most votes so far; null if there is none.
    pub leader: Option<String>,
    /// Number of models that responded or failed to.
    pub answered: u32,
    /// Number of models that may be asked.
    pub roster_size: u32,
    /// Maximum position in the queue, from 1; absent unless it is queued.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_position: Option<u32>,
    /// Wait this many milliseconds, then request it again.
    pub poll_after_ms: u32,
}

/// The presentation of a result.
#[derive(Debug)]
enum ResultView {
    /// A public result, which is cacheable because it never changes.
    Public(ResultText),
    /// A result for this caller only: private, or with costs.
    Private(ResultText),
    /// A poll that is still running.
    Interim(Box<RunningPoll>),
}

impl ToolOutput for PollResult {
    const BRIEF: Brief = brief::READ;

    fn presentation(&self) -> Presentation {
        match &self.shown {
            Some(ResultView::Public(text)) => text.present(Presentation::immutable(), &self.poll_id),
            Some(ResultView::Private(text)) => text.present(Presentation::default(), &self.poll_id),
            Some(ResultView::Interim(running)) => running.presentation(),
            None => Presentation::default(),
        }
    }

    fn add_notices(&mut self, notices: Vec<String>) {
        self.notices.extend(notices);
    }
}

impl Tool for GetPollResult {
    const SPEC: Spec = Spec {
        name: GET_POLL_RESULT,
        title: "Get a poll's result",
        summary: "Reads a poll by its poll_id: outcome, tally and votes, or its progress while it runs. Free.",
        manual: include_str!("get_poll_result.md"),
        example: include_str!("get_poll_result.example.json"),
        access: Access::PUBLIC,
        effect: Effect::Read,
        latency: Latency::Models,
        rate: Rate::Results,
        rest: Some(Rest::get("/api/results/{poll_id}")),
        agents: Agents::Core,
        task: Task::Read,
        intents: &[
            "show me the poll's result",
            "who won the poll",
            "who got the most votes",
            "look up the result of a poll",
            "what did the models decide",
            "what did the poll say",
            "the outcome of poll EP-20260131-7KQ2M4X9TB",
            "how did the models vote",
            "I have a poll id, how did it turn out",
            "how many votes did an option get",
            "how confident are the models in the answer",
            "did the poll end in a tie",
            "fetch the votes and the final tally of a poll",
        ],
        faults: &[Kind::NotFound],
        ..Spec::PLAIN
    };
    type Input = ResultQuery;
    type Output = PollResult;

    async fn call(cx: &Ctx, query: ResultQuery) -> Result<PollResult, Fault> {
        let wait = query.wait_ms.unwrap_or(0);
        if wait > MAX_RESULT_WAIT_MS {
            return Err(Fault::invalid("wait_ms", format!("must be at most {MAX_RESULT_WAIT_MS}")));
        }
        let mut state = cx.polls().readable(&poll_id(cx, &query.poll_id)?, &cx.caller).await?;
        if query.costs && !state.is_of(&cx.caller) {
            return Err(costs_are_the_owners(cx, &state));
        }
        if wait > 0 && state.record.closing.is_none() {
            state = follow(cx, &state.record.id, Some(Duration::from_millis(wait.into()))).await?;
        }
        Ok(PollResult::of(cx, &state, query.costs))
    }
}

/// Returns the error for a caller that requests the costs of another account's poll.
fn costs_are_the_owners(cx: &Ctx, state: &PollState) -> Fault {
    let (kind, advice) = match cx.caller.user() {
        None => (Kind::Unauthenticated, "send an API key of the account that opened it, or leave costs out"),
        Some(_) => (Kind::NotFound, "this account did not open it; leave costs out"),
    };
    Fault::new(kind, format!("the costs of poll {} are shown only to its owner; {advice}", state.record.id))
}

impl<'a> From<&'a PollResult> for EndedPoll<'a> {
    /// Describes a result with its single votes.
    fn from(poll: &'a PollResult) -> Self {
        let (_, failed) = missing(&poll.votes);
        Self {
            tally: &poll.tally,
            winner: poll.winning_option.as_deref(),
            models: poll.models,
            failed,
            reason: poll.termination_reason,
            confidence: poll.confidence,
            threshold: poll.confidence_threshold,
            simulated: poll.simulated,
            contested: poll.contested == Some(true),
            no_answer: poll.no_answer,
            scale: poll.scale.as_ref(),
        }
    }
}

/// The counts of the votes so far.
struct VoteCounts {
    tally: NamedTally,
    families: FamilySpread,
    notices: Vec<String>,
}

impl PollResult {
    /// Builds the result of a poll, or its votes so far. Only the owner may request costs.
    pub(crate) fn of(cx: &Ctx, state: &PollState, costs: bool) -> Self {
        let url = result_url(cx, &state.record.id);
        let age = cx.clock().now().since(state.record.created_at);
        let mut result = match &state.record.closing {
            Some(closing) => Self::closed(state, closing, url, costs),
            None => {
                Self::running(state, cx.polls().position(&state.record), url, age, audience(state, costs))
            }
        };
        if costs {
            result.panel.clone_from(&state.record.plan.panel);
        }
        if !cx.without_votes {
            result.votes = votes(state, costs);
        }
        result
    }

    fn closed(state: &PollState, closing: &Closing, result_url: Option<String>, costs: bool) -> Self {
        let summary = Summary::new(state, closing);
        let notices = notices(state, Some((closing, &summary)), audience(state, costs));
        let final_costs = costs.then(|| Costs::new(state, closing));
        let cost = final_costs.map(|costs| costs.total_estimated_cost);
        let text = ResultText::new(state, closing, &summary, result_url.as_deref(), &notices, cost);
        let shown = if audience(state, costs) == Audience::Owner {
            ResultView::Private(text)
        } else {
            ResultView::Public(text)
        };
        let Summary { tally, families, .. } = summary;
        let counted = VoteCounts { tally, families, notices };
        Self {
            status: summary.status,
            outcome: Some(summary.outcome),
            winning_option: summary.winning_option,
            scale: summary.scale,
            is_tie: summary.is_tie,
            contested: Some(summary.contested),
            decision: summary.decision,
            no_answer: summary.no_answer,
            early_terminated: !summary.models.is_complete(),
            termination_reason: closing.reason,
            models: summary.models,
            timing: Timing { gather_ms: closing.gather_ms, total_ms: closing.total_ms },
            confidence: summary.confidence,
            costs: final_costs,
            reasons: reasons(state, closing),
            reader: Some(closing.reader),
            ..Self::votes_so_far(state, counted, result_url, shown)
        }
    }

    fn running(
        state: &PollState,
        queue_position: Option<u32>,
        result_url: Option<String>,
        age: Duration,
        audience: Audience,
    ) -> Self {
        let running = RunningPoll::new(state, queue_position, result_url.clone());
        let gather_ms = state.ballots.last().map_or(0, |ballot| ballot.at_ms.into());
        let tally = state.tally();
        let counted = VoteCounts {
            tally: tally.named(&state.record.plan.options),
            families: families(state),
            notices: notices(state, None, audience),
        };
        Self {
            status: running.status,
            timing: Timing { gather_ms, total_ms: age.as_millis() as u64 },
            confidence: running.confidence,
            scale: running.scale.clone(),
            progress: Some(Progress {
                leader: running.leader.clone(),
                answered: running.answered,
                roster_size: running.roster_size,
                queue_position,
                poll_after_ms: running.poll_after_ms,
            }),
            ..Self::votes_so_far(state, counted, result_url, ResultView::Interim(Box::new(running)))
        }
    }

    /// Builds the fields derived from the ballots, whether or not the poll has ended. Single votes are left
    /// out.
    fn votes_so_far(
        state: &PollState,
        counted: VoteCounts,
        result_url: Option<String>,
        shown: ResultView,
    ) -> Self {
        let plan = &state.record.plan;
        let VoteCounts { tally, families, notices } = counted;
        let ballots = state.ballots.len() as u32;
        // A running poll has skipped no model.
        let models = ModelCounts::new(ballots, ballots, tally.votes(), 0);
        Self {
            poll_id: state.record.id.clone(),
            status: Status::Running,
            outcome: None,
            question: Some(plan.question.to_string()),
            options: plan.options.clone(),
            poll_type: "fptp".into(),
            winning_option: None,
            scale: None,
            is_tie: false,
            contested: None,
            decision: None,
            no_answer: None,
            confidence_threshold: Some(plan.threshold.get()),
            max_cost_usd: (!plan.is_free()).then(|| Usd(plan.budget.amount())),
            early_terminated: false,
            termination_reason: None,
            tally,
            votes: Vec::new(),
            reasons: Vec::new(),
            models,
            timing: Timing { gather_ms: 0, total_ms: 0 },
            created_at: state.record.created_at,
            confidence: 0.0,
            families,
            preset: plan.preset.clone(),
            panel: None,
            reader: None,
            simulated: plan.simulated,
            notices,
            result_url,
            costs: None,
            progress: None,
            shown: Some(shown),
        }
    }
}

/// Returns the readers of a result. Only the owner can request costs, or read a private poll.
fn audience(state: &PollState, costs: bool) -> Audience {
    if costs || state.record.plan.private { Audience::Owner } else { Audience::Everybody }
}

#[cfg(test)]
mod tests {
    use ep_kernel::tool::Cache;
    use serde_json::json;

    use super::*;
    use crate::polls::PollQuestion;
    use crate::testing::Service;

    #[tokio::test]
    async fn results_are_public_and_immutable_and_private_ones_are_for_their_owner() {
        let service = Service::start().await;
        let (owner, other) = (service.user().await, service.user().await);
        for private in [false, true] {
            let request = json!({ "question": "Which of the two is better?", "options": ["Alpha", "Beta"], "private": private });
            let poll = service.call::<PollQuestion>(&owner, request).await.unwrap().value;
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
