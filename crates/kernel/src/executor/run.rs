//! Runs one poll, from the first call to the decision.
//!
//! The loop is short: decide, launch what may be launched, wait for answers, record them, tally them,
//! decide again. Calls are launched strictly in dispatch order; the pace limits how many are in flight, and
//! the budget decides whether another call may start. A ballot is tallied only after it is recorded, so a
//! decision never depends on a ballot that a crash could lose.
//!
//! An interruption by the database or by a lease that ended loses no call: a [`Run`] keeps its calls in flight and
//! the answers that are not recorded, and goes on from the recorded ballots.

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

use crate::ports::{Abandon, Models, StoreError, Wanted};
use ep_polling::ballot::{Ballot, BallotViews, ModelAnswer, NoVote, Reason};
use ep_polling::money::{MicroUsd, Spend};
use ep_polling::plan::Plan;
use ep_polling::stopping::{Decision, Responses, Rule, TerminationReason, answers_needed, decide};

/// Where ballots are recorded before they count.
#[async_trait]
pub trait Recorder: Send + Sync {
    /// Stores ballots, all or none. Once it returns, no crash of the process loses them.
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
    /// From the first call to the last answer that counted.
    pub gather: Duration,
    /// Of that, the time during which at least one call was in flight.
    pub upstream: Duration,
}

/// A call in flight.
struct Call {
    position: usize,
    /// The most it can still cost.
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
    option_order: Vec<usize>,
    answer: ModelAnswer,
    launched: Instant,
    finished: Instant,
}

/// How long after the poll's deadline calls that have not answered are given up.
const GRACE: Duration = Duration::from_secs(2);

/// A delay of a timer that only a paused process can have.
const LATE: Duration = Duration::from_millis(500);

/// How long answers are gathered before they are recorded together.
const BURST: Duration = Duration::from_millis(2);

/// A poll that this process runs, through every interruption.
pub struct Run<'a> {
    plan: &'a Plan,
    views: BallotViews<'a>,
    ceiling: MicroUsd,
    models: &'a Arc<dyn Models>,
    rule: Arc<Rule>,
    responses: Responses,
    /// The recorded ballots, in order.
    ballots: Vec<Ballot>,
    /// Ballots that are not known to be recorded.
    unrecorded: Vec<Ballot>,
    /// Answers that have arrived and are not ballots yet.
    arrived: Vec<Reply>,
    calls: FuturesUnordered<Call>,
    spent: MicroUsd,
    started: Instant,
    deadline: Instant,
    first_launch: Option<Instant>,
    last_answer: Instant,
    busy: Vec<(Instant, Instant)>,
    /// Cancelled when the poll ends: no further model is asked.
    dropped: CancellationToken,
    /// Members asked whose answers came too late to count, once the poll has ended.
    unused_calls: Option<u32>,
}

impl<'a> Run<'a> {
    /// A run without calls. `ceiling` is the most it may spend in all.
    pub fn new(plan: &'a Plan, ceiling: MicroUsd, models: &'a Arc<dyn Models>) -> Self {
        let now = Instant::now();
        Self {
            plan,
            views: plan.ballot_views(),
            ceiling,
            models,
            rule: Rule::for_threshold(plan.threshold),
            responses: Responses::new(plan.options.len(), plan.roster.len()),
            ballots: Vec::with_capacity(plan.roster.len()),
            unrecorded: Vec::new(),
            arrived: Vec::new(),
            calls: FuturesUnordered::new(),
            spent: MicroUsd::ZERO,
            started: now,
            deadline: now,
            first_launch: None,
            last_answer: now,
            busy: Vec::new(),
            dropped: CancellationToken::new(),
            unused_calls: None,
        }
    }

    /// Runs the poll to its end, from the ballots that are recorded. `deadline` is when it must end; `cancel` ends it
    /// with what it has. After an error, or when this future is dropped, it can be called again with the ballots that
    /// are recorded then: no member with a ballot or a call in flight is asked again.
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
            (self.started, self.last_answer) = (now, now);
        }
        if now >= deadline && !self.has_finished() {
            self.gather_late().await;
        }
        self.resume(recorded);
        loop {
            self.record(recorder).await?;
            if let Some(decision) = self.decision(false) {
                return Ok(self.finish(decision, false));
            }
            if cancel.is_cancelled() {
                let decision = self.decision(true).unwrap_or_else(|| unreachable_end(&self.responses));
                return Ok(self.finish(decision, true));
            }
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

    /// Starts over from the recorded ballots, with the calls and answers of before.
    fn resume(&mut self, recorded: Vec<Ballot>) {
        let known: HashSet<usize> = recorded.iter().map(|ballot| ballot.position as usize).collect();
        self.responses = Responses::new(self.plan.options.len(), self.plan.roster.len());
        self.spent = MicroUsd::ZERO;
        self.ballots.clear();
        for ballot in recorded {
            self.tally(ballot);
        }
        // Another process can have asked the same members meanwhile.
        self.arrived.retain(|reply| !known.contains(&reply.position));
        self.unrecorded.retain(|ballot| !known.contains(&(ballot.position as usize)));
        self.calls = std::mem::take(&mut self.calls)
            .into_iter()
            .filter(|call| !known.contains(&call.position))
            .collect();
        for (index, ballot) in self.unrecorded.iter_mut().enumerate() {
            ballot.seq = (self.ballots.len() + index + 1) as u32;
        }
        // Answers that arrive after the end of the poll are no ballots.
        if !self.dropped.is_cancelled() {
            self.note_arrived();
        }
        while self.is_asked(self.responses.launched()) {
            self.responses.launch();
        }
    }

    /// Returns `true` if this member has answered or its call is in flight.
    fn is_asked(&self, position: usize) -> bool {
        self.responses.is_final(position)
            || self.calls.iter().any(|call| call.position == position)
            || self.unrecorded.iter().any(|ballot| ballot.position as usize == position)
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
        let mut reserved: MicroUsd = self.calls.iter().map(|call| call.worst).sum();
        while (self.calls.len() as u32) < wanted {
            let next = self.responses.launched();
            if next == self.responses.roster() {
                return false;
            }
            let asked = self.is_asked(next);
            let worst = self.plan.worst_case(next);
            if !asked && self.spent.plus(reserved).plus(worst) > self.ceiling {
                return true;
            }
            self.responses.launch();
            if !asked {
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
        let wanted = Wanted { within, dropped: self.dropped.clone() };
        let reply = async move {
            let answer = models.vote(&member, &view, wanted).await;
            let finished = Instant::now();
            Reply { position, option_order: view.option_order(), answer, launched, finished }
        };
        Call { position, worst, reply: reply.boxed() }
    }

    /// Waits for the next answer and takes all others that have arrived. Returns without an answer when it is
    /// time to launch more calls. After the deadline, calls without an answer become failures.
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
        // Answers come in bursts. Waiting a moment records a burst in one write instead of many.
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

    /// Takes answers until no call is in flight. Dropping this future loses none.
    pub async fn gather(&mut self) {
        while let Some(reply) = self.calls.next().await {
            self.arrived.push(reply);
        }
    }

    /// After a pause of the process beyond the deadline, takes the answers that wait to be read.
    async fn gather_late(&mut self) {
        // What has not arrived by then is given up.
        let _ = timeout(GRACE, self.gather()).await;
    }

    /// Turns the calls in flight into failures.
    fn give_up(&mut self) {
        let finished = Instant::now();
        let silent = NoVote::new(Reason::Deadline, "no answer before the poll's deadline");
        for Call { position, .. } in std::mem::take(&mut self.calls) {
            let answer = ModelAnswer {
                vote: Err(silent.clone()),
                casting: None,
                spend: Spend::UNKNOWN,
                answered_by: None,
            };
            let option_order = self.views.at(position).option_order();
            self.arrived.push(Reply { position, option_order, answer, launched: self.started, finished });
        }
    }

    /// Records the ballots that are not recorded, while further answers come in, and tallies them.
    async fn record(&mut self, recorder: &dyn Recorder) -> Result<(), StoreError> {
        if self.unrecorded.is_empty() {
            return Ok(());
        }
        let Self { unrecorded, calls, arrived, .. } = self;
        let mut recording = recorder.record(unrecorded);
        loop {
            tokio::select! {
                biased;
                done = &mut recording => break done?,
                Some(reply) = calls.next() => arrived.push(reply),
            }
        }
        drop(recording);
        for ballot in std::mem::take(&mut self.unrecorded) {
            self.tally(ballot);
        }
        Ok(())
    }

    /// Turns the answers that have arrived into ballots.
    fn note_arrived(&mut self) {
        for reply in std::mem::take(&mut self.arrived) {
            let ballot = self.ballot(reply);
            self.unrecorded.push(ballot);
        }
    }

    fn ballot(&mut self, reply: Reply) -> Ballot {
        let Reply { position, option_order, answer, launched, finished } = reply;
        self.last_answer = self.last_answer.max(finished);
        self.busy.push((launched, finished));
        Ballot {
            seq: (self.ballots.len() + self.unrecorded.len() + 1) as u32,
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
        self.responses.record(ballot.position as usize, ballot.answer());
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

    /// Ends the poll. Answers that have not been tallied by now are not part of it, neither as votes nor as failures.
    fn finish(&mut self, decision: Decision, cancelled: bool) -> Finished {
        self.dropped.cancel();
        let unused = (self.calls.len() + self.arrived.len()) as u32;
        let drains = |call: &Call| self.models.abandon(&self.plan.roster[call.position]) == Abandon::Drain;
        self.calls = std::mem::take(&mut self.calls).into_iter().filter(drains).collect();
        Finished {
            decision,
            cancelled,
            gather: self
                .first_launch
                .map(|first| self.last_answer.saturating_duration_since(first))
                .unwrap_or_default(),
            upstream: covered(self.busy.clone()),
            ballots: std::mem::take(&mut self.ballots),
            // A close that failed is tried again, without the calls that were cancelled at the first attempt.
            unused_calls: *self.unused_calls.get_or_insert(unused),
        }
    }

    /// Returns `true` once the poll has ended by a decision of this run.
    pub const fn has_finished(&self) -> bool {
        self.unused_calls.is_some()
    }

    /// Returns `true` if nothing is left to wait for after the end.
    pub fn is_drained(&self) -> bool {
        self.calls.is_empty() && self.arrived.is_empty()
    }

    /// An estimate of what the unused calls cost. Models without a listed price count as nothing.
    pub fn estimate(&self) -> MicroUsd {
        let positions = self.calls.iter().map(|call| call.position);
        let positions = positions.chain(self.arrived.iter().map(|reply| reply.position));
        positions.map(|position| self.plan.charged(position, Spend::UNKNOWN).amount).sum()
    }

    /// Waits for the unused calls and returns what they cost together. Their answers are not votes.
    pub async fn drain(&mut self) -> MicroUsd {
        self.gather().await;
        self.arrived.iter().map(|reply| charged(self.plan, reply.position, reply.answer.spend).amount).sum()
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
