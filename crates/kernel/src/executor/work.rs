//! The work on one poll: wait for a slot, run it, close it, wait for unused calls, settle it.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::Inner;
use super::failures::{INTERRUPTED, LEASE_ENDED, NOT_RELOADED};
use super::lease::HeldLease;
use super::live::{PollState, Running, publish, publish_end};
use super::slots::{Reservation, RunSlot};
use crate::executor::run::{Finished, Recorder, Run};
use crate::ports::Turn;
use ep_polling::ballot::READER;
use ep_polling::{
    Ballot, Explanation, MicroUsd, ModelCounts, Plan, Settlement, Spend, TerminationReason, Timestamp,
};
use ep_store::{Change, Closing, Epoch, PollRecord, StoreError};

/// Delay before a retry after a failure of the database.
pub(super) const RETRY_AFTER: Duration = Duration::from_secs(2);

/// A poll to run.
pub(super) struct Job {
    pub(super) record: PollRecord,
    /// The ballots recorded so far.
    pub(super) prior: Vec<Ballot>,
    pub(super) lease: HeldLease,
    pub(super) reservation: Reservation,
    /// The deadline; `None` if its time starts with its slot.
    pub(super) deadline: Option<Instant>,
    /// True if the end of the poll is known to have a notification.
    pub(super) notifies: bool,
    /// True if the poll was cancelled: it closes with its ballots so far.
    pub(super) cancelled: bool,
    /// True for a row of a batch that this process opened.
    pub(super) of_batch: bool,
}

/// Starts or resumes a poll in the background. It can be watched immediately.
pub(super) fn begin(inner: Arc<Inner>, job: Job) {
    let Job { record, prior, lease, reservation, deadline, notifies, cancelled, of_batch } = job;
    let span = tracing::info_span!("poll", poll = %record.id, roster = record.plan.roster.len());
    let record = Arc::new(record);
    let ballots = prior.iter().cloned().map(Arc::new).collect();
    let state = PollState { record: Arc::clone(&record), ballots };
    let (publisher, running) = inner.running.add(state, lease, reservation.ticket());
    if cancelled {
        running.cancel.cancel();
    }
    let turn = Turn { account: record.owner, of_batch };
    let tasks = inner.tasks.clone();
    tasks.spawn(
        async move {
            let work = Work {
                inner: &inner,
                record: &record,
                running: &running,
                publisher: &publisher,
                notifies,
                turn,
            };
            // After a stop of the service, the next process resumes the poll from its ballots.
            work.until_closed(prior, reservation, deadline).await;
            inner.running.remove(&record.id, &running.lease);
        }
        .instrument(span),
    );
}

/// The context of the work on one poll.
pub(super) struct Work<'a> {
    pub(super) inner: &'a Inner,
    pub(super) record: &'a PollRecord,
    pub(super) running: &'a Running,
    pub(super) publisher: &'a watch::Sender<PollState>,
    /// True if the end of the poll is known to have a notification.
    notifies: bool,
    /// The turn of its calls.
    pub(super) turn: Turn,
}

/// The reason for an interruption of the work on a poll.
enum Interruption {
    /// The database failed or rejected a write.
    Store(StoreError),
    /// The lease was not renewed in time, or another process took it.
    LeaseEnded,
    /// The service is stopping, and the poll has not started.
    Stopping,
}

impl From<StoreError> for Interruption {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// The next step of the work on a poll.
enum Stage {
    /// Run the poll from these recorded ballots.
    Running(Vec<Ballot>),
    /// Settle the closed poll; its ballots and explanations have this cost.
    Closed(MicroUsd),
}

/// The state of a poll after an interruption.
enum Stored {
    /// Leased by this process, which continues with this stage.
    Ours(Stage),
    /// No work is left.
    Ended,
    /// Running in another process.
    Elsewhere,
}

#[async_trait]
impl Recorder for Work<'_> {
    async fn record(&self, ballots: &[Ballot]) -> Result<(), StoreError> {
        self.inner.polls.record(&self.record.id, self.lease().epoch(), ballots).await?;
        publish(self.publisher, ballots);
        self.inner.changed(&self.record.id, Change::Ballots);
        Ok(())
    }
}

impl Work<'_> {
    pub(super) fn lease(&self) -> &HeldLease {
        &self.running.lease
    }

    /// Runs a poll to its end, across failures of the database: calls in flight, recorded ballots and the
    /// deadline survive. While the lease has ended, no model is called and nothing is recorded, because
    /// another process may run the poll.
    async fn until_closed(
        &self,
        prior: Vec<Ballot>,
        reservation: Reservation,
        mut deadline: Option<Instant>,
    ) {
        let plan = &self.record.plan;
        let lost = self.lost_calls(&prior, deadline.is_some());
        let mut run = Run::new(plan, self.ceiling(lost), &self.inner.models, self.turn);
        let (mut reservation, mut slot, mut stage) = (Some(reservation), None, Stage::Running(prior));
        let mut lease_ended: Option<Instant> = None;
        let mut explanations = None;
        loop {
            let attempt = async {
                let spent = match stage {
                    Stage::Running(recorded) => {
                        if slot.is_none() {
                            let again = || self.inner.slots.take_again(self.record.owner);
                            slot = self.turn(reservation.take().unwrap_or_else(again), deadline).await?;
                        }
                        let deadline = match deadline {
                            Some(deadline) => deadline,
                            None => *deadline.insert(self.start().await?),
                        };
                        self.close(&mut run, recorded, deadline, lost, &mut explanations).await?
                    }
                    Stage::Closed(spent) => Some(spent),
                };
                if let Some(spent) = spent {
                    self.settle(&mut run, spent, lost).await?;
                }
                Ok(())
            };
            let done = tokio::select! {
                biased;
                () = self.lease().ended() => Err(Interruption::LeaseEnded),
                done = attempt => done,
            };
            let mut wait = RETRY_AFTER;
            match done {
                Ok(()) => break,
                Err(Interruption::Stopping) => return self.give_up().await,
                Err(Interruption::LeaseEnded) if self.inner.is_released() => return,
                Err(Interruption::LeaseEnded) => {
                    metrics::counter!("ep_leases_lost_total").increment(1);
                    if let Some(suppressed) = LEASE_ENDED.admit() {
                        tracing::warn!(
                            suppressed,
                            "the lease on this poll has ended; calls are paused until it is renewed"
                        );
                    }
                    // After a pause of this process, the database is fine. A slow database ends leases often.
                    if lease_ended.replace(Instant::now()).is_none_or(|last| last.elapsed() > RETRY_AFTER * 5)
                    {
                        wait = Duration::ZERO;
                    }
                }
                Err(Interruption::Store(error)) => {
                    if let Some(suppressed) = INTERRUPTED.admit() {
                        let cause = std::error::Error::source(&error).map(ToString::to_string);
                        tracing::error!(error = %error, cause, suppressed, "poll interrupted; it continues when the database is available again");
                    }
                }
            }
            stage = loop {
                let has_finished = run.has_finished();
                let reloaded = async {
                    tokio::select! {
                        () = tokio::time::sleep(wait) => Some(self.reload(has_finished).await),
                        () = self.inner.tasks.stopping() => None,
                    }
                };
                // Responses keep arriving meanwhile.
                let gathering = run.gather().then(|()| std::future::pending::<()>());
                let reloaded = tokio::select! {
                    biased;
                    reloaded = reloaded => reloaded,
                    () = gathering => None,
                };
                match reloaded {
                    None => return self.give_up().await,
                    Some(Ok(Stored::Ours(stage))) => break stage,
                    Some(Ok(Stored::Ended)) => return,
                    Some(Ok(Stored::Elsewhere)) => {
                        tracing::warn!("another process has adopted this poll");
                        return;
                    }
                    Some(Err(error)) => {
                        if let Some(suppressed) = NOT_RELOADED.admit() {
                            tracing::warn!(error = %error, suppressed, "the database is still failing");
                        }
                    }
                }
                wait = RETRY_AFTER;
            };
        }
        drop(slot);
    }

    /// Waits for a slot. A cancelled poll, or one past its deadline, needs none.
    async fn turn(
        &self,
        reservation: Reservation,
        deadline: Option<Instant>,
    ) -> Result<Option<RunSlot>, Interruption> {
        if let Reservation::Turn(_) = &reservation {
            tracing::info!("waiting for a free slot");
        }
        tokio::select! {
            biased;
            () = self.running.cancel.cancelled() => Ok(None),
            () = until(deadline) => Ok(None),
            slot = reservation.slot() => Ok(Some(slot)),
            () = self.inner.tasks.stopping() => Err(Interruption::Stopping),
        }
    }

    /// Returns the most that the poll may spend, after the charge for lost calls.
    fn ceiling(&self, lost: LostCalls) -> MicroUsd {
        let budget = self.record.plan.budget.amount();
        self.record.held.map_or(budget, |held| held.min(budget)).minus(lost.charged)
    }

    /// Returns the cost of earlier processes' calls with lost responses. Where nobody is charged, it includes calls of a
    /// complete poll that were probably made, so that limits of a caller hold: such a poll calls all members as it starts.
    fn lost_calls(&self, prior: &[Ballot], has_started: bool) -> LostCalls {
        let plan = &self.record.plan;
        // Entries before one with a ballot were certainly called. Later ones may have been, and are not charged.
        let called = prior.iter().map(|ballot| ballot.position as usize + 1).max().unwrap_or(0);
        let charged = estimate_unanswered(plan, prior, called);
        let interruptions = self.lease().epoch().number() - Epoch::FIRST.number();
        if self.record.held.is_some() || !plan.complete || !has_started || interruptions < 1 {
            return LostCalls { charged, counted: charged };
        }
        let last = estimate_unanswered(plan, prior, plan.roster.len());
        // The ballots before earlier interruptions are not known.
        let earlier =
            estimate_unanswered(plan, &[], plan.roster.len()).micro().saturating_mul(interruptions - 1);
        LostCalls { charged, counted: last.plus(MicroUsd::new(earlier)) }
    }

    /// Starts the poll's time.
    async fn start(&self) -> Result<Instant, StoreError> {
        let time = Duration::from_millis(self.record.plan.deadline_ms);
        self.inner.polls.start(&self.record.id, self.lease().epoch(), time).await?;
        Ok(Instant::now() + time)
    }

    /// Ends the lease, so that another process can run the poll immediately.
    async fn give_up(&self) {
        let held = [(self.record.id.clone(), self.lease().epoch())];
        if let Err(error) = self.inner.polls.renew(&held, Duration::ZERO).await {
            tracing::warn!(error = %error, "failed to end a lease; it will expire");
        }
        self.inner.announce_released(&self.record.id).await;
    }

    /// Reloads a poll after an interruption. `has_finished` is true if its run came to a decision, so the
    /// unused calls are known.
    async fn reload(&self, has_finished: bool) -> Result<Stored, StoreError> {
        let Self { inner, record, publisher, .. } = self;
        let (epoch, until) = (self.lease().epoch(), Instant::now() + inner.lease);
        if inner.polls.renew(&[(record.id.clone(), epoch)], inner.lease).await?.is_empty() {
            return Ok(Stored::Elsewhere);
        }
        self.lease().renew(epoch, until);
        let Some(stored) = inner.polls.poll(&record.id).await? else { return Ok(Stored::Elsewhere) };
        let ballots = inner.polls.ballots(&record.id, 0).await?;
        publisher.send_modify(|state| state.ballots = ballots.iter().cloned().map(Arc::new).collect());
        let Some(closing) = stored.closing.clone() else {
            return Ok(Stored::Ours(Stage::Running(ballots)));
        };
        if has_finished && !stored.settled {
            let spent = cost(&ballots, &closing);
            publish_end(publisher, closing, false);
            return Ok(Stored::Ours(Stage::Closed(spent)));
        }
        settle_interrupted(inner, &stored, self.lease(), &ballots).await?;
        publish_end(publisher, closing, true);
        Ok(Stored::Ended)
    }

    /// Runs a poll to its decision, asks for explanations and closes it. Returns the cost of its ballots and
    /// explanations if calls are still in flight, so it is not settled yet. `lost` is charged for calls of an
    /// earlier process with lost responses.
    async fn close(
        &self,
        run: &mut Run<'_>,
        recorded: Vec<Ballot>,
        deadline: Instant,
        lost: LostCalls,
        explanations: &mut Option<Vec<Explanation>>,
    ) -> Result<Option<MicroUsd>, StoreError> {
        let Self { inner, record, publisher, .. } = self;
        let PollEnd { mut closing, ballots, recorded } = match &record.decided {
            Some(decided) => PollEnd::decided_earlier(decided, recorded),
            None => self.decide(run, recorded, deadline, lost, explanations).await?,
        };
        closing.end_at(inner.clock.now(), record.created_at);
        closing.cancelled = self.running.cancel.is_cancelled();
        let spent = cost(&ballots, &closing);
        let draining = !run.is_drained();
        let unused = closing.unused_calls_cost.unwrap_or_default();
        let settlement =
            if draining { Settlement::Later } else { Settlement::Capture(self.capture(spent, unused)) };
        let last = ballots.get(recorded..).unwrap_or_default();
        inner.polls.close(&record.id, self.lease().epoch(), last, &closing, settlement).await?;
        publish(publisher, last);
        if self.notifies {
            inner.closed.notify_one();
        }
        if self.running.notifies_agent.load(Ordering::Relaxed) {
            inner.ended_tasks.notify_one();
        }
        inner.recent.add(ballots.iter().map(|ballot| ballot.latency_ms));
        measure(record, &closing, &ballots, spent);
        publish_end(publisher, closing, !draining);
        inner.changed(&record.id, Change::Ended);
        Ok(draining.then_some(spent))
    }

    /// Runs a poll to its decision, and asks for explanations unless an earlier attempt has.
    async fn decide(
        &self,
        run: &mut Run<'_>,
        recorded: Vec<Ballot>,
        deadline: Instant,
        lost: LostCalls,
        explanations: &mut Option<Vec<Explanation>>,
    ) -> Result<PollEnd, StoreError> {
        let cancel = if Instant::now() < deadline {
            self.running.cancel.clone()
        } else {
            tracing::warn!(poll = %self.record.id, "the deadline of this poll has passed; closing it with its responses so far");
            let over = CancellationToken::new();
            over.cancel();
            over
        };
        let finished = run.to_end(recorded, deadline, self, &cancel).await?;
        let mut ended = PollEnd {
            closing: closing(&finished, run, lost.counted),
            ballots: finished.ballots,
            recorded: finished.recorded,
        };
        if !finished.cancelled {
            let available = self.ceiling(lost).minus(cost_of(&ended.ballots)).minus(run.worst_case());
            self.explain(&mut ended, available, explanations).await?;
        }
        Ok(ended)
    }

    /// Waits for the unused calls of a closed poll and charges the cost of all its calls.
    async fn settle(&self, run: &mut Run<'_>, spent: MicroUsd, lost: LostCalls) -> Result<(), StoreError> {
        let Self { inner, record, .. } = self;
        let unused = run.drain().await.plus(lost.counted);
        let (epoch, now) = (self.lease().epoch(), inner.clock.now());
        inner.polls.settle(&record.id, epoch, self.capture(spent, unused), unused, now).await?;
        metrics::counter!("ep_unused_calls_cost_micro_usd_total").increment(unused.micro().unsigned_abs());
        Ok(())
    }

    /// Returns the charge for ballots and unused calls, at most the hold.
    fn capture(&self, spent: MicroUsd, unused: MicroUsd) -> MicroUsd {
        spent.plus(unused).min(self.record.held.unwrap_or_default())
    }
}

/// The end of a poll that is not stored yet.
pub(super) struct PollEnd {
    /// The closing. Its times are set when it is stored.
    pub(super) closing: Closing,
    /// All ballots, in order.
    pub(super) ballots: Vec<Ballot>,
    /// The number of stored ballots: the first ones.
    pub(super) recorded: usize,
}

impl PollEnd {
    /// Returns the end of a poll that an earlier process has decided. Its calls in flight are lost.
    fn decided_earlier(decided: &Closing, ballots: Vec<Ballot>) -> Self {
        let unused_calls_cost = Some(decided.unused_calls_estimate);
        let recorded = ballots.len();
        Self { closing: Closing { unused_calls_cost, ..decided.clone() }, ballots, recorded }
    }
}

/// Returns the cost of ballots and explanations.
fn cost(ballots: &[Ballot], closing: &Closing) -> MicroUsd {
    cost_of(ballots).plus(closing.explanations_cost())
}

fn cost_of(ballots: &[Ballot]) -> MicroUsd {
    ballots.iter().map(|ballot| ballot.spend.amount).sum()
}

/// Resolves at the deadline, if there is one.
async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Settles a poll interrupted while unused calls were in flight. Their cost is unknown, so the estimate is
/// charged.
pub(super) async fn settle_interrupted(
    inner: &Inner,
    record: &PollRecord,
    lease: &HeldLease,
    ballots: &[Ballot],
) -> Result<(), StoreError> {
    let Some(closing) = &record.closing else { return Err(StoreError::NotFound("closed poll")) };
    let (spent, unused) = (cost(ballots, closing), closing.unused_calls_estimate);
    let capture = spent.plus(unused).min(record.held.unwrap_or_default());
    inner.polls.settle(&record.id, lease.epoch(), capture, unused, inner.clock.now()).await?;
    Ok(())
}

/// The cost of earlier processes' calls with lost responses.
#[derive(Clone, Copy)]
struct LostCalls {
    /// The charge.
    charged: MicroUsd,
    /// The cost that the result shows.
    counted: MicroUsd,
}

/// Returns the estimated cost of calling the first `called` roster entries that have no ballot.
fn estimate_unanswered(plan: &Plan, ballots: &[Ballot], called: usize) -> MicroUsd {
    let answered: HashSet<usize> = ballots.iter().map(|ballot| ballot.position as usize).collect();
    let lost = (0..called).filter(|position| !answered.contains(position));
    lost.map(|position| plan.charged(position, Spend::UNKNOWN).amount).sum()
}

fn closing(finished: &Finished, run: &Run<'_>, lost: MicroUsd) -> Closing {
    Closing {
        reason: (!finished.cancelled).then_some(finished.decision.reason),
        cancelled: finished.cancelled,
        p_value: finished.decision.p,
        gather_ms: finished.gather.as_millis() as u64,
        upstream_us: finished.upstream.as_micros() as u64,
        total_ms: 0,
        closed_at: Timestamp::from_millis(0),
        reader: READER,
        unused_calls: finished.unused_calls,
        unused_calls_cost: run.is_drained().then_some(lost),
        unused_calls_estimate: run.estimate().plus(lost),
        explanations: Vec::new(),
    }
}

fn measure(record: &PollRecord, closing: &Closing, ballots: &[Ballot], spent: MicroUsd) {
    let reason = closing.reason.map_or("cancelled", TerminationReason::as_str);
    let gather = Duration::from_millis(closing.gather_ms);
    metrics::counter!("ep_polls_total", "reason" => reason).increment(1);
    metrics::histogram!("ep_poll_duration_seconds").record(gather);
    metrics::counter!("ep_poll_cost_micro_usd_total").increment(spent.micro().unsigned_abs());
    let votes = ballots.iter().filter(|ballot| ballot.vote.is_ok()).count() as u32;
    let roster = record.plan.roster.len() as u32;
    let models = ModelCounts::new(roster, ballots.len() as u32, votes, closing.unused_calls);
    metrics::counter!("ep_calls_saved_total").increment(models.skipped().into());
    for ballot in ballots {
        let result = ballot.vote.as_ref().map_or_else(|no_vote| no_vote.reason.as_str(), |_| "vote");
        metrics::counter!("ep_votes_total", "result" => result).increment(1);
        metrics::histogram!("ep_vote_duration_seconds")
            .record(Duration::from_millis(u64::from(ballot.latency_ms)));
    }
    tracing::info!(
        reason,
        ballots = ballots.len(),
        unused = models.unused(),
        skipped = models.skipped(),
        confidence = 1.0 - closing.p_value,
        explanations = closing.explanations.len(),
        cost = %spent,
        gather_ms = closing.gather_ms,
        "poll closed"
    );
}
