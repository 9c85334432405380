//! Polls running in this process, and their watchers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::fault::Fault;
use crate::ports::{Closing, PollRecord};
use ep_polling::ballot::Ballot;
use ep_polling::poll_id::PollId;
use ep_polling::tally::Tally;

/// The state of a poll: its plan, its ballots so far, and how it ended.
#[derive(Debug, Clone)]
pub struct PollState {
    /// Its plan, and how it ended, once it has.
    pub record: Arc<PollRecord>,
    /// Its ballots so far, in order.
    pub ballots: Vec<Arc<Ballot>>,
}

impl PollState {
    /// Its votes so far.
    pub fn tally(&self) -> Tally {
        let votes = self.ballots.iter().map(|ballot| ballot.vote.as_ref().ok().copied());
        Tally::of(self.record.plan.options.len(), votes)
    }
}

/// The polls this process runs.
#[derive(Default)]
pub(super) struct RunningPolls(Mutex<HashMap<PollId, Running>>);

struct Running {
    state: watch::Receiver<PollState>,
    cancel: CancellationToken,
}

impl RunningPolls {
    pub(super) fn add(&self, state: PollState) -> (watch::Sender<PollState>, CancellationToken) {
        let id = state.record.id.clone();
        let (sender, receiver) = watch::channel(state);
        let cancel = CancellationToken::new();
        if let Ok(mut running) = self.0.lock() {
            running.insert(id, Running { state: receiver, cancel: cancel.clone() });
        }
        (sender, cancel)
    }

    pub(super) fn cancel(&self, id: &PollId) -> bool {
        self.0.lock().is_ok_and(|running| running.get(id).map(|poll| poll.cancel.cancel()).is_some())
    }

    pub(super) fn remove(&self, id: &PollId) {
        if let Ok(mut running) = self.0.lock() {
            running.remove(id);
        }
    }

    pub(super) fn watch(&self, id: &PollId) -> Option<Watch> {
        let receiver = self.0.lock().ok()?.get(id)?.state.clone();
        Some(Watch { receiver, seen: 0 })
    }

    pub(super) fn count(&self) -> usize {
        self.0.lock().map_or(0, |running| running.len())
    }
}

/// Follows one running poll.
pub(super) struct Watch {
    receiver: watch::Receiver<PollState>,
    seen: usize,
}

impl Watch {
    /// The current state.
    pub(super) fn state(&self) -> PollState {
        self.receiver.borrow().clone()
    }

    /// Waits for ballots since the last call and returns them; an empty list once the poll has ended.
    pub(super) async fn next(&mut self) -> Result<Vec<Arc<Ballot>>, Fault> {
        loop {
            {
                let state = self.receiver.borrow_and_update();
                let new = state.ballots[self.seen..].to_vec();
                if !new.is_empty() || state.record.closing.is_some() {
                    self.seen += new.len();
                    return Ok(new);
                }
            }
            if self.receiver.changed().await.is_err() {
                return Err(super::interrupted(&self.receiver.borrow().record.id));
            }
        }
    }
}

/// Shows new ballots to the watchers.
pub(super) fn publish(sender: &watch::Sender<PollState>, ballots: &[Ballot]) {
    sender.send_modify(|state| state.ballots.extend(ballots.iter().cloned().map(Arc::new)));
}

/// Shows the end of the poll to the watchers.
pub(super) fn publish_end(sender: &watch::Sender<PollState>, closing: Closing, settled: bool) {
    sender.send_modify(|state| {
        let record = Arc::make_mut(&mut state.record);
        record.closing = Some(closing);
        record.settled = settled;
    });
}
