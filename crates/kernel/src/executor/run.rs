//! Carries one poll through, from the first call to the decision.
//!
//! The loop is short: decide, launch what may be launched, wait for answers, record them, tally them,
//! decide again. Calls are launched strictly in dispatch order; the pace limits how many are in flight, and
//! the budget decides whether another call may start. A ballot is tallied only after it is recorded, so a
//! decision never depends on a ballot that a crash could lose.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::ports::{Abandon, Models, StoreError, Wanted};
use ep_polling::ballot::{Ballot, BallotViews, ModelAnswer, NoVote, Reason};
use ep_polling::money::{MicroUsd, Spend};
use ep_polling::plan::Plan;
use ep_polling::stopping::{Decision, Responses, Rule, TerminationReason, answers_needed, decide};

/// Where ballots are recorded before they count.
#[async_trait]
pub trait Recorder: Send + Sync {
    /// Keeps ballots, all or none. Once it returns, no crash of the process loses them.
    async fn record(&self, ballots: &[Ballot]) -> Result<(), StoreError>;
}

/// How a poll ended.
pub struct Finished {
    /// Why, and how sure.
    pub decision: Decision,
    /// Whether it was cancelled before any rule ended it.
    pub cancelled: bool,
    /// Every ballot, earlier ones included, in order.
    pub ballots: Vec<Ballot>,
    /// Members asked whose answers came too late to count.
    pub unused_calls: u32,
    /// Those of the unused calls that may still cost money.
    pub unfinished: Unfinished,
    /// From the first call to the last answer that counted.
    pub gather: Duration,
    /// Of that, the time during which at least one call was in flight.
    pub upstream: Duration,
}

/// Calls still in flight when the poll stopped.
pub struct Unfinished(FuturesUnordered<Call>);

impl Unfinished {
    /// Whether nothing is left to wait for.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What the rest is estimated to cost. Models without a listed price count as nothing.
    pub fn estimate(&self, plan: &Plan) -> MicroUsd {
        self.0.iter().map(|call| plan.charged(call.position, Spend::UNKNOWN).amount).sum()
    }

    /// Waits for the rest and adds up what they cost. Their answers are not votes.
    pub async fn drain(self, plan: &Plan) -> MicroUsd {
        self.0
            .map(|reply| charged(plan, reply.position, reply.answer.spend).amount)
            .fold(MicroUsd::ZERO, |sum, cost| async move { sum.plus(cost) })
            .await
    }
}

/// A call in flight.
struct Call {
    position: usize,
    reply: BoxFuture<'static, Reply>,
}

impl Future for Call {
    type Output = Reply;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Reply> {
        self.reply.poll_unpin(cx)
    }
}

struct Reply {
    position: usize,
    option_order: Vec<usize>,
    answer: ModelAnswer,
    launched: Instant,
    finished: Instant,
}

/// How long after the poll's deadline calls that have not answered are given up.
const GRACE: Duration = Duration::from_secs(2);

/// How long answers are gathered before they are recorded together.
const BURST: Duration = Duration::from_millis(2);

struct Run<'a> {
    plan: &'a Plan,
    views: BallotViews<'a>,
    ceiling: MicroUsd,
    models: &'a Arc<dyn Models>,
    rule: Arc<Rule>,
    responses: Responses,
    ballots: Vec<Ballot>,
    calls: FuturesUnordered<Call>,
    /// Members in flight, by position, with the most each can still cost.
    reserved: Vec<(usize, MicroUsd)>,
    spent: MicroUsd,
    started: Instant,
    deadline: Instant,
    first_launch: Option<Instant>,
    last_answer: Instant,
    busy: Vec<(Instant, Instant)>,
    /// Cancelled when the poll ends: what has not been asked by then is not.
    dropped: CancellationToken,
}

/// Runs a poll to its end. `prior` are the ballots it already has (after a crash); `deadline` is when it must
/// end; `ceiling` is the most it may spend in all; `cancel` ends it with what it has.
pub async fn run(
    plan: &Plan,
    prior: Vec<Ballot>,
    deadline: Instant,
    ceiling: MicroUsd,
    models: &Arc<dyn Models>,
    recorder: &dyn Recorder,
    cancel: &CancellationToken,
) -> Result<Finished, StoreError> {
    let now = Instant::now();
    let mut run = Run {
        plan,
        views: plan.ballot_views(),
        ceiling,
        models,
        rule: Rule::for_threshold(plan.threshold),
        responses: Responses::new(plan.options.len(), plan.roster.len()),
        ballots: Vec::with_capacity(plan.roster.len()),
        calls: FuturesUnordered::new(),
        reserved: Vec::new(),
        spent: MicroUsd::ZERO,
        started: now,
        deadline,
        first_launch: None,
        last_answer: now,
        busy: Vec::new(),
        dropped: CancellationToken::new(),
    };
    for ballot in prior {
        run.tally(ballot);
    }
    run.into_finished(recorder, cancel).await
}

impl Run<'_> {
    async fn into_finished(
        mut self,
        recorder: &dyn Recorder,
        cancel: &CancellationToken,
    ) -> Result<Finished, StoreError> {
        let mut arrived: Vec<Reply> = Vec::new();
        // Taken up again after a crash: whoever has answered already need not be asked.
        while self.responses.is_final(self.responses.launched()) {
            self.responses.launch();
        }
        loop {
            if let Some(decision) = self.decision(false) {
                return Ok(self.finish(decision, false, arrived));
            }
            if cancel.is_cancelled() {
                let decision = self.decision(true).unwrap_or_else(|| unreachable_end(&self.responses));
                return Ok(self.finish(decision, true, arrived));
            }
            if arrived.is_empty() {
                let unaffordable = self.launch();
                if unaffordable && self.calls.is_empty() {
                    let decision = self.decision(true).unwrap_or_else(|| unreachable_end(&self.responses));
                    return Ok(self.finish(decision, false, arrived));
                }
                tokio::select! {
                    () = self.wait(&mut arrived) => {}
                    () = cancel.cancelled() => {}
                }
            }
            let replies = std::mem::take(&mut arrived);
            let batch: Vec<Ballot> =
                replies.into_iter().enumerate().map(|(index, reply)| self.ballot(index, reply)).collect();
            self.record(recorder, &batch, &mut arrived).await?;
            for ballot in batch {
                self.tally(ballot);
            }
        }
    }

    /// Launches the calls that pace and budget allow. Returns whether the budget blocks the next call.
    fn launch(&mut self) -> bool {
        let unanswered = (self.responses.roster() - self.responses.completed()) as u32;
        // In the second half of its time, a poll keeps all remaining calls in flight.
        let hurried = Instant::now() >= self.half_time();
        let wanted = if hurried {
            unanswered
        } else {
            self.plan
                .pace
                .in_flight(answers_needed(&self.rule, self.responses.overall().evidence), unanswered)
        };
        while (self.calls.len() as u32) < wanted {
            let next = self.responses.launched();
            if next == self.responses.roster() {
                return false;
            }
            let answered = self.responses.is_final(next);
            let worst = self.plan.worst_case(next);
            let reserved: MicroUsd = self.reserved.iter().map(|(_, worst)| *worst).sum();
            if !answered && self.spent.plus(reserved).plus(worst) > self.ceiling {
                return true;
            }
            self.responses.launch();
            if !answered {
                self.reserved.push((next, worst));
                let call = self.call(next);
                self.calls.push(call);
            }
        }
        false
    }

    fn call(&mut self, position: usize) -> Call {
        let launched = Instant::now();
        self.first_launch.get_or_insert(launched);
        let view = self.views.at(position);
        let member = self.plan.roster[position].clone();
        let models = Arc::clone(self.models);
        let within = self.deadline.saturating_duration_since(launched);
        let wanted = Wanted { within, dropped: self.dropped.clone() };
        let reply = async move {
            let answer = models.vote(&member, &view, wanted).await;
            let finished = Instant::now();
            Reply { position, option_order: view.option_order(), answer, launched, finished }
        };
        Call { position, reply: reply.boxed() }
    }

    /// Waits for the next answer and takes all others that have arrived. Returns without an answer when it is
    /// time to launch more calls. After the deadline, calls without an answer become failures.
    async fn wait(&mut self, arrived: &mut Vec<Reply>) {
        let hurry = self.half_time();
        tokio::select! {
            biased;
            Some(reply) = self.calls.next() => arrived.push(reply),
            () = sleep_until(hurry), if Instant::now() < hurry => {}
            () = sleep_until(self.deadline + GRACE) => {
                self.calls.clear();
                let silent = NoVote::new(Reason::Deadline, "no answer before the poll's deadline");
                for &(position, _) in &self.reserved {
                    let now = Instant::now();
                    let answer = ModelAnswer {
                        vote: Err(silent.clone()),
                        casting: None,
                        spend: Spend::UNKNOWN,
                        answered_by: None,
                    };
                    let option_order = self.views.at(position).option_order();
                    arrived.push(Reply { position, option_order, answer, launched: self.started, finished: now });
                }
            }
        }
        // Answers come in bursts. Waiting a moment records a burst in one write instead of many.
        let burst = sleep_until(Instant::now() + BURST);
        tokio::pin!(burst);
        while !self.calls.is_empty() {
            tokio::select! {
                biased;
                Some(reply) = self.calls.next() => arrived.push(reply),
                () = &mut burst => break,
            }
        }
    }

    /// Records a batch while further answers come in.
    async fn record(
        &mut self,
        recorder: &dyn Recorder,
        batch: &[Ballot],
        arrived: &mut Vec<Reply>,
    ) -> Result<(), StoreError> {
        let mut recording = recorder.record(batch);
        loop {
            tokio::select! {
                biased;
                done = &mut recording => return done,
                Some(reply) = self.calls.next() => arrived.push(reply),
            }
        }
    }

    fn ballot(&mut self, index: usize, reply: Reply) -> Ballot {
        let Reply { position, option_order, answer, launched, finished } = reply;
        self.last_answer = self.last_answer.max(finished);
        self.busy.push((launched, finished));
        Ballot {
            seq: (self.ballots.len() + index + 1) as u32,
            position: position as u32,
            model: self.plan.roster[position].model.clone(),
            vote: answer.vote,
            casting: answer.casting,
            option_order,
            latency_ms: (finished - launched).as_millis() as u32,
            at_ms: (finished - self.started).as_millis() as u32,
            spend: charged(self.plan, position, answer.spend),
            answered_by: answer.answered_by,
        }
    }

    fn tally(&mut self, ballot: Ballot) {
        let position = ballot.position as usize;
        self.responses.record(position, ballot.answer());
        self.reserved.retain(|(reserved, _)| *reserved != position);
        self.spent = self.spent.plus(ballot.spend.amount);
        self.ballots.push(ballot);
    }

    /// Whether the poll ends now, and why. If answers arrived out of order, the confidence may be about another
    /// option than the leader of the tally. That does not end a poll, because the outcome shown is the tally's.
    fn decision(&self, out_of_budget: bool) -> Option<Decision> {
        let mut decision = decide(&self.responses, &self.rule, out_of_budget)?;
        let about_another = decision.differs_from_tally();
        match decision.reason {
            TerminationReason::Confidence if about_another && !out_of_budget => return None,
            TerminationReason::RosterExhausted if about_another => {
                (decision.option, decision.p) = (decision.standing.leader, 1.0);
            }
            TerminationReason::Confidence | TerminationReason::Budget if about_another => {
                decision.reason = TerminationReason::Budget;
                (decision.option, decision.p) = (decision.standing.leader, 1.0);
            }
            _ => {}
        }
        Some(decision)
    }

    /// Answers that have not been tallied by now are not part of the poll, neither as votes nor as failures.
    fn finish(self, decision: Decision, cancelled: bool, too_late: Vec<Reply>) -> Finished {
        self.dropped.cancel();
        let unused_calls = (self.calls.len() + too_late.len()) as u32;
        let drains = |call: &Call| self.models.abandon(&self.plan.roster[call.position]) == Abandon::Drain;
        let unfinished: FuturesUnordered<Call> = self.calls.into_iter().filter(drains).collect();
        for reply in too_late {
            unfinished.push(Call { position: reply.position, reply: std::future::ready(reply).boxed() });
        }
        Finished {
            decision,
            cancelled,
            gather: self
                .first_launch
                .map(|first| self.last_answer.saturating_duration_since(first))
                .unwrap_or_default(),
            upstream: covered(self.busy),
            ballots: self.ballots,
            unused_calls,
            unfinished: Unfinished(unfinished),
        }
    }

    fn half_time(&self) -> Instant {
        self.started + self.deadline.saturating_duration_since(self.started) / 2
    }
}

/// What is charged for an answer. An upstream that claims more than its listed prices allow is reported to the
/// operator, who pays the difference.
fn charged(plan: &Plan, position: usize, spend: Spend) -> Spend {
    let charged = plan.charged(position, spend);
    if charged.amount < spend.amount {
        metrics::counter!("ep_overcharged_calls_total").increment(1);
        let model = plan.roster[position].model.as_str();
        tracing::error!(
            model,
            claimed = %spend.amount,
            charged = %charged.amount,
            "a model claims to have cost more than its listed price allows; the caller is charged no more than that"
        );
    }
    charged
}

/// A fallback that should never be needed: [`decide`] returns a decision whenever the budget is spent.
fn unreachable_end(responses: &Responses) -> Decision {
    Decision { reason: TerminationReason::Budget, option: None, p: 1.0, standing: responses.overall() }
}

/// The time that these intervals cover together.
fn covered(mut intervals: Vec<(Instant, Instant)>) -> Duration {
    intervals.sort_unstable();
    let mut total = Duration::ZERO;
    let mut until = None;
    for (from, to) in intervals {
        let from = until.map_or(from, |until: Instant| until.max(from));
        total += to.saturating_duration_since(from);
        until = Some(until.map_or(to, |until: Instant| until.max(to)));
    }
    total
}
