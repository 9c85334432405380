//! Polls and their ballots.

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{CLOCKS_APART, StoreError};
use crate::caller::{CappedKey, UserId};
use crate::webhook_url::WebhookUrl;
use ep_polling::ballot::Ballot;
use ep_polling::money::{Hold, MicroUsd, Settlement};
use ep_polling::plan::Plan;
use ep_polling::poll_id::PollId;
use ep_polling::stopping::TerminationReason;
use ep_polling::time::Timestamp;

/// A new poll.
#[derive(Debug, Clone)]
pub struct NewPoll {
    /// Its id.
    pub id: PollId,
    /// The user who owns and pays for it; `None` for a free poll.
    pub owner: Option<UserId>,
    /// Question, options, roster and limits.
    pub plan: Plan,
    /// When it is opened.
    pub created_at: Timestamp,
    /// Identifies the idempotent request that opens it: the same reference opens one poll only.
    pub request_ref: Option<String>,
    /// What to set aside; `None` if nobody is billed.
    pub hold: Option<Hold>,
    /// The capped key that the hold counts against.
    pub capped: Option<CappedKey>,
    /// Where its owner is told that it has ended. `None`: where the owner hears of all its polls, if anywhere.
    pub notify: Option<WebhookUrl>,
    /// How long it may take from now on; `None` if it waits for its turn and [`PollStore::start`] says so
    /// later.
    pub time: Option<Duration>,
}

/// The result of opening a poll.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opened {
    /// The poll is open and leased to the worker, in [`Epoch::FIRST`].
    New {
        /// The amount set aside; `None` if no hold was requested.
        held: Option<MicroUsd>,
        /// Whether its owner is told that it has ended.
        notifies: bool,
    },
    /// The same request has opened this poll before; nothing changed.
    Existing(PollId),
}

/// A process's claim on a poll that it runs, renewed while it does. Time is measured by the database's clock.
#[derive(Debug, Clone)]
pub struct Lease {
    /// A name unique to the process.
    pub worker: String,
    /// How long from now until other processes may adopt the poll.
    pub lasts: Duration,
}

impl Lease {
    /// The longest time that a lease of this length can have left. A later end was written by a clock that was
    /// ahead and has been set right since.
    pub const fn longest(lasts: Duration) -> Duration {
        lasts.saturating_add(CLOCKS_APART)
    }
}

/// Counts how often a poll has been leased. Whoever writes names the epoch of its lease, and is refused once
/// another process has adopted the poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Epoch(i64);

impl Epoch {
    /// The lease that a poll is opened with.
    pub const FIRST: Self = Self(1);

    /// The epoch with this number.
    pub const fn new(number: i64) -> Self {
        Self(number)
    }

    /// Its number.
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

/// A poll that has just been adopted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adopted {
    /// Its id.
    pub id: PollId,
    /// The epoch of the new lease.
    pub epoch: Epoch,
    /// How much of its time is left; `None` if its time has not begun.
    pub left: Option<Duration>,
}

/// A poll as stored.
#[derive(Debug, Clone, PartialEq)]
pub struct PollRecord {
    /// Its id.
    pub id: PollId,
    /// The user who owns and pays for it; `None` for a free poll.
    pub owner: Option<UserId>,
    /// Question, options, roster and limits, fixed when it was opened.
    pub plan: Plan,
    /// When it was opened.
    pub created_at: Timestamp,
    /// The amount set aside for it; `None` if nobody is billed.
    pub held: Option<MicroUsd>,
    /// How it ended, once it has.
    pub closing: Option<Closing>,
    /// Whether it is closed and its hold, if any, has ended.
    pub settled: bool,
}

/// How far a poll is.
#[derive(Debug, Clone, PartialEq)]
pub struct PollProgress {
    /// The sequence number of its last ballot; 0 before the first.
    pub ballots: u32,
    /// How it ended, once it has: then it gets no more ballots.
    pub closing: Option<Closing>,
    /// Whether it is closed and its hold, if any, has ended.
    pub settled: bool,
}

/// How a poll ended. Its tally and its votes follow from its ballots.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Closing {
    /// The rule that ended it; `None` if it was cancelled, or nobody could go on with it in time.
    pub reason: Option<TerminationReason>,
    /// Whether its owner ended it.
    #[serde(default)]
    pub cancelled: bool,
    /// The bound on the probability that the whole roster would have answered otherwise. Stored instead of
    /// the confidence (one minus it), which would round very small values away.
    pub p_value: f64,
    /// From the first call to the last answer that counted, in milliseconds.
    pub gather_ms: u64,
    /// Of that, the time during which at least one call was in flight, in microseconds.
    pub upstream_us: u64,
    /// From acceptance to the close, in milliseconds.
    pub total_ms: u64,
    /// When it closed.
    pub closed_at: Timestamp,
    /// Members asked whose answers came too late to count; 0 for polls closed before this was kept.
    #[serde(default)]
    pub unused_calls: u32,
    /// What calls cost whose answers were not used, because the poll had ended or was interrupted; `None` until
    /// those still in flight at the close have ended.
    pub unused_calls_cost: Option<MicroUsd>,
    /// An estimate of that cost: charged in its place if the process ends before the calls do.
    #[serde(default)]
    pub unused_calls_estimate: MicroUsd,
}

/// Stores polls and ballots.
///
/// A failed operation may have been carried out all the same: the connection can break after the commit.
/// Whatever reads a poll of a form that this program does not know fails with [`StoreError::UnknownForm`].
#[async_trait]
pub trait PollStore: Send + Sync {
    /// Opens a poll, leases it and sets its hold aside, in one transaction, acknowledged once a power loss
    /// cannot undo it. The hold takes the lesser of `at_most` and what is available;
    /// [`StoreError::InsufficientBalance`] if less than `at_least` is. [`StoreError::Conflict`] if the id
    /// exists, [`StoreError::NotFound`] for an unknown owner or a hold without an owner.
    async fn open(&self, poll: &NewPoll, lease: &Lease) -> Result<Opened, StoreError>;

    /// Begins the time of a poll that has waited for its turn. [`StoreError::NotFound`] if the poll is not
    /// running in this epoch.
    async fn start(&self, poll: &PollId, epoch: Epoch, time: Duration) -> Result<(), StoreError>;

    /// Adds ballots, all or none. Acknowledged once a crash of the process cannot undo them.
    /// [`StoreError::Conflict`] if a member or a sequence number has a ballot already;
    /// [`StoreError::NotFound`] if the poll is not running in this epoch, so that nothing is added to a closed
    /// poll, or to one that another process runs.
    async fn record(&self, poll: &PollId, epoch: Epoch, ballots: &[Ballot]) -> Result<(), StoreError>;

    /// Closes a running poll and, unless calls are still in flight, captures its hold, in one transaction,
    /// acknowledged once a power loss cannot undo it. [`StoreError::NotFound`] if the poll is not running in
    /// this epoch.
    async fn close(
        &self,
        poll: &PollId,
        epoch: Epoch,
        closing: &Closing,
        settlement: Settlement,
    ) -> Result<(), StoreError>;

    /// Settles a closed poll whose calls in flight have ended: captures `capture` (never more than the
    /// hold), releases the rest and stores what the unused calls cost. `false` if it was settled before;
    /// [`StoreError::NotFound`] if the poll is not closed, or is another epoch's.
    async fn settle(
        &self,
        poll: &PollId,
        epoch: Epoch,
        capture: MicroUsd,
        unused: MicroUsd,
        at: Timestamp,
    ) -> Result<bool, StoreError>;

    /// The poll with this id.
    async fn poll(&self, id: &PollId) -> Result<Option<PollRecord>, StoreError>;

    /// The poll that was opened with this request reference.
    async fn opened_by(&self, request_ref: &str) -> Result<Option<PollId>, StoreError>;

    /// How far a poll is.
    async fn progress(&self, id: &PollId) -> Result<Option<PollProgress>, StoreError>;

    /// The ballots of a poll with a sequence number above `after`, in order.
    async fn ballots(&self, id: &PollId, after: u32) -> Result<Vec<Ballot>, StoreError>;

    /// Leases up to `limit` polls to this worker whose lease ended at least `ago`: running ones, and closed ones
    /// that were never settled. Each poll goes to one worker only, in a new epoch. A lease that ends later than any
    /// correct clock allows counts as ended: see [`Lease::longest`]. Polls of an unknown form are left alone.
    async fn adopt(&self, lease: &Lease, ago: Duration, limit: u32) -> Result<Vec<Adopted>, StoreError>;

    /// Makes the leases on these polls last this long from now, where they are still of these epochs; returns
    /// those. No time at all ends them.
    async fn renew(&self, held: &[(PollId, Epoch)], lasts: Duration) -> Result<Vec<PollId>, StoreError>;

    /// Asks whoever runs a poll to end it, for good; `false` if it has ended without that, or there is
    /// none.
    async fn cancel(&self, id: &PollId, at: Timestamp) -> Result<bool, StoreError>;

    /// Whether a poll is to be ended.
    async fn is_cancelled(&self, id: &PollId) -> Result<bool, StoreError>;

    /// The running polls leased to this worker that are to be ended.
    async fn cancelled_of(&self, worker: &str) -> Result<Vec<PollId>, StoreError>;

    /// Deletes a settled poll for good, in one transaction: its question, options, ballots, feedback, agent tasks,
    /// notifications and stored replies. A row with its id, owner, times and cost stays, because the ledger refers to
    /// it; every other operation treats the poll as missing. Acknowledged once a power loss cannot undo it.
    /// [`StoreError::NotFound`] if the poll does not exist or was deleted before.
    async fn delete(&self, id: &PollId, at: Timestamp) -> Result<PollDeletion, StoreError>;

    /// Whether the database can be read and written.
    async fn ping(&self) -> Result<(), StoreError>;
}
