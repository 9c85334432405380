//! The poll executor: opens polls, runs them under a lease, lets others watch, settles the money, and
//! resumes what a crash interrupted.
//!
//! An accepted poll belongs to the database, not to the connection it came through. Its ballots are its
//! event log: watchers of a running poll read the copy in this process's memory, everyone else reads the
//! database, and both see the same.

mod follow;
mod live;
mod projection;
mod recent;
pub mod run;
mod work;

use std::sync::Arc;
use std::time::Duration;

use crate::caller::UserId;
use crate::fault::{Fault, Kind};
use crate::ports::{Clock, Entropy, Lease, Models, NewPoll, Opened, PollRecord, PollStore};
use crate::tasks::Tasks;
use ep_polling::order::Seed;
use ep_polling::plan::{Draft, Plan};
use ep_polling::poll_id::PollId;
use ep_polling::roster::Roster;
use ep_polling::stopping::{Evidence, Rule, answers_needed};

pub use follow::Follow;
pub use live::PollState;
pub use projection::EventProjection;

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
    running: live::RunningPolls,
    recent: recent::RecentLatencies,
    /// Recently read polls that can never change again.
    settled: quick_cache::sync::Cache<PollId, PollState>,
}

/// Settled polls kept in memory: about 20 kB each.
const SETTLED_POLLS: usize = 500;

/// What the executor works with.
pub struct Ports {
    /// Polls and ballots.
    pub polls: Arc<dyn PollStore>,
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
    /// An executor whose leases last `lease` and whose polls may take `deadline`.
    pub fn new(ports: Ports, lease: Duration, deadline: Duration) -> Self {
        let Ports { polls, models, clock, entropy, tasks } = ports;
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
            running: live::RunningPolls::default(),
            recent: recent::RecentLatencies::default(),
            settled: quick_cache::sync::Cache::new(SETTLED_POLLS),
        }))
    }

    /// Plans a poll without opening it: for estimates and dry runs.
    pub fn plan(&self, draft: Draft, roster: Roster) -> Plan {
        Plan::new(draft, roster, Seed::new(self.0.entropy.bytes()), self.0.deadline)
    }

    /// How many calls the poll starts before its first answer: what its hold must cover at least.
    pub fn first_wave(plan: &Plan) -> usize {
        let members = plan.roster.len() as u32;
        let standing = Evidence { leader: 0, rival: 0, remaining: members };
        answers_needed(&Rule::for_threshold(plan.threshold), standing) as usize
    }

    /// Opens a poll and starts it. The same `request_ref` opens the same poll once.
    pub async fn open(
        &self,
        plan: Plan,
        owner: Option<UserId>,
        billed: bool,
        request_ref: Option<String>,
    ) -> Result<PollId, Fault> {
        let inner = &self.0;
        let created_at = inner.clock.now();
        let id = PollId::new(created_at, inner.entropy.bytes());
        let hold = billed.then(|| plan.hold(Self::first_wave(&plan)));
        let poll = NewPoll { id: id.clone(), owner, plan, created_at, request_ref, hold };
        match inner.polls.open(&poll, &inner.lease()).await? {
            Opened::Existing(id) => Ok(id),
            Opened::New { held } => {
                let NewPoll { id, owner, plan, created_at, .. } = poll;
                let record = PollRecord {
                    id: id.clone(),
                    owner,
                    plan,
                    created_at,
                    held,
                    closing: None,
                    settled: false,
                };
                let preset = record.plan.preset.clone().unwrap_or_else(|| "named".to_owned());
                metrics::counter!("ep_polls_opened_total", "preset" => preset).increment(1);
                self.begin(record, Vec::new());
                Ok(id)
            }
        }
    }

    /// The state of a poll, running or closed.
    pub async fn state(&self, id: &PollId) -> Result<Option<PollState>, Fault> {
        if let Some(watch) = self.0.running.watch(id) {
            return Ok(Some(watch.state()));
        }
        if let Some(state) = self.0.settled.get(id) {
            return Ok(Some(state));
        }
        let Some(record) = self.0.polls.poll(id).await? else { return Ok(None) };
        let ballots = self.0.polls.ballots(id, 0).await?;
        let state =
            PollState { record: Arc::new(record), ballots: ballots.into_iter().map(Arc::new).collect() };
        if state.record.settled {
            self.0.settled.insert(id.clone(), state.clone());
        }
        Ok(Some(state))
    }

    /// Follows a poll to its end, whichever process runs it.
    pub async fn follow(&self, id: &PollId) -> Result<Option<Follow>, Fault> {
        if let Some(watch) = self.0.running.watch(id) {
            return Ok(Some(Follow::in_memory(self.clone(), watch)));
        }
        let state = self.state(id).await?;
        Ok(state.map(|state| Follow::in_database(self.clone(), state)))
    }

    /// The median time of this process's recent votes, in milliseconds; `None` before the first one.
    pub fn typical_vote_ms(&self) -> Option<u32> {
        self.0.recent.median()
    }

    /// Ends a poll that this process runs, with the votes it has; `false` if it runs none of that id.
    pub fn cancel(&self, id: &PollId) -> bool {
        self.0.running.cancel(id)
    }

    /// Resumes polls whose lease has ended; returns how many.
    pub async fn resume(&self) -> Result<usize, Fault> {
        let inner = &self.0;
        let adopted = inner.polls.adopt(&inner.lease(), inner.clock.now(), 32).await?;
        let mut count = 0;
        for record in adopted {
            // After a pause longer than the lease, these can be this process's own polls.
            if inner.running.watch(&record.id).is_some() {
                continue;
            }
            count += 1;
            let ballots = inner.polls.ballots(&record.id, 0).await?;
            tracing::info!(poll = %record.id, ballots = ballots.len(), "resuming a poll");
            match &record.closing {
                Some(_) => work::settle_interrupted(inner, &record, &ballots).await?,
                None => self.begin(record, ballots),
            }
        }
        Ok(count)
    }

    /// Renews this process's leases.
    pub async fn renew(&self) -> Result<(), Fault> {
        self.0.polls.renew(&self.0.lease()).await?;
        Ok(())
    }

    /// Ends this process's leases, so that another process can resume its polls at once.
    pub async fn release(&self) -> Result<(), Fault> {
        let lease = Lease { worker: self.0.worker.clone(), until: self.0.clock.now() };
        self.0.polls.renew(&lease).await?;
        Ok(())
    }

    /// How many polls this process runs.
    pub fn running(&self) -> usize {
        self.0.running.count()
    }

    fn begin(&self, record: PollRecord, prior: Vec<ep_polling::ballot::Ballot>) {
        work::begin(Arc::clone(&self.0), record, prior);
    }
}

impl Inner {
    fn lease(&self) -> Lease {
        Lease { worker: self.worker.clone(), until: self.clock.now().after(self.lease) }
    }
}

/// The fault returned to followers of a poll that this process could not finish.
fn interrupted(id: &PollId) -> Fault {
    Fault::new(
        Kind::PollFailed,
        format!(
            "poll {id} was interrupted; its votes are kept and it will be resumed: ask for its result later"
        ),
    )
}
