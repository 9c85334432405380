//! The polls that an account has asked.

use async_trait::async_trait;

use super::StoreError;
use crate::caller::UserId;
use ep_polling::money::MicroUsd;
use ep_polling::poll_id::PollId;
use ep_polling::tally::Tally;
use ep_polling::time::Timestamp;

/// A poll as lists show it, without its roster and its single votes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastPoll {
    /// Its id.
    pub id: PollId,
    /// When it was accepted.
    pub created_at: Timestamp,
    /// The question.
    pub question: String,
    /// The options, in the caller's order.
    pub options: Vec<String>,
    /// Votes per option, so far or in the end.
    pub tally: Tally,
    /// Models that voted, gave no vote or could not be heard.
    pub answered: u32,
    /// How it ended; `None` while it runs.
    pub end: Option<PastEnd>,
}

/// How a listed poll ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PastEnd {
    /// From acceptance to the close, in milliseconds.
    pub total_ms: u64,
    /// What its owner was charged; until that is settled, and where nobody is charged, what its calls cost as
    /// far as that is known.
    pub cost: MicroUsd,
}

/// What the polls of one day came to that have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DaySpending {
    /// When the day begins (UTC).
    pub day: Timestamp,
    /// How many were accepted on it.
    pub polls: u32,
    /// What they cost: see [`PastEnd::cost`].
    pub cost: MicroUsd,
}

/// Lists polls.
#[async_trait]
pub trait PollHistory: Send + Sync {
    /// Up to `limit` polls of this user, newest first, after `offset` newer ones.
    async fn polls_of(&self, user: UserId, limit: u32, offset: u32) -> Result<Vec<PastPoll>, StoreError>;

    /// Up to `limit` polls of this user, newest first, that come after this one in the list; from the newest on without
    /// one.
    async fn polls_after(
        &self,
        user: UserId,
        limit: u32,
        after: Option<(Timestamp, &PollId)>,
    ) -> Result<Vec<PastPoll>, StoreError>;

    /// The same as [`polls_of`](Self::polls_of), of the polls alone whose question contains each of these words, in
    /// whatever case; where `running`, of those alone that run.
    async fn find_polls(
        &self,
        user: UserId,
        words: &[&str],
        running: bool,
        limit: u32,
        offset: u32,
    ) -> Result<Vec<PastPoll>, StoreError>;

    /// What this user's polls came to that were accepted since then, by day, oldest first; days without any are left out.
    async fn spending(&self, user: UserId, since: Timestamp) -> Result<Vec<DaySpending>, StoreError>;
}
