//! Polls as records, and the contract of their store.

use std::time::Duration;

use async_trait::async_trait;
use ep_polling::{
    Ballot, Explanation, Hold, MicroUsd, Plan, PollId, Settlement, TerminationReason, Timestamp,
};
use serde::{Deserialize, Serialize};

use crate::batches::BatchId;
use crate::ids::UserId;
use crate::keys::CappedKey;
use crate::lease::Lease;
use crate::row::{columns, from_row};
use crate::store_error::{Result, StoreError};
use crate::webhooks::WebhookUrl;

/// A new poll.
#[derive(Debug, Clone)]
pub struct NewPoll {
    /// The poll's id.
    pub id: PollId,
    /// The user who owns and pays for it; `None` for a free poll.
    pub owner: Option<UserId>,
    /// Question, options, roster and limits.
    pub plan: Plan,
    /// The time of opening.
    pub created_at: Timestamp,
    /// Key of the idempotent request. Each key opens only one poll.
    pub request_ref: Option<String>,
    /// The hold; `None` if the poll is not billed.
    pub hold: Option<Hold>,
    /// The capped key that the hold counts against.
    pub capped: Option<CappedKey>,
    /// URL for the end notification. `None` for the URL of the owner's webhook, if any.
    pub notify: Option<WebhookUrl>,
    /// The batch that the poll belongs to. Its hold is drawn from the money of the batch, and its end is not notified.
    pub batch: Option<BatchId>,
    /// Time limit from now on; `None` if the poll is queued and [`PollStore::start`] sets the limit later.
    pub time: Option<Duration>,
}

/// The result of opening a poll.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opened {
    /// The poll is open and leased to the worker, in [`Epoch::FIRST`].
    New {
        /// The amount set aside; `None` if no hold was requested.
        held: Option<MicroUsd>,
        /// True if the end of the poll has a notification.
        notifies: bool,
    },
    /// The same request opened this poll earlier; nothing changed.
    Existing(PollId),
}

/// The number of leases of a poll. Each write names the epoch of its lease, and is rejected once another
/// process has adopted the poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Epoch(i64);

impl Epoch {
    /// The epoch of a new poll.
    pub const FIRST: Self = Self(1);

    /// Creates the epoch with this number.
    pub const fn new(number: i64) -> Self {
        Self(number)
    }

    /// Returns the number.
    pub const fn number(self) -> i64 {
        self.0
    }
}

/// The result of deleting a poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PollDeletion {
    /// The poll is deleted.
    Deleted,
    /// The poll runs, or its cost is not charged yet; nothing changed.
    Unsettled,
}

/// A newly adopted poll.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdoptedPoll {
    /// The poll's id.
    pub id: PollId,
    /// The epoch of the new lease.
    pub epoch: Epoch,
    /// The remaining time; `None` if its time has not started.
    pub left: Option<Duration>,
}

/// A poll as stored.
#[derive(Debug, Clone, PartialEq)]
pub struct PollRecord {
    /// The poll's id.
    pub id: PollId,
    /// The user who owns and pays for it; `None` for a free poll.
    pub owner: Option<UserId>,
    /// Question, options, roster and limits, fixed at the opening.
    pub plan: Plan,
    /// The time of opening.
    pub created_at: Timestamp,
    /// The amount held; `None` if the poll is not billed.
    pub held: Option<MicroUsd>,
    /// The decision of a poll that has not ended, because its voters are asked for explanations.
    pub decided: Option<Closing>,
    /// The closing, if the poll has ended.
    pub closing: Option<Closing>,
    /// True if the poll is closed and its hold, if any, is released.
    pub settled: bool,
}

/// The progress of a poll.
#[derive(Debug, Clone, PartialEq)]
pub struct PollProgress {
    /// The sequence number of its last ballot; 0 before the first.
    pub ballots: u32,
    /// The closing, if the poll has ended. No ballots follow it.
    pub closing: Option<Closing>,
    /// True if the poll is closed and its hold, if any, is released.
    pub settled: bool,
}

/// The closing of a poll. The tally and the votes follow from its ballots.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Closing {
    /// The rule that ended the poll; `None` if it was cancelled, or no process continued it in time.
    pub reason: Option<TerminationReason>,
    /// True if the owner cancelled the poll.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cancelled: bool,
    /// Bound on the probability that the whole roster would choose another option. Stored instead of the
    /// confidence (one minus it), which would round very small values away.
    #[serde(default, skip_serializing_if = "is_default")]
    pub p_value: f64,
    /// Time from the first call to the last counted response, in milliseconds.
    pub gather_ms: u64,
    /// The part of it with at least one call in flight, in microseconds.
    pub upstream_us: u64,
    /// Time from acceptance to the close, in milliseconds.
    pub total_ms: u64,
    /// The time of the close.
    pub closed_at: Timestamp,
    /// The version of the reader of its votes, [`ep_polling::ballot::READER`].
    pub reader: u32,
    /// Number of models called with responses too late to count.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unused_calls: u32,
    /// Cost of calls with unused responses, because the poll had ended or was interrupted; `None` until the
    /// calls in flight at the close have ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unused_calls_cost: Option<MicroUsd>,
    /// Estimate of this cost, charged instead if the process ends before the calls.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unused_calls_estimate: MicroUsd,
    /// The outcomes of asking voters for explanations. Stored apart, because they are deleted with the ballots.
    #[serde(skip)]
    pub explanations: Vec<Explanation>,
}

impl Closing {
    /// Sets the time of the close and the duration of the poll. The poll may have been opened by a process with a
    /// clock that is ahead.
    pub fn end_at(&mut self, now: Timestamp, created_at: Timestamp) {
        self.closed_at = now.max(created_at);
        let total = self.closed_at.since(created_at).as_millis() as u64;
        self.total_ms = total.max(self.gather_ms);
    }

    /// Returns the cost of the explanations.
    pub fn explanations_cost(&self) -> MicroUsd {
        self.explanations.iter().map(|explanation| explanation.spend.amount).sum()
    }
}

/// True for a value that is omitted from the stored JSON.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The opening of a poll by a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PollOpening {
    /// The poll's id.
    pub id: PollId,
    /// Time at which the poll was opened.
    pub created_at: Timestamp,
    /// True if the process that opened the poll ended, or paused, before the poll did.
    pub is_interrupted: bool,
}

/// Stores polls and ballots.
///
/// A failed operation may have been committed, because the connection can break after the commit. Reading a
/// poll in a format unknown to this program fails with [`StoreError::UnknownForm`].
#[async_trait]
pub trait PollStore: Send + Sync {
    /// Opens a poll, leases it and sets its hold aside, in one transaction, acknowledged once a power loss
    /// cannot undo it. The hold takes the lesser of `at_most` and the available balance;
    /// [`StoreError::InsufficientBalance`] if less than `at_least` is available. [`StoreError::Conflict`] if
    /// the id exists, [`StoreError::NotFound`] for an unknown owner or a hold without an owner.
    async fn open(&self, poll: &NewPoll, lease: &Lease) -> Result<Opened> {
        let opened = self.open_all(std::slice::from_ref(poll), lease).await?;
        opened.into_iter().next().ok_or(StoreError::NotFound("poll"))
    }

    /// Opens polls like [`open`](Self::open), all or none, in one transaction.
    async fn open_all(&self, polls: &[NewPoll], lease: &Lease) -> Result<Vec<Opened>>;

    /// Starts the time of a queued poll. [`StoreError::NotFound`] if the poll is not running in this epoch.
    async fn start(&self, poll: &PollId, epoch: Epoch, time: Duration) -> Result<()>;

    /// Adds ballots, all or none. Acknowledged once a crash of the process cannot undo them.
    /// [`StoreError::Conflict`] if a member already has a ballot;
    /// [`StoreError::NotFound`] if the poll is not running in this epoch, so that nothing is added to a
    /// closed poll or to a poll of another process.
    async fn record(&self, poll: &PollId, epoch: Epoch, ballots: &[Ballot]) -> Result<()>;

    /// Adds the last ballots of a running poll and stores its decision, in one transaction. The poll runs on until
    /// its explanations are complete. A later call replaces the decision and its explanations. Acknowledged once a
    /// crash of the process cannot undo it. Fails like [`record`](Self::record).
    async fn decide(&self, poll: &PollId, epoch: Epoch, last: &[Ballot], decided: &Closing) -> Result<()>;

    /// Adds the last ballots of a running poll and closes it, in one transaction, acknowledged once a power
    /// loss cannot undo it. Captures its hold unless calls are still in flight. Fails like
    /// [`record`](Self::record).
    async fn close(
        &self,
        poll: &PollId,
        epoch: Epoch,
        last: &[Ballot],
        closing: &Closing,
        settlement: Settlement,
    ) -> Result<()>;

    /// Settles a closed poll after its calls in flight have ended: captures `capture` (at most the hold),
    /// releases the rest and stores the cost of the unused calls. Returns `false` if it was already settled;
    /// [`StoreError::NotFound`] if the poll is not closed, or belongs to another epoch.
    async fn settle(
        &self,
        poll: &PollId,
        epoch: Epoch,
        capture: MicroUsd,
        unused: MicroUsd,
        at: Timestamp,
    ) -> Result<bool>;

    /// Returns the poll with this id.
    async fn poll(&self, id: &PollId) -> Result<Option<PollRecord>>;

    /// Returns the opening of the poll with this request reference.
    async fn opened_by(&self, request_ref: &str) -> Result<Option<PollOpening>>;

    /// Returns the progress of a poll.
    async fn progress(&self, id: &PollId) -> Result<Option<PollProgress>>;

    /// Returns the ballots of a poll with a sequence number above `after`, in order.
    async fn ballots(&self, id: &PollId, after: u32) -> Result<Vec<Ballot>>;

    /// Leases up to `limit` polls with a lease that ended at least `ago` to this worker: running polls, and
    /// closed polls never settled. Each poll goes to only one worker, in a new epoch. A lease that ends later
    /// than any correct clock allows counts as ended: see [`Lease::longest`]. Polls of an unknown format are
    /// skipped.
    async fn adopt(&self, lease: &Lease, ago: Duration, limit: u32) -> Result<Vec<AdoptedPoll>>;

    /// Extends the leases on these polls to `lasts` from now, if they are still of these epochs, and returns
    /// their ids. Zero ends them.
    async fn renew(&self, held: &[(PollId, Epoch)], lasts: Duration) -> Result<Vec<PollId>>;

    /// Marks a poll as cancelled for good, so that its process ends it. Returns `false` if the poll does not
    /// exist, or ended without being cancelled.
    async fn cancel(&self, id: &PollId, at: Timestamp) -> Result<bool>;

    /// True if a poll is marked as cancelled.
    async fn is_cancelled(&self, id: &PollId) -> Result<bool>;

    /// Returns the running polls leased to this worker that are marked as cancelled.
    async fn cancelled_of(&self, worker: &str) -> Result<Vec<PollId>>;

    /// Deletes a settled poll for good, in one transaction: its question, options, ballots, feedback, agent
    /// tasks, notifications and stored replies. A row with its id, owner, times and cost remains, because the
    /// ledger refers to it; all other operations treat the poll as missing. Acknowledged once a power loss
    /// cannot undo it. `reply` takes the place of the stored replies about the poll, so that a repeated request opens no
    /// other. [`StoreError::NotFound`] if the poll does not exist or was already deleted.
    async fn delete(&self, id: &PollId, at: Timestamp, reply: &str) -> Result<PollDeletion>;

    /// Returns the time for which the only writer has waited for the lock of the database file, or for the disk. Zero if
    /// there are several writers. Work on a busy machine does not count.
    fn stalled_for(&self) -> Duration {
        Duration::ZERO
    }

    /// Fails if the database cannot be read and written.
    async fn ping(&self) -> Result<()>;
}

columns! {
    Epoch: i64, |number| Ok(Self(number)), Epoch::number;
}
from_row!(PollOpening { id, created_at, is_interrupted });
from_row!(AdoptedPoll { id, epoch, left });
