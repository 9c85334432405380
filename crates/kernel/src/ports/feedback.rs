//! What accounts say of polls.

use async_trait::async_trait;
use serde::Serialize;

use super::StoreError;
use crate::caller::{FeedbackId, UserId};
use ep_polling::poll_id::PollId;
use ep_polling::time::Timestamp;

/// The most entries that are listed of one poll.
pub const MAX_LISTED_FEEDBACK: u32 = 100;

/// What an account says of a poll.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FeedbackEntry {
    /// Whether the outcome was correct, as the account says.
    pub outcome_correct: Option<bool>,
    /// How sure it is of that, from 0 to 1.
    pub confidence: Option<f64>,
    /// Anything else.
    pub notes: Option<String>,
    /// When it was said.
    pub created_at: Timestamp,
}

/// What an account is to say of a poll.
#[derive(Debug, Clone)]
pub struct NewFeedback {
    /// The id of the entry, if the account has not said anything of this poll before.
    pub id: FeedbackId,
    /// Of which poll.
    pub poll: PollId,
    /// Who says it.
    pub user: UserId,
    /// What.
    pub entry: FeedbackEntry,
}

/// What accounts say of a poll.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PollFeedback {
    /// How many entries there are.
    pub total: u64,
    /// How many of them say that the outcome was correct.
    pub correct: u64,
    /// How many say that it was incorrect.
    pub incorrect: u64,
    /// The newest [`MAX_LISTED_FEEDBACK`] entries, newest first.
    pub entries: Vec<FeedbackEntry>,
}

/// What an account has said of one of the polls.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OwnFeedback {
    /// The poll.
    pub poll_id: PollId,
    /// What.
    #[serde(flatten)]
    pub entry: FeedbackEntry,
}

/// Keeps what accounts say of polls: one entry for each poll and each account that pays, so that a pre-funded key speaks
/// for the account that funds it.
#[async_trait]
pub trait FeedbackStore: Send + Sync {
    /// Stores an entry, in the place of an earlier one, whose id it keeps; returns its id. Acknowledged once a power loss
    /// cannot undo it. [`StoreError::NotFound`] for an unknown account, and for a poll that has not ended.
    async fn submit_feedback(&self, feedback: &NewFeedback) -> Result<FeedbackId, StoreError>;

    /// What accounts say of a poll.
    async fn feedback_on(&self, poll: &PollId) -> Result<PollFeedback, StoreError>;

    /// What an account has said, oldest first.
    async fn feedback_of(&self, user: UserId) -> Result<Vec<OwnFeedback>, StoreError>;
}
