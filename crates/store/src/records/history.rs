//! The polls of an account.

use ep_polling::model_counts::ModelCounts;
use ep_polling::money::MicroUsd;
use ep_polling::poll_id::PollId;
use ep_polling::tally::Tally;
use ep_polling::time::Timestamp;

use super::StoreError;
use crate::batch_id::BatchId;
use crate::row::{Columns, FromRow};
use crate::value::DAY_MS;

/// A poll in a list, without its roster and its single votes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastPoll {
    /// The poll's id.
    pub id: PollId,
    /// The time of acceptance.
    pub created_at: Timestamp,
    /// The question.
    pub question: String,
    /// The options, in the caller's order.
    pub options: Vec<String>,
    /// True if only the owner can read the poll.
    pub private: bool,
    /// Votes per option, so far or at the end.
    pub tally: Tally,
    /// The numbers of the models that were asked. A list does not read the roster, so none is skipped.
    pub models: ModelCounts,
    /// The end; `None` while the poll runs.
    pub end: Option<PastEnd>,
}

/// The end of a listed poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PastEnd {
    /// True if a rule ended the poll; false if it was cancelled, or no process continued it in time.
    pub by_rule: bool,
    /// Time from acceptance to the close, in milliseconds.
    pub total_ms: u64,
    /// The charge to the owner. Until the poll is settled, and for unbilled polls, the known cost of its
    /// calls.
    pub cost: MicroUsd,
}

/// The totals of ended polls accepted on one day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DaySpending {
    /// Start of the day (UTC).
    pub day: Timestamp,
    /// Number of polls without rows of batches.
    pub polls: u32,
    /// Number of polls that are rows of batches.
    pub batch_rows: u32,
    /// The total cost of both: see [`PastEnd::cost`].
    pub cost: MicroUsd,
}

/// The polls of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PollScope {
    /// Polls that are no rows of batches.
    Asked,
    /// Polls of the rows of this batch.
    Batch(BatchId),
    /// All polls.
    All,
}

/// A search among the polls of an account.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PollSearch<'a> {
    /// Words that the question must contain, ignoring case.
    pub words: &'a [&'a str],
    /// True to find only running polls.
    pub running: bool,
    /// The batch of the polls; `None` for polls that are no rows of batches.
    pub batch: Option<BatchId>,
}

impl FromRow for DaySpending {
    fn from_row(columns: &mut Columns<'_>) -> Result<Self, StoreError> {
        let day: i64 = columns.get()?;
        Ok(Self {
            day: Timestamp::from_millis(day * DAY_MS),
            polls: columns.get()?,
            batch_rows: columns.get()?,
            cost: columns.get()?,
        })
    }
}
