//! Polls running in this process, and their watchers.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::lease::HeldLease;
use crate::caller::Caller;
use ep_polling::{Ballot, ModelCounts, PollId, Tally};
use ep_store::{Closing, PollRecord};

/// The state of a poll: its plan, its ballots so far, and its closing.
#[derive(Debug, Clone)]
pub struct PollState {
    /// The plan and, once the poll has ended, the closing.
    pub record: Arc<PollRecord>,
    /// The ballots so far, in order.
    pub ballots: Vec<Arc<Ballot>>,
}

impl PollState {
    /// Returns true if this caller opened the poll. The operator's process may act for every owner.
    pub fn is_of(&self, caller: &Caller) -> bool {
        *caller == Caller::Local || caller.user().is_some_and(|user| self.record.owner == Some(user))
    }

    /// Returns the tally of the ballots so far.
    pub fn tally(&self) -> Tally {
        let votes = self.ballots.iter().map(|ballot| ballot.vote.as_ref().ok().copied());
        Tally::of(self.record.plan.options.len(), votes)
    }

    /// Returns the numbers of models so far, or at the end.
    pub fn models(&self) -> ModelCounts {
        let unused = self.record.closing.as_ref().map_or(0, |closing| closing.unused_calls);
        let roster = self.record.plan.roster.len() as u32;
        ModelCounts::new(roster, self.ballots.len() as u32, self.tally().votes(), unused)
    }
}

/// The polls of this process, including queued ones.
#[derive(Default)]
pub(super) struct RunningPolls(Mutex<HashMap<PollId, Running>>);

/// A running or queued poll.
#[derive(Clone)]
pub(super) struct Running {
    state: watch::Receiver<PollState>,
    pub(super) cancel: CancellationToken,
    pub(super) lease: Arc<HeldLease>,
    /// True if an agent subscribed to its end.
    pub(super) notifies_agent: Arc<AtomicBool>,
    /// Number in the queue, if it had to wait.
    pub(super) ticket: Option<u64>,
}

impl RunningPolls {
    pub(super) fn add(
        &self,
        state: PollState,
        lease: HeldLease,
        ticket: Option<u64>,
    ) -> (watch::Sender<PollState>, Running) {
        let id = state.record.id.clone();
        let (sender, state) = watch::channel(state);
        let running = Running {
            state,
            cancel: CancellationToken::new(),
            lease: Arc::new(lease),
            notifies_agent: Arc::default(),
            ticket,
        };
        if let Ok(mut polls) = self.0.lock() {
            polls.insert(id, running.clone());
        }
        (sender, running)
    }

    pub(super) fn get(&self, id: &PollId) -> Option<Running> {
        self.0.lock().ok()?.get(id).cloned()
    }

    /// Returns the leases of all polls.
    pub(super) fn leases(&self) -> Vec<(PollId, Arc<HeldLease>)> {
        let leases = |polls: MutexGuard<'_, HashMap<PollId, Running>>| {
            polls.iter().map(|(id, running)| (id.clone(), Arc::clone(&running.lease))).collect()
        };
        self.0.lock().map(leases).unwrap_or_default()
    }

    pub(super) fn cancel(&self, id: &PollId) -> bool {
        self.get(id).map(|poll| poll.cancel.cancel()).is_some()
    }

    /// Removes a poll, unless it has been started again under another lease.
    pub(super) fn remove(&self, id: &PollId, lease: &Arc<HeldLease>) {
        if let Ok(mut running) = self.0.lock()
            && running.get(id).is_some_and(|poll| Arc::ptr_eq(&poll.lease, lease))
        {
            running.remove(id);
        }
    }

    pub(super) fn watch(&self, id: &PollId) -> Option<Watch> {
        Some(Watch::of(self.get(id)?.state))
    }

    pub(super) fn count(&self) -> usize {
        self.0.lock().map_or(0, |running| running.len())
    }
}

/// Watches one poll.
pub(super) struct Watch {
    receiver: watch::Receiver<PollState>,
    seen: usize,
}

impl Watch {
    pub(super) const fn of(receiver: watch::Receiver<PollState>) -> Self {
        Self { receiver, seen: 0 }
    }

    /// Returns this watch as if it had returned this many ballots.
    pub(super) fn after(self, seen: usize) -> Self {
        Self { seen, ..self }
    }

    /// Returns the current state.
    pub(super) fn state(&self) -> PollState {
        self.receiver.borrow().clone()
    }

    /// Returns the stored poll.
    pub(super) fn record(&self) -> Arc<PollRecord> {
        Arc::clone(&self.receiver.borrow().record)
    }

    /// Returns the number of ballots already returned by [`Self::next`].
    pub(super) const fn seen(&self) -> usize {
        self.seen
    }

    /// Waits for ballots since the last call and returns them: an empty list once the poll has ended, `None`
    /// if its end is not published here.
    pub(super) async fn next(&mut self) -> Option<Vec<Arc<Ballot>>> {
        loop {
            {
                let state = self.receiver.borrow_and_update();
                let new = state.ballots.get(self.seen..).unwrap_or_default().to_vec();
                if !new.is_empty() || state.record.closing.is_some() {
                    self.seen += new.len();
                    return Some(new);
                }
            }
            self.receiver.changed().await.ok()?;
        }
    }
}

/// Publishes new ballots to the watchers.
pub(super) fn publish(sender: &watch::Sender<PollState>, ballots: &[Ballot]) {
    sender.send_modify(|state| state.ballots.extend(ballots.iter().cloned().map(Arc::new)));
}

/// Publishes the end of the poll to the watchers.
pub(super) fn publish_end(sender: &watch::Sender<PollState>, closing: Closing, settled: bool) {
    sender.send_modify(|state| {
        let record = Arc::make_mut(&mut state.record);
        record.closing = Some(closing);
        record.settled = settled;
    });
}
