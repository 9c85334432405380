//! Runs one poll, from the first call to the decision.
//!
//! The loop decides, records the new ballots, launches calls, waits for responses and decides again. Calls are
//! launched strictly in dispatch order. The pace limits the calls in flight, and the budget decides whether
//! another call may start. The last ballots are recorded together with the decision that depends on them.
//!
//! An interruption by the database or by the end of a lease loses no call. A [`Run`] keeps its calls in
//! flight and its unrecorded responses, and continues from the recorded ballots.

use std::collections::HashSet;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::ports::{AbandonPolicy, CallLimits, Models, Turn};
use ep_polling::stopping::decide;
use ep_polling::{
    Ballot, BallotViews, Decision, MicroUsd, ModelResponse, NoVote, Plan, Reason, Responses, Rule, Spend,
    TerminationReason,
};
use ep_store::StoreError;

/// Records the ballots of a running poll.
#[async_trait]
pub trait Recorder: Send + Sync {
    /// Stores ballots, all or none. Once it returns, a crash of the process cannot lose them.
    async fn record(&self, ballots: &[Ballot]) -> Result<(), StoreError>;
}

/// The end of a poll.
pub struct Finished {
    /// The decision and its confidence.
    pub decision: Decision,
    /// True if the poll was cancelled before a rule ended it.
    pub cancelled: bool,
    /// Every ballot, including earlier ones, in order.
    pub ballots: Vec<Ballot>,
    /// The number of ballots known to be recorded. The others must be recorded with the end of the poll.
    pub recorded: usize,
    /// Number of models called with responses too late to count.
    pub unused_calls: u32,
    /// Time from the first call to the last counted response.
    pub gather: Duration,
    /// The part of it with at least one call in flight.
    pub upstream: Duration,
}

/// A call in flight.
struct Call {
    position: usize,
    /// Maximum remaining cost.
    worst: MicroUsd,
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
    response: ModelResponse,
    launched: Instant,
    finished: Instant,
}

/// Time after the poll's deadline until calls without a response fail.
const GRACE: Duration = Duration::from_secs(2);

/// A timer delay that only a paused process can have.
const LATE: Duration = Duration::from_millis(500);

/// Time for which responses are collected before they are recorded together.
const BURST: Duration = Duration::from_millis(2);

/// A poll that this process runs, across all interruptions.
pub struct Run<'a> {
    plan: &'a Plan,
    views: BallotViews<'a>,
    ceiling: MicroUsd,
    models: &'a Arc<dyn Models>,
    /// The turn of its calls.
    turn: Turn,
    rule: Arc<Rule>,
    responses: Responses,
    /// The tallied ballots, in order.
    ballots: Vec<Ballot>,
    /// The number of ballots known to be recorded: the first ones.
    recorded: usize,
    /// Responses that are not ballots yet.
    arrived: Vec<Reply>,
    calls: FuturesUnordered<Call>,
    spent: MicroUsd,
    started: Instant,
    deadline: Instant,
    first_launch: Option<Instant>,
    last_response: Instant,
    busy: Vec<(Instant, Instant)>,
    /// Cancelled when the poll ends, so that no further model is called.
    dropped: CancellationToken,
    /// Number of models called with responses too late to count, once the poll has ended.
    unused_calls: Option<u32>,
}

impl<'a> Run<'a> {
    /// Creates a run without calls. `ceiling` is the most it may spend.
    pub fn new(plan: &'a Plan, ceiling: MicroUsd, models: &'a Arc<dyn Models>, turn: Turn) -> Self {
        let now = Instant::now();
        Self {
            plan,
            views: plan.ballot_views(),
            ceiling,
            models,
            turn,
            rule: Rule::for_threshold(plan.threshold),
            responses: plan.responses(),
            ballots: Vec::with_capacity(plan.roster.len()),
            recorded: 0,
            arrived: Vec::new(),
            calls: FuturesUnordered::new(),
            spent: MicroUsd::ZERO,
            started: now,
            deadline: now,
            first_launch: None,
            last_response: now,
            busy: Vec::new(),
            dropped: CancellationToken::new(),
            unused_calls: None,
        }
    }

    /// Runs the poll to its end, from the recorded ballots. It ends at `deadline` at the latest; `cancel`
    /// ends it with the votes so far. After an error, or when this future is dropped, it can be called again
    /// with the ballots recorded by then. Members with a ballot or a call in flight are not called again.
    pub async fn to_end(
        &mut self,
        recorded: Vec<Ballot>,
        deadline: Instant,
        recorder: &dyn Recorder,
        cancel: &CancellationToken,
    ) -> Result<Finished, StoreError> {
        let now = Instant::now();
        self.deadline = deadline;
        if self.first_launch.is_none() {
            (self.started, self.last_response) = (now, now);
        }
        if now >= deadline && !self.has_finished() {
            self.gather_late().await;
        }
        self.resume(recorded);
        loop {
            if let Some(decision) = self.decision(false) {
                return Ok(self.finish(decision, false));
            }
            // A poll that has ended stays ended if its close must be repeated.
            if cancel.is_cancelled() || self.has_finished() {
                let decision = self.decision(true).unwrap_or_else(|| unreachable_end(&self.responses));
                return Ok(self.finish(decision, cancel.is_cancelled()));
            }
            self.record(recorder).await?;
            if self.arrived.is_empty() {
                let unaffordable = self.launch();
                if unaffordable && self.calls.is_empty() {
                    let decision = self.decision(true).unwrap_or_else(|| unreachable_end(&self.responses));
                    return Ok(self.finish(decision, false));
                }
                tokio::select! {
                    () = self.wait() => {}
                    () = cancel.cancelled() => {}
                }
            }
            self.note_arrived();
        }
    }

    /// Restarts from the recorded ballots, with the calls and responses so far.
    fn resume(&mut self, recorded: Vec<Ballot>) {
        let known: HashSet<usize> = recorded.iter().map(|ballot| ballot.position as usize).collect();
        let is_new = |position: usize| !known.contains(&position);
        self.responses = self.plan.responses();
        self.spent = MicroUsd::ZERO;
        let earlier = std::mem::take(&mut self.ballots);
        self.recorded = recorded.len();
        for ballot in recorded {
            self.tally(ballot);
        }
        // Another process may have called the same members meanwhile.
        for ballot in earlier.into_iter().filter(|ballot| is_new(ballot.position as usize)) {
            let seq = self.next_seq();
            self.tally(Ballot { seq, ..ballot });
        }
        self.arrived.retain(|reply| is_new(reply.position));
        self.calls =
            std::mem::take(&mut self.calls).into_iter().filter(|call| is_new(call.position)).collect();
        // Responses after the end of the poll do not become ballots.
        if !self.dropped.is_cancelled() {
            self.note_arrived();
        }
        while self.is_called(self.responses.launched()) {
            self.responses.launch();
        }
    }

    /// Returns `true` if this member has responded or its call is in flight.
    fn is_called(&self, position: usize) -> bool {
        self.responses.is_final(position) || self.calls.iter().any(|call| call.position == position)
    }

    /// Launches the calls that pace and budget allow. Returns `true` if the budget blocks the next call.
    fn launch(&mut self) -> bool {
        let open_responses = (self.responses.roster() - self.responses.completed()) as u32;
        // In the second half of its time, a poll keeps all remaining calls in flight.
        let hurried = Instant::now() >= self.half_time();
        let in_flight = if hurried || self.plan.complete {
            open_responses
        } else {
            self.plan.pace.in_flight(self.responses.responses_needed(&self.rule), open_responses)
        };
        let mut reserved = self.worst_case();
        while (self.calls.len() as u32) < in_flight {
            let next = self.responses.launched();
            if next == self.responses.roster() {
                return false;
            }
            let called = self.is_called(next);
            let worst = self.plan.worst_case(next);
            if !called && self.spent.plus(reserved).plus(worst) > self.ceiling {
                return true;
            }
            self.responses.launch();
            if !called {
                reserved = reserved.plus(worst);
                let call = self.call(next, worst);
                self.calls.push(call);
            }
        }
        false
    }

    fn call(&mut self, position: usize, worst: MicroUsd) -> Call {
        let launched = Instant::now();
        self.first_launch.get_or_insert(launched);
        let view = self.views.at(position);
        let member = self.plan.roster[position].clone();
        let models = Arc::clone(self.models);
        let within = self.deadline.saturating_duration_since(launched);
        let limits = CallLimits { within, dropped: self.dropped.clone(), turn: self.turn };
        let reply = async move {
            let response = models.vote(&member, &view, limits).await;
            let finished = Instant::now();
            Reply { position, response, launched, finished }
        };
        Call { position, worst, reply: reply.boxed() }
    }

    /// Waits for the next response and takes all others that have arrived. Returns without a response when it
    /// is time to launch more calls. After the deadline, calls without a response become failures.
    async fn wait(&mut self) {
        let (hurry, end) = (self.half_time(), self.deadline + GRACE);
        tokio::select! {
            biased;
            Some(reply) = self.calls.next() => self.arrived.push(reply),
            () = sleep_until(hurry), if Instant::now() < hurry => {}
            () = sleep_until(end) => {
                if end.elapsed() > LATE {
                    self.gather_late().await;
                }
                self.give_up();
            }
        }
        // Responses come in bursts. A short wait records a burst in one write.
        let burst = sleep_until(Instant::now() + BURST);
        tokio::pin!(burst);
        while !self.calls.is_empty() {
            tokio::select! {
                biased;
                Some(reply) = self.calls.next() => self.arrived.push(reply),
                () = &mut burst => break,
            }
        }
    }

    /// Takes responses until no call is in flight. Dropping this future loses none.
    pub async fn gather(&mut self) {
        while let Some(reply) = self.calls.next().await {
            self.arrived.push(reply);
        }
    }

    /// Takes the responses that are ready to be read after a pause of the process beyond the deadline.
    async fn gather_late(&mut self) {
        // Calls without a response by then fail.
        let _ = timeout(GRACE, self.gather()).await;
    }

    /// Turns the calls in flight into failures.
    fn give_up(&mut self) {
        let finished = Instant::now();
        let silent = NoVote::new(Reason::Deadline, "no answer before the poll's deadline");
        for Call { position, .. } in std::mem::take(&mut self.calls) {
            let response = ModelResponse::new(Err(silent.clone()), Spend::UNKNOWN);
            self.arrived.push(Reply { position, response, launched: self.started, finished });
        }
    }

    /// Records the new ballots, while further responses arrive.
    async fn record(&mut self, recorder: &dyn Recorder) -> Result<(), StoreError> {
        let Self { ballots, recorded, calls, arrived, .. } = self;
        let unrecorded = &ballots[*recorded..];
        if unrecorded.is_empty() {
            return Ok(());
        }
        let mut recording = recorder.record(unrecorded);
        loop {
            tokio::select! {
                biased;
                done = &mut recording => break done?,
                Some(reply) = calls.next() => arrived.push(reply),
            }
        }
        *recorded = ballots.len();
        Ok(())
    }

    /// Turns the responses that have arrived into ballots and tallies them.
    fn note_arrived(&mut self) {
        for reply in std::mem::take(&mut self.arrived) {
            let ballot = self.ballot(reply);
            self.tally(ballot);
        }
    }

    fn next_seq(&self) -> u32 {
        self.ballots.len() as u32 + 1
    }

    fn ballot(&mut self, reply: Reply) -> Ballot {
        let Reply { position, response, launched, finished } = reply;
        self.last_response = self.last_response.max(finished);
        self.busy.push((launched, finished));
        Ballot {
            seq: self.next_seq(),
            position: position as u32,
            vote: response.vote,
            probabilities: response.probabilities,
            casting: response.casting,
            latency_ms: (finished - launched).as_millis() as u32,
            at_ms: (finished - self.started).as_millis() as u32,
            spend: charged(self.plan, position, response.spend),
            tokens: response.tokens,
            answered_by: response.answered_by,
        }
    }

    fn tally(&mut self, ballot: Ballot) {
        self.responses.record(ballot.position as usize, self.plan.response(&ballot));
        self.spent = self.spent.plus(ballot.spend.amount);
        self.ballots.push(ballot);
    }

    /// Returns the decision, if the poll ends now. If responses arrived out of order, the confidence may be
    /// about another option than the leader of the tally. That does not end a poll, because the outcome shown
    /// is the tally's.
    fn decision(&self, out_of_budget: bool) -> Option<Decision> {
        if self.plan.complete && !out_of_budget && !self.responses.is_exhausted() {
            return None;
        }
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

    /// Ends the poll. Responses not tallied by now do not count, neither as votes nor as failures.
    fn finish(&mut self, decision: Decision, cancelled: bool) -> Finished {
        self.dropped.cancel();
        // Members before one with a ballot were asked, too, perhaps by a process that was interrupted.
        let last = self.ballots.iter().map(|ballot| ballot.position as usize + 1).max().unwrap_or(0);
        let asked = self.responses.launched().max(last);
        let unused = asked.saturating_sub(self.ballots.len()) as u32;
        let drains =
            |call: &Call| self.models.abandon(&self.plan.roster[call.position]) == AbandonPolicy::Drain;
        self.calls = std::mem::take(&mut self.calls).into_iter().filter(drains).collect();
        Finished {
            decision,
            cancelled,
            gather: self
                .first_launch
                .map(|first| self.last_response.saturating_duration_since(first))
                .unwrap_or_default(),
            upstream: covered(self.busy.clone()),
            // Another attempt to close the poll needs them, too.
            ballots: self.ballots.clone(),
            recorded: self.recorded,
            // A failed close is retried without the calls cancelled at the first attempt.
            unused_calls: *self.unused_calls.get_or_insert(unused),
        }
    }

    /// Returns `true` once the poll has ended by a decision of this run.
    pub const fn has_finished(&self) -> bool {
        self.unused_calls.is_some()
    }

    /// Returns `true` if no unused call is left to wait for.
    pub fn is_drained(&self) -> bool {
        self.calls.is_empty() && self.arrived.is_empty()
    }

    /// Returns the most that calls in flight, and responses that are not ballots, can cost.
    pub fn worst_case(&self) -> MicroUsd {
        let calls = self.calls.iter().map(|call| call.worst);
        calls.chain(self.arrived.iter().map(|reply| self.plan.worst_case(reply.position))).sum()
    }

    /// Returns an estimate of the cost of the unused calls. Models without a listed price count as free.
    pub fn estimate(&self) -> MicroUsd {
        let positions = self.calls.iter().map(|call| call.position);
        let positions = positions.chain(self.arrived.iter().map(|reply| reply.position));
        positions.map(|position| self.plan.charged(position, Spend::UNKNOWN).amount).sum()
    }

    /// Waits for the unused calls and returns their total cost. Their responses are not votes.
    pub async fn drain(&mut self) -> MicroUsd {
        self.gather().await;
        self.arrived.iter().map(|reply| charged(self.plan, reply.position, reply.response.spend).amount).sum()
    }

    fn half_time(&self) -> Instant {
        self.started + self.deadline.saturating_duration_since(self.started) / 2
    }
}

/// Returns the charge for a response. If an upstream claims more than its listed prices allow, the operator
/// pays the difference and the claim is logged.
pub(super) fn charged(plan: &Plan, position: usize, spend: Spend) -> Spend {
    let charged = plan.charged(position, spend);
    if charged.amount < spend.amount {
        metrics::counter!("ep_overcharged_calls_total").increment(1);
        let model = plan.roster[position].model.as_str();
        tracing::error!(
            model,
            claimed = %spend.amount,
            charged = %charged.amount,
            "a model claims a higher cost than its listed price allows; the caller is charged at the listed price"
        );
    }
    charged
}

/// Returns a fallback that is never needed: [`decide`] returns a decision whenever the budget is spent.
fn unreachable_end(responses: &Responses) -> Decision {
    Decision { reason: TerminationReason::Budget, option: None, p: 1.0, standing: responses.overall() }
}

/// Returns the time covered by the union of these intervals.
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
