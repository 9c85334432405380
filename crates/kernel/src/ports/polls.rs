//! Polls and their ballots.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::StoreError;
use crate::caller::UserId;
use ep_polling::ballot::Ballot;
use ep_polling::money::{Hold, MicroUsd, Settlement};
use ep_polling::plan::Plan;
use ep_polling::poll_id::PollId;
use ep_polling::stopping::TerminationReason;
use ep_polling::time::Timestamp;

/// A poll to be opened.
#[derive(Debug, Clone)]
pub struct NewPoll {
    /// Its id.
    pub id: PollId,
    /// Who pays and owns it; nobody for a free poll.
    pub owner: Option<UserId>,
    /// What was fixed.
    pub plan: Plan,
    /// When.
    pub created_at: Timestamp,
    /// The idempotent request that opens it: a second poll with the same reference is the first one.
    pub request_ref: Option<String>,
    /// What to set aside; nothing where nobody is billed.
    pub hold: Option<Hold>,
}

/// What opening came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opened {
    /// The poll is open, leased to the worker, with this much set aside.
    New {
        /// The hold's amount; `None` where nothing was asked to be held.
        held: Option<MicroUsd>,
    },
    /// The same request has opened a poll before: this one.
    Existing(PollId),
}

/// A worker's claim on a running poll, renewed while it lives.
#[derive(Debug, Clone)]
pub struct Lease {
    /// A name no other process has.
    pub worker: String,
    /// When others may take the poll up.
    pub until: Timestamp,
}

/// A poll as stored.
#[derive(Debug, Clone, PartialEq)]
pub struct PollRecord {
    /// Its id.
    pub id: PollId,
    /// Who pays and owns it.
    pub owner: Option<UserId>,
    /// What was fixed when it opened.
    pub plan: Plan,
    /// When it opened.
    pub created_at: Timestamp,
    /// What was set aside for it; `None` where nobody is billed.
    pub held: Option<MicroUsd>,
    /// How it ended, once it has.
    pub closing: Option<Closing>,
    /// Whether its hold, if any, has been captured and released.
    pub settled: bool,
}

/// How a poll ended. Its tally and its votes are those of its ballots.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Closing {
    /// Which rule ended it; none where its owner cancelled it.
    pub reason: Option<TerminationReason>,
    /// The bound on the probability that the whole roster would have answered otherwise (one minus the
    /// confidence reached); kept itself, since it can be far below what one minus it could show.
    pub p_value: f64,
    /// From the first call to the last answer that counted, in milliseconds.
    pub gather_ms: u64,
    /// Of that, the time during which at least one call was in flight, in microseconds.
    pub upstream_us: u64,
    /// From acceptance to the close, in milliseconds.
    pub total_ms: u64,
    /// When it closed.
    pub closed_at: Timestamp,
    /// What the calls cost that were still in flight; `None` until they have ended.
    pub unused_calls_cost: Option<MicroUsd>,
}

/// Keeps polls and ballots.
#[async_trait]
pub trait PollStore: Send + Sync {
    /// Opens a poll, leases it and takes its hold, in one transaction that survives a power cut.
    /// The hold takes the lesser of `at_most` and what is available;
    /// [`StoreError::InsufficientBalance`] where less than `at_least` is.
    async fn open(&self, poll: &NewPoll, lease: &Lease) -> Result<Opened, StoreError>;

    /// Keeps ballots, all or none. Once it returns, no crash of the process loses them. A ballot of a
    /// member that has one already is a [`StoreError::Conflict`]; [`StoreError::NotFound`] where the poll
    /// is not running, so that nothing is added to what has closed.
    async fn record(&self, poll: &PollId, ballots: &[Ballot]) -> Result<(), StoreError>;

    /// Closes a running poll and, unless calls are still in flight, captures its hold, in one
    /// transaction. [`StoreError::NotFound`] where the poll is not running.
    async fn close(&self, poll: &PollId, closing: &Closing, settlement: Settlement)
    -> Result<(), StoreError>;

    /// Settles a closed poll whose calls in flight have ended: captures `capture` (never more than the
    /// hold), releases the rest and notes what the unused calls cost. `false` where it was settled.
    async fn settle(
        &self,
        poll: &PollId,
        capture: MicroUsd,
        unused: MicroUsd,
        at: Timestamp,
    ) -> Result<bool, StoreError>;

    /// A poll.
    async fn poll(&self, id: &PollId) -> Result<Option<PollRecord>, StoreError>;

    /// The ballots of a poll with a sequence number above `after`, in order.
    async fn ballots(&self, id: &PollId, after: u32) -> Result<Vec<Ballot>, StoreError>;

    /// Takes up polls that nobody works on any more: running ones, and closed ones that were never settled; both only once their lease ended before `now`. Each is leased to
    /// this worker.
    async fn adopt(&self, lease: &Lease, now: Timestamp, limit: u32) -> Result<Vec<PollRecord>, StoreError>;

    /// Renews this worker's leases on polls that run or wait to be settled; answers how many there are.
    async fn renew(&self, lease: &Lease) -> Result<u64, StoreError>;

    /// Whether the database answers.
    async fn ping(&self) -> Result<(), StoreError>;
}
