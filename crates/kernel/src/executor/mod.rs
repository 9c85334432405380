//! The poll executor: opens polls, runs them under a lease, publishes their progress, settles their cost, and
//! resumes them after a crash.
//!
//! An accepted poll belongs to the database, not to its connection. Its ballots are its event log. Watchers
//! of a poll running here read the copy in memory, all others read the database, and both see the same
//! ballots.

mod announce;
mod deletion;
mod explanations;
mod failures;
mod follow;
mod followers;
mod free_questions;
mod lease;
mod live;
mod opening;
mod projection;
mod recent;
pub mod run;
mod slots;
mod work;

pub(crate) use opening::stalled;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::caller::Caller;
use crate::event::StartedEvent;
use crate::fault::{Fault, Kind, Result};
use crate::ports::{Clock, Entropy, Models};
use crate::tasks::Tasks;
use ep_polling::{Draft, Plan, PollId, Roster, Rule, Seed};
use ep_store::{
    AdoptedPoll, BatchId, CLOCKS_APART, CappedKey, Change, Lease, PollChanges, PollOpening, PollRecord,
    PollStore, StoreError, UserId, WebhookUrl,
};

pub use failures::log_suppressed_failures;
pub use follow::Follow;
pub use live::PollState;
pub use projection::EventProjection;
pub use slots::PollLimits;

use lease::HeldLease;
use live::Watch;
use slots::{Gauges, Slots};
use tokio::sync::Notify;
use tokio::time::Instant;
use work::Job;

/// Runs this process's polls.
#[derive(Clone)]
pub struct PollExecutor(Arc<Inner>);

struct Inner {
    polls: Arc<dyn PollStore>,
    models: Arc<dyn Models>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    tasks: Tasks,
    worker: String,
    lease: Duration,
    deadline: Duration,
    /// See [`PollLimits::stalled_after`].
    stalled_after: Duration,
    slots: Slots,
    /// Slots of the polls of batches, so that no other poll waits for them.
    batch_slots: Slots,
    free_questions: free_questions::FreeQuestions,
    running: live::RunningPolls,
    /// True if the task that renews leases has been started.
    renewing: AtomicBool,
    /// True if all leases have been released.
    released: AtomicBool,
    recent: recent::RecentLatencies,
    /// Signalled when a poll starts here.
    begun: Notify,
    /// Signalled when this process closes a poll with a notification for its owner.
    closed: Arc<Notify>,
    /// Signalled when this process closes a poll with push subscriptions.
    ended_tasks: Arc<Notify>,
    /// Polls followed here that run in other processes.
    followers: followers::Followers,
    /// `None` if no other process shares the database.
    announcer: Option<announce::Announcer>,
    /// Signalled when another process has released polls.
    released_elsewhere: Notify,
    /// Settled polls that were read or deleted recently.
    settled: deletion::SettledPolls,
}

/// The caller that opens a poll.
#[derive(Debug, Clone, Default)]
pub struct Opener {
    /// The owner; `None` for a free poll.
    pub owner: Option<UserId>,
    /// The payer.
    pub billing: Billing,
    /// Key of the idempotent request. Each key opens only one poll.
    pub request_ref: Option<String>,
    /// URL for the end notification, if not the URL of the owner's webhook.
    pub notify: Option<WebhookUrl>,
    /// The batch that the poll belongs to.
    pub batch: Option<BatchId>,
}

/// The payer of a poll.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Billing {
    /// Not billed.
    #[default]
    None,
    /// Billed to the owner.
    Owner,
    /// Billed to the owner, up to the cap of this key.
    Capped(CappedKey),
}

/// The dependencies of the executor.
pub struct Ports {
    /// Polls and ballots.
    pub polls: Arc<dyn PollStore>,
    /// Announces poll changes; `None` if no other process shares the database.
    pub changes: Option<Arc<dyn PollChanges>>,
    /// The models that vote.
    pub models: Arc<dyn Models>,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
    /// Background work.
    pub tasks: Tasks,
}

impl PollExecutor {
    /// Creates an executor. Its leases last `lease`, its polls may take `deadline`, and `limits` bounds how
    /// many run at once.
    pub fn new(ports: Ports, lease: Duration, deadline: Duration, limits: PollLimits) -> Self {
        let Ports { polls, changes, models, clock, entropy, tasks } = ports;
        let worker = hex::encode(entropy.bytes::<16>());
        Self(Arc::new(Inner {
            polls,
            models,
            clock,
            entropy,
            tasks,
            worker,
            lease,
            deadline,
            stalled_after: limits.stalled_after,
            slots: Slots::new(limits, POLL_GAUGES),
            batch_slots: Slots::new(limits.for_batches(), BATCH_GAUGES),
            free_questions: free_questions::FreeQuestions::default(),
            running: live::RunningPolls::default(),
            renewing: AtomicBool::new(false),
            released: AtomicBool::new(false),
            recent: recent::RecentLatencies::default(),
            begun: Notify::new(),
            closed: Arc::default(),
            ended_tasks: Arc::default(),
            followers: followers::Followers::default(),
            announcer: changes.map(announce::Announcer::new),
            released_elsewhere: Notify::new(),
            settled: deletion::SettledPolls::default(),
        }))
    }

    /// Returns the name of this process in leases.
    pub fn worker(&self) -> &str {
        &self.0.worker
    }

    /// Plans a poll without opening it, for estimates and dry runs.
    pub fn plan(&self, draft: Draft, roster: Roster) -> Plan {
        Plan::new(draft, roster, Seed::new(self.0.entropy.bytes()), self.0.deadline)
    }

    /// Returns the number of calls that the poll starts before its first response. Its hold must cover at
    /// least these.
    pub fn first_wave(plan: &Plan) -> usize {
        let members = plan.roster.len();
        if plan.complete {
            return members;
        }
        plan.responses().responses_needed(&Rule::for_threshold(plan.threshold)) as usize
    }

    /// Returns the opening of the poll with this request reference.
    pub async fn opened_by(&self, request_ref: &str) -> Result<Option<PollOpening>> {
        Ok(self.0.polls.opened_by(request_ref).await?)
    }

    /// Returns the states of the polls with this request reference, in order, without the deleted ones.
    pub async fn polls_of(&self, request_ref: &str) -> Result<Vec<PollState>> {
        let mut states = Vec::new();
        for place in 0.. {
            let request = opening::numbered(request_ref.to_owned(), place);
            let Some(opened) = self.opened_by(&request).await? else { break };
            states.extend(self.state(&opened.id).await?);
        }
        Ok(states)
    }

    /// Returns the state of the poll with this request reference, if the request opened only one, and it is not deleted.
    pub async fn only_poll_of(&self, request_ref: &str) -> Result<Option<PollState>> {
        if self.opened_by(&opening::numbered(request_ref.to_owned(), 1)).await?.is_some() {
            return Ok(None);
        }
        match self.opened_by(request_ref).await? {
            Some(opened) => self.state(&opened.id).await,
            None => Ok(None),
        }
    }

    /// Returns the maximum number of polls that run before this one, including itself, if it is queued in
    /// this process.
    pub fn position(&self, record: &PollRecord) -> Option<u32> {
        let ticket = self.0.running.get(&record.id)?.ticket?;
        u32::try_from(self.0.slots.position(record.owner, ticket)?).ok()
    }

    /// Returns the state of a running or closed poll.
    pub async fn state(&self, id: &PollId) -> Result<Option<PollState>> {
        if self.is_deleted(id) {
            return Ok(None);
        }
        if let Some(watch) = self.0.running.watch(id) {
            return Ok(Some(watch.state()));
        }
        if let Some(state) = self.cached(id).await {
            return Ok(Some(state));
        }
        self.stored(id).await
    }

    /// Returns the state of a poll that this caller may read. A private poll is reported as not found to anyone but its owner.
    pub async fn readable(&self, id: &PollId, caller: &Caller) -> Result<PollState> {
        let state = self.state(id).await?.filter(|state| !state.record.plan.private || state.is_of(caller));
        state.ok_or_else(|| Fault::no_such_poll(id.as_str()))
    }

    /// Returns the state of the caller's own poll. It is reported as not found to anyone else.
    pub async fn owned(&self, id: &PollId, caller: &Caller) -> Result<PollState> {
        let state = self.readable(id, caller).await?;
        if state.is_of(caller) {
            return Ok(state);
        }
        let text = format!("this account did not open poll {id}; get_poll_result reads public results");
        Err(Fault::new(Kind::NotFound, text))
    }

    /// Returns the state of a poll from the database. A process's own copy may lag by a moment, or by more
    /// after a pause.
    pub async fn stored(&self, id: &PollId) -> Result<Option<PollState>> {
        let Some(record) = self.0.polls.poll(id).await? else { return Ok(None) };
        let ballots = self.0.polls.ballots(id, 0).await?;
        let state =
            PollState { record: Arc::new(record), ballots: ballots.into_iter().map(Arc::new).collect() };
        if state.record.settled {
            self.0.settled.add(id, &state);
        }
        Ok(Some(state))
    }

    /// Returns the first event of a poll, for a watcher of a repeated request.
    pub async fn started(&self, id: &PollId, result_url: Option<String>) -> Result<Option<StartedEvent>> {
        let state = self.state(id).await?;
        Ok(state.map(|state| EventProjection::new(&state.record).started(result_url)))
    }

    /// Follows a poll to its end, regardless of the process that runs it.
    pub async fn follow(&self, id: &PollId) -> Result<Option<Follow>> {
        Ok(self.watch(id).await?.map(|watch| Follow::new(self.clone(), watch)))
    }

    async fn watch(&self, id: &PollId) -> Result<Option<Watch>> {
        let inner = &self.0;
        if let Some(watch) = inner.running.watch(id).or_else(|| inner.followers.watch(id)) {
            return Ok(Some(watch));
        }
        Ok(self.state(id).await?.map(|state| followers::watch(inner, state)))
    }

    /// Returns a signal for closed polls that this process opened with a notification for their owners. A hint to
    /// check for due notifications.
    pub fn closed(&self) -> Arc<Notify> {
        Arc::clone(&self.0.closed)
    }

    /// Signals [`PollExecutor::ended_tasks`] when this process closes this poll.
    pub fn notify_agent(&self, id: &PollId) {
        if let Some(running) = self.0.running.get(id) {
            running.notifies_agent.store(true, Ordering::Relaxed);
        }
        // The poll may have ended already.
        self.0.ended_tasks.notify_one();
    }

    /// Returns a signal for tasks with push subscriptions that may have ended. A hint to check for due push
    /// notifications.
    pub fn ended_tasks(&self) -> Arc<Notify> {
        Arc::clone(&self.0.ended_tasks)
    }

    /// Returns the median time of this process's recent votes, in milliseconds; `None` before the first one.
    pub fn typical_vote_ms(&self) -> Option<u32> {
        self.0.recent.median()
    }

    /// Cancels a poll in any process within a second, even if that process crashes. The poll closes with its
    /// votes so far. Returns `false` if it ended without being cancelled.
    pub async fn cancel(&self, id: &PollId) -> Result<bool> {
        let cancelled = self.0.polls.cancel(id, self.0.clock.now()).await?;
        if cancelled && !self.0.running.cancel(id) {
            self.0.changed(id, Change::Cancelled);
        }
        Ok(cancelled)
    }

    /// Adopts and resumes polls with ended leases, up to the number of free slots. Returns their number.
    /// Without a free slot, takes only a few polls that have been unleased for the length of a lease.
    pub async fn resume(&self) -> Result<usize> {
        let inner = &self.0;
        let (ago, limit) = match inner.slots.free().min(ADOPT_AT_ONCE) as u32 {
            0 => (inner.lease, ADOPT_WITHOUT_ROOM),
            room => (Duration::ZERO, room),
        };
        // After a pause longer than the lease, polls that still run here are renewed rather than adopted.
        inner.renew().await?;
        let until = Instant::now() + inner.lease;
        let adopted = inner.polls.adopt(&inner.lease(), ago, limit).await?;
        let mut count = 0;
        for adopted in adopted {
            // The lease can have ended a moment ago.
            if let Some(running) = inner.running.get(&adopted.id) {
                running.lease.take(adopted.epoch, until);
                continue;
            }
            match self.resume_one(&adopted, until).await {
                Ok(()) => count += 1,
                // The lease is not renewed, so the poll is adopted again later. Other polls continue.
                Err(error) => {
                    let cause = std::error::Error::source(&error).map(ToString::to_string);
                    tracing::error!(poll = %adopted.id, error = %error, cause, "failed to resume a poll");
                }
            }
        }
        Ok(count)
    }

    async fn resume_one(&self, adopted: &AdoptedPoll, until: Instant) -> Result<(), StoreError> {
        let inner = &self.0;
        let now = Instant::now();
        let Some(record) = inner.polls.poll(&adopted.id).await? else { return Ok(()) };
        let ballots = inner.polls.ballots(&adopted.id, 0).await?;
        let lease = HeldLease::new(adopted.epoch, until);
        tracing::info!(poll = %record.id, ballots = ballots.len(), "resuming a poll");
        if record.closing.is_some() {
            return work::settle_interrupted(inner, &record, &lease, &ballots).await;
        }
        // A poll that waited longer than twice its time limit is not started any more.
        let waited = inner.clock.now().since(record.created_at);
        let time = Duration::from_millis(record.plan.deadline_ms);
        let too_long = waited > time * 2 + CLOCKS_APART;
        // The deadline may have been written by a clock that was ahead.
        let left = adopted.left.map(|left| left.min(time));
        let deadline = left.or_else(|| too_long.then_some(Duration::ZERO)).map(|left| now + left);
        let reservation = inner.slots.take_again(record.owner);
        let cancelled = inner.polls.is_cancelled(&record.id).await?;
        let (prior, notifies, of_batch) = (ballots, false, false);
        self.begin(Job { record, prior, lease, reservation, deadline, notifies, cancelled, of_batch });
        Ok(())
    }

    /// Renews the leases of running polls, and loads cancelled ones, in the background, until the service
    /// stops and no poll runs.
    fn renew_leases(&self) {
        if self.0.renewing.swap(true, Ordering::SeqCst) {
            return;
        }
        let inner = Arc::clone(&self.0);
        self.0.tasks.spawn(async move {
            loop {
                tokio::select! {
                    () = inner.while_running(CANCEL_CHECK_INTERVAL) => {}
                    () = inner.finished() => return,
                }
                if let Err(error) = inner.end_cancelled().await
                    && let Some(suppressed) = failures::NOT_LOADED.admit()
                {
                    tracing::warn!(error = %error, suppressed, "failed to load cancelled polls");
                }
            }
        });
        let inner = Arc::clone(&self.0);
        self.0.tasks.spawn(async move {
            loop {
                tokio::select! {
                    () = tokio::time::sleep(inner.lease / 3) => {}
                    () = inner.finished() => return,
                }
                if let Err(error) = inner.renew().await {
                    tracing::warn!(error = %error, "failed to renew leases");
                }
            }
        });
    }

    /// Stops running polls and ends their leases, so that other processes can resume them immediately.
    pub async fn release(&self) -> Result<()> {
        let inner = &self.0;
        inner.released.store(true, Ordering::SeqCst);
        let held: Vec<_> = inner
            .running
            .leases()
            .into_iter()
            .map(|(id, lease)| {
                let epoch = lease.epoch();
                lease.end(epoch);
                (id, epoch)
            })
            .collect();
        if let Some((first, _)) = held.first() {
            inner.polls.renew(&held, Duration::ZERO).await?;
            inner.announce_released(first).await;
        }
        Ok(())
    }

    /// Returns the number of running and queued polls of this process.
    pub fn running(&self) -> usize {
        self.0.running.count()
    }

    fn is_stopping(&self) -> bool {
        self.0.tasks.token().is_cancelled()
    }

    fn begin(&self, job: Job) {
        self.renew_leases();
        work::begin(Arc::clone(&self.0), job);
        self.0.begun.notify_one();
    }
}

impl Inner {
    /// Returns a new lease of this process.
    fn lease(&self) -> Lease {
        Lease { worker: self.worker.clone(), lasts: self.lease }
    }

    fn is_released(&self) -> bool {
        self.released.load(Ordering::SeqCst)
    }

    /// Renews the leases of the polls running here. Those adopted by other processes end.
    async fn renew(&self) -> Result<(), StoreError> {
        let leases = self.running.leases();
        let held: Vec<_> = leases.iter().map(|(id, lease)| (id.clone(), lease.epoch())).collect();
        if held.is_empty() || self.is_released() {
            return Ok(());
        }
        let until = Instant::now() + self.lease;
        let renewed: HashSet<PollId> = self.polls.renew(&held, self.lease).await?.into_iter().collect();
        for ((id, lease), (_, epoch)) in leases.iter().zip(held) {
            if renewed.contains(id) {
                lease.renew(epoch, until);
            } else {
                lease.end(epoch);
            }
        }
        Ok(())
    }

    /// Waits until a poll runs here, and then for `time`.
    async fn while_running(&self, time: Duration) {
        while self.running.count() == 0 {
            self.begun.notified().await;
        }
        tokio::time::sleep(time).await;
    }

    /// Cancels the polls running here that are marked as cancelled.
    async fn end_cancelled(&self) -> Result<(), StoreError> {
        for id in self.polls.cancelled_of(&self.worker).await? {
            self.running.cancel(&id);
        }
        Ok(())
    }

    /// Resolves when the service is stopping and no poll runs here any more.
    async fn finished(&self) {
        self.tasks.stopping().await;
        while !self.is_released() && self.running.count() > 0 {
            tokio::time::sleep(STOP_CHECK_INTERVAL).await;
        }
    }
}

const POLL_GAUGES: Gauges = Gauges { running: "ep_polls_running", waiting: "ep_polls_waiting" };
const BATCH_GAUGES: Gauges = Gauges { running: "ep_batch_polls_running", waiting: "ep_batch_polls_waiting" };

/// Maximum polls adopted at once.
const ADOPT_AT_ONCE: usize = 32;

/// Maximum polls adopted at once without free slots.
const ADOPT_WITHOUT_ROOM: u32 = 8;

/// Time for finding out whether a poll was opened despite a database failure.
const OPEN_CHECK_TIMEOUT: Duration = Duration::from_secs(5);

/// Interval of loading this process's cancelled polls.
const CANCEL_CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// Interval at which a stopping service checks for running polls.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// Returns the fault for a full queue.
fn busy() -> Fault {
    Fault::new(
        Kind::Busy,
        "too many polls are running and waiting here; send the request again in a few seconds",
    )
    .retry_after(Duration::from_secs(10))
}
