//! The work on one poll: run it, close it, wait for unused calls, settle.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::Inner;
use super::live::{PollState, publish, publish_end};
use crate::executor::run::{Finished, Recorder, run};
use crate::ports::{Closing, PollRecord, PollStore, StoreError};
use ep_polling::ballot::Ballot;
use ep_polling::money::{MicroUsd, Settlement};
use ep_polling::poll_id::PollId;

/// How long a poll waits after a failure of the database before it tries again.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// Starts or resumes a poll in the background. It can be watched at once.
pub(super) fn begin(inner: Arc<Inner>, record: PollRecord, prior: Vec<Ballot>) {
    let span = tracing::info_span!("poll", poll = %record.id, roster = record.plan.roster.len());
    let record = Arc::new(record);
    let ballots = prior.iter().cloned().map(Arc::new).collect();
    let (publisher, cancel) = inner.running.add(PollState { record: Arc::clone(&record), ballots });
    let tasks = inner.tasks.clone();
    tasks.spawn(
        async move {
            // What is not done when the service has stopped is resumed by the next process from its ballots.
            run_until_closed(&inner, &record, prior, &publisher, &cancel).await;
            inner.running.remove(&record.id);
        }
        .instrument(span),
    );
}

struct PublishingRecorder<'a> {
    polls: &'a dyn PollStore,
    id: &'a PollId,
    publisher: &'a watch::Sender<PollState>,
}

#[async_trait]
impl Recorder for PublishingRecorder<'_> {
    async fn record(&self, ballots: &[Ballot]) -> Result<(), StoreError> {
        self.polls.record(self.id, ballots).await?;
        publish(self.publisher, ballots);
        Ok(())
    }
}

/// Runs a poll to its end, however often the database fails in between: recorded ballots are kept.
async fn run_until_closed(
    inner: &Inner,
    record: &PollRecord,
    mut prior: Vec<Ballot>,
    publisher: &watch::Sender<PollState>,
    cancel: &CancellationToken,
) {
    while let Err(error) = run_once(inner, record, prior, publisher, cancel).await {
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        tracing::error!(error = %error, cause, "poll interrupted; it continues when the database answers again");
        prior = loop {
            tokio::select! {
                () = tokio::time::sleep(RETRY_AFTER) => {}
                () = inner.tasks.stopping() => return,
            }
            match reload(inner, record, publisher).await {
                Ok(Some(ballots)) => break ballots,
                Ok(None) => return,
                Err(error) => tracing::warn!(error = %error, "the database still fails"),
            }
        };
    }
}

/// Reads a poll's ballots again after a failure; `None` if it needs no further work.
async fn reload(
    inner: &Inner,
    record: &PollRecord,
    publisher: &watch::Sender<PollState>,
) -> Result<Option<Vec<Ballot>>, StoreError> {
    let Some(stored) = inner.polls.poll(&record.id).await? else { return Ok(None) };
    let ballots = inner.polls.ballots(&record.id, 0).await?;
    publisher.send_modify(|state| state.ballots = ballots.iter().cloned().map(Arc::new).collect());
    let Some(closing) = stored.closing.clone() else { return Ok(Some(ballots)) };
    settle_interrupted(inner, &stored, &ballots).await?;
    publish_end(publisher, closing, true);
    Ok(None)
}

/// Settles a poll whose process ended while unused calls were still in flight: what those cost is not
/// known, so only the ballots are charged.
pub(super) async fn settle_interrupted(
    inner: &Inner,
    record: &PollRecord,
    ballots: &[Ballot],
) -> Result<(), StoreError> {
    let spent: MicroUsd = ballots.iter().map(|ballot| ballot.spend.amount).sum();
    let capture = spent.min(record.held.unwrap_or_default());
    inner.polls.settle(&record.id, capture, MicroUsd::ZERO, inner.clock.now()).await?;
    Ok(())
}

async fn run_once(
    inner: &Inner,
    record: &PollRecord,
    prior: Vec<Ballot>,
    publisher: &watch::Sender<PollState>,
    cancel: &CancellationToken,
) -> Result<(), StoreError> {
    let budget = record.plan.budget.amount();
    let ceiling = record.held.map_or(budget, |held| held.min(budget));
    let recorder = PublishingRecorder { polls: &*inner.polls, id: &record.id, publisher };
    let finished = run(&record.plan, prior, ceiling, &inner.models, &recorder, cancel).await?;
    let spent: MicroUsd = finished.ballots.iter().map(|ballot| ballot.spend.amount).sum();
    let draining = !finished.unfinished.is_empty();
    let closing = closing(inner, record, &finished, draining);
    // Nobody is charged more than was set aside, whatever an upstream claims to have cost.
    let held = record.held.unwrap_or_default();
    let capture = spent.min(held);
    if record.held.is_some() && spent > held {
        tracing::error!(%spent, %held, "an upstream charged more than its listed prices allow; the service pays the difference");
    }
    let settlement = if draining { Settlement::Later } else { Settlement::Capture(capture) };
    inner.polls.close(&record.id, &closing, settlement).await?;
    inner.recent.add(finished.ballots.iter().map(|ballot| ballot.latency_ms));
    measure(record, &finished, spent);
    publish_end(publisher, closing, !draining);
    if draining {
        let unused = finished.unfinished.drain().await;
        metrics::counter!("ep_unused_calls_cost_micro_usd_total").increment(unused.micro().unsigned_abs());
        let capture = spent.plus(unused).min(held);
        inner.polls.settle(&record.id, capture, unused, inner.clock.now()).await?;
    }
    Ok(())
}

fn closing(inner: &Inner, record: &PollRecord, finished: &Finished, draining: bool) -> Closing {
    let closed_at = inner.clock.now();
    Closing {
        reason: (!finished.cancelled).then_some(finished.decision.reason),
        p_value: finished.decision.p,
        gather_ms: finished.gather.as_millis() as u64,
        upstream_us: finished.upstream.as_micros() as u64,
        total_ms: closed_at.since(record.created_at).max(finished.gather).as_millis() as u64,
        closed_at,
        unused_calls: finished.unused_calls,
        unused_calls_cost: (!draining).then_some(MicroUsd::ZERO),
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
