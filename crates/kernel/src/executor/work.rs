//! The work on one poll: wait for its turn, run it, close it, wait for unused calls, settle.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::Inner;
use super::lease::HeldLease;
use super::live::{PollState, Running, publish, publish_end};
use super::slots::{Place, Slot};
use crate::executor::run::{Finished, Recorder, run};
use crate::ports::{Change, Closing, PollRecord, StoreError};
use ep_polling::ballot::Ballot;
use ep_polling::money::{MicroUsd, Settlement, Spend};
use ep_polling::plan::Plan;

/// How long a poll waits after a failure of the database before it tries again.
pub(super) const RETRY_AFTER: Duration = Duration::from_secs(2);

/// A poll to carry through.
pub(super) struct Job {
    pub(super) record: PollRecord,
    /// The ballots it already has.
    pub(super) prior: Vec<Ballot>,
    pub(super) lease: HeldLease,
    pub(super) place: Place,
    /// When it must end; `None` if its time begins with its turn.
    pub(super) deadline: Option<Instant>,
    /// Whether its owner is told that it has ended, where that is known.
    pub(super) notifies: bool,
    /// Whether it is to be closed with what it has.
    pub(super) cancelled: bool,
}

/// Starts or resumes a poll in the background. It can be watched at once.
pub(super) fn begin(inner: Arc<Inner>, job: Job) {
    let Job { record, prior, lease, place, deadline, notifies, cancelled } = job;
    let span = tracing::info_span!("poll", poll = %record.id, roster = record.plan.roster.len());
    let record = Arc::new(record);
    let ballots = prior.iter().cloned().map(Arc::new).collect();
    let state = PollState { record: Arc::clone(&record), ballots };
    let (publisher, running) = inner.running.add(state, lease, place.ticket());
    if cancelled {
        running.cancel.cancel();
    }
    let tasks = inner.tasks.clone();
    tasks.spawn(
        async move {
            let work =
                Work { inner: &inner, record: &record, running: &running, publisher: &publisher, notifies };
            // What is not done when the service has stopped is resumed by the next process from its ballots.
            work.until_closed(prior, place, deadline).await;
            inner.running.remove(&record.id, &running.lease);
        }
        .instrument(span),
    );
}

/// What the work on one poll needs.
struct Work<'a> {
    inner: &'a Inner,
    record: &'a PollRecord,
    running: &'a Running,
    publisher: &'a watch::Sender<PollState>,
    /// Whether its owner is told that it has ended, where that is known.
    notifies: bool,
}

/// Why the work on a poll was interrupted.
enum Interruption {
    /// The database failed, or refused a write.
    Store(StoreError),
    /// The lease was not renewed in time, or was taken.
    LeaseEnded,
    /// The service stops, and the poll has not begun.
    Stopping,
}

impl From<StoreError> for Interruption {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// What became of a poll in the meantime.
enum Stored {
    /// It runs, and is leased by this process.
    Running(Vec<Ballot>),
    /// It needs no further work.
    Ended,
    /// Another process runs it.
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
    fn lease(&self) -> &HeldLease {
        &self.running.lease
    }

    /// Runs a poll to its end, however often the database fails in between: recorded ballots are kept, and so is
    /// its deadline. Stops as soon as the lease has ended, because another process may run it then.
    async fn until_closed(&self, mut prior: Vec<Ballot>, place: Place, mut deadline: Option<Instant>) {
        let mut place = Some(place);
        let mut slot = None;
        let (mut lost, mut asks) = (MicroUsd::ZERO, true);
        loop {
            // An attempt that has asked nobody has lost nothing.
            if std::mem::take(&mut asks) {
                lost = lost.plus(lost_calls(&self.record.plan, &prior));
            }
            let attempt = async {
                if slot.is_none() {
                    let again = || self.inner.slots.take_again(self.record.owner);
                    slot = self.turn(place.take().unwrap_or_else(again), deadline).await?;
                }
                let deadline = match deadline {
                    Some(deadline) => deadline,
                    None => *deadline.insert(self.start().await?),
                };
                asks = Instant::now() < deadline;
                Ok(self.run_once(prior, deadline, lost).await?)
            };
            let done = tokio::select! {
                biased;
                () = self.lease().ended() => Err(Interruption::LeaseEnded),
                done = attempt => done,
            };
            match done {
                Ok(()) => break,
                Err(Interruption::Stopping) => return self.give_up().await,
                Err(Interruption::LeaseEnded) if self.inner.is_released() => return,
                Err(Interruption::LeaseEnded) => {
                    metrics::counter!("ep_leases_lost_total").increment(1);
                    tracing::warn!(
                        "the lease on this poll has ended; nobody is asked until it is held again"
                    );
                }
                Err(Interruption::Store(error)) => {
                    let cause = std::error::Error::source(&error).map(ToString::to_string);
                    tracing::error!(error = %error, cause, "poll interrupted; it continues when the database answers again");
                }
            }
            prior = loop {
                tokio::select! {
                    () = tokio::time::sleep(RETRY_AFTER) => {}
                    () = self.inner.tasks.stopping() => return self.give_up().await,
                }
                match self.reload().await {
                    Ok(Stored::Running(ballots)) => break ballots,
                    Ok(Stored::Ended) => return,
                    Ok(Stored::Elsewhere) => {
                        tracing::warn!("another process has adopted this poll");
                        return;
                    }
                    Err(error) => tracing::warn!(error = %error, "the database still fails"),
                }
            };
        }
        drop(slot);
    }

    /// Waits for the poll's turn. A poll that is cancelled meanwhile, or whose time is over, needs none.
    async fn turn(&self, place: Place, deadline: Option<Instant>) -> Result<Option<Slot>, Interruption> {
        if let Place::Turn(_) = &place {
            tracing::info!("waiting for a free place");
        }
        tokio::select! {
            biased;
            () = self.running.cancel.cancelled() => Ok(None),
            () = until(deadline) => Ok(None),
            slot = place.slot() => Ok(Some(slot)),
            () = self.inner.tasks.stopping() => Err(Interruption::Stopping),
        }
    }

    /// Begins the poll's time.
    async fn start(&self) -> Result<Instant, StoreError> {
        let time = Duration::from_millis(self.record.plan.deadline_ms);
        self.inner.polls.start(&self.record.id, self.lease().epoch(), time).await?;
        Ok(Instant::now() + time)
    }

    /// Ends the lease, so that another process can run the poll at once.
    async fn give_up(&self) {
        let held = [(self.record.id.clone(), self.lease().epoch())];
        if let Err(error) = self.inner.polls.renew(&held, Duration::ZERO).await {
            tracing::warn!(error = %error, "a lease could not be ended; it ends by itself");
        }
        self.inner.announce_released(&self.record.id).await;
    }

    /// Reads a poll again after an interruption.
    async fn reload(&self) -> Result<Stored, StoreError> {
        let Self { inner, record, publisher, .. } = self;
        let (epoch, until) = (self.lease().epoch(), Instant::now() + inner.lease);
        if inner.polls.renew(&[(record.id.clone(), epoch)], inner.lease).await?.is_empty() {
            return Ok(Stored::Elsewhere);
        }
        self.lease().renew(epoch, until);
        let Some(stored) = inner.polls.poll(&record.id).await? else { return Ok(Stored::Elsewhere) };
        let ballots = inner.polls.ballots(&record.id, 0).await?;
        publisher.send_modify(|state| state.ballots = ballots.iter().cloned().map(Arc::new).collect());
        let Some(closing) = stored.closing.clone() else { return Ok(Stored::Running(ballots)) };
        settle_interrupted(inner, &stored, self.lease(), &ballots).await?;
        publish_end(publisher, closing, true);
        Ok(Stored::Ended)
    }

    /// `lost` is what is charged for calls of earlier attempts whose answers were lost.
    async fn run_once(
        &self,
        prior: Vec<Ballot>,
        deadline: Instant,
        lost: MicroUsd,
    ) -> Result<(), StoreError> {
        let Self { inner, record, publisher, .. } = self;
        let budget = record.plan.budget.amount();
        let ceiling = record.held.map_or(budget, |held| held.min(budget)).minus(lost);
        let cancel = if Instant::now() < deadline {
            self.running.cancel.clone()
        } else {
            tracing::warn!("the time of this poll is over; it is closed with the answers it has");
            let over = CancellationToken::new();
            over.cancel();
            over
        };
        let finished = run(&record.plan, prior, deadline, ceiling, &inner.models, self, &cancel).await?;
        let spent: MicroUsd = finished.ballots.iter().map(|ballot| ballot.spend.amount).sum();
        let draining = !finished.unfinished.is_empty();
        let closing = closing(inner, record, &finished, self.running.cancel.is_cancelled(), lost);
        // Nobody is charged more than was set aside.
        let held = record.held.unwrap_or_default();
        let settlement =
            if draining { Settlement::Later } else { Settlement::Capture(spent.plus(lost).min(held)) };
        let epoch = self.lease().epoch();
        inner.polls.close(&record.id, epoch, &closing, settlement).await?;
        if self.notifies {
            inner.closed.notify_one();
        }
        if self.running.notifies_agent.load(Ordering::Relaxed) {
            inner.ended_tasks.notify_one();
        }
        inner.recent.add(finished.ballots.iter().map(|ballot| ballot.latency_ms));
        measure(record, &finished, spent);
        publish_end(publisher, closing, !draining);
        inner.changed(&record.id, Change::Ended);
        if draining {
            let unused = finished.unfinished.drain(&record.plan).await.plus(lost);
            metrics::counter!("ep_unused_calls_cost_micro_usd_total")
                .increment(unused.micro().unsigned_abs());
            let capture = spent.plus(unused).min(held);
            inner.polls.settle(&record.id, epoch, capture, unused, inner.clock.now()).await?;
        }
        Ok(())
    }
}

/// Resolves at the deadline, if there is one.
async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Settles a poll whose process ended while unused calls were still in flight: what those cost is not
/// known, so what was estimated is charged.
pub(super) async fn settle_interrupted(
    inner: &Inner,
    record: &PollRecord,
    lease: &HeldLease,
    ballots: &[Ballot],
) -> Result<(), StoreError> {
    let spent: MicroUsd = ballots.iter().map(|ballot| ballot.spend.amount).sum();
    let unused = record.closing.as_ref().map(|closing| closing.unused_calls_estimate).unwrap_or_default();
    let capture = spent.plus(unused).min(record.held.unwrap_or_default());
    inner.polls.settle(&record.id, lease.epoch(), capture, unused, inner.clock.now()).await?;
    Ok(())
}

/// What is charged for the calls that were made before an interruption and whose answers were lost: an estimate
/// for each member without a ballot whose place in the order lies before that of a ballot. These were asked for
/// certain; who came after them may have been, and is not charged.
fn lost_calls(plan: &Plan, ballots: &[Ballot]) -> MicroUsd {
    let answered: HashSet<usize> = ballots.iter().map(|ballot| ballot.position as usize).collect();
    let asked = answered.iter().max().map_or(0, |last| last + 1);
    let lost = (0..asked).filter(|position| !answered.contains(position));
    lost.map(|position| plan.charged(position, Spend::UNKNOWN).amount).sum()
}

fn closing(
    inner: &Inner,
    record: &PollRecord,
    finished: &Finished,
    cancelled: bool,
    lost: MicroUsd,
) -> Closing {
    // It may have been opened by a process whose clock is ahead.
    let closed_at = inner.clock.now().max(record.created_at);
    Closing {
        reason: (!finished.cancelled).then_some(finished.decision.reason),
        cancelled,
        p_value: finished.decision.p,
        gather_ms: finished.gather.as_millis() as u64,
        upstream_us: finished.upstream.as_micros() as u64,
        total_ms: closed_at.since(record.created_at).max(finished.gather).as_millis() as u64,
        closed_at,
        unused_calls: finished.unused_calls,
        unused_calls_cost: finished.unfinished.is_empty().then_some(lost),
        unused_calls_estimate: finished.unfinished.estimate(&record.plan).plus(lost),
    }
}

fn measure(record: &PollRecord, finished: &Finished, spent: MicroUsd) {
    let reason = if finished.cancelled { "cancelled" } else { finished.decision.reason.as_str() };
    metrics::counter!("ep_polls_total", "reason" => reason).increment(1);
    metrics::histogram!("ep_poll_duration_seconds").record(finished.gather);
    metrics::counter!("ep_poll_cost_micro_usd_total").increment(spent.micro().unsigned_abs());
    let asked = finished.ballots.len() + finished.unused_calls as usize;
    let skipped = record.plan.roster.len().saturating_sub(asked);
    metrics::counter!("ep_calls_saved_total").increment(skipped as u64);
    for ballot in &finished.ballots {
        let result = ballot.vote.as_ref().map_or_else(|no_vote| no_vote.reason.as_str(), |_| "vote");
        metrics::counter!("ep_votes_total", "result" => result).increment(1);
        metrics::histogram!("ep_vote_duration_seconds")
            .record(Duration::from_millis(u64::from(ballot.latency_ms)));
    }
    tracing::info!(
        reason,
        ballots = finished.ballots.len(),
        skipped,
        confidence = finished.decision.confidence(),
        cost = %spent,
        gather_ms = finished.gather.as_millis() as u64,
        "poll closed"
    );
}
