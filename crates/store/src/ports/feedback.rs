//! Feedback of accounts on polls.

use async_trait::async_trait;
use ep_polling::poll_id::PollId;
use ep_polling::time::Timestamp;
use serde::Serialize;

use super::StoreError;
use crate::ids::{FeedbackId, UserId};

/// Maximum number of entries listed per poll.
pub const MAX_LISTED_FEEDBACK: u32 = 100;

/// The feedback of an account on a poll.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FeedbackEntry {
    /// True if the account considers the outcome correct.
    pub outcome_correct: Option<bool>,
    /// The account's confidence in this, from 0 to 1.
    pub confidence: Option<f64>,
    /// Free text.
    pub notes: Option<String>,
    /// The time of submission.
    pub created_at: Timestamp,
}

/// New feedback of an account on a poll.
#[derive(Debug, Clone)]
pub struct NewFeedback {
    /// The id of the entry, if this is the account's first feedback on the poll.
    pub id: FeedbackId,
    /// The poll.
    pub poll: PollId,
    /// The account.
    pub user: UserId,
    /// The feedback.
    pub entry: FeedbackEntry,
}

/// The feedback on a poll.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PollFeedback {
    /// Number of entries.
    pub total: u64,
    /// Number of entries that consider the outcome correct.
    pub correct: u64,
    /// Number of entries that consider it incorrect.
    pub incorrect: u64,
    /// The newest [`MAX_LISTED_FEEDBACK`] entries, newest first.
    pub entries: Vec<FeedbackEntry>,
}

/// An account's feedback with its poll.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OwnFeedback {
    /// The poll.
    pub poll_id: PollId,
    /// The feedback.
    #[serde(flatten)]
    pub entry: FeedbackEntry,
}

/// Stores feedback: one entry per poll and paying account. A pre-funded key gives feedback for the account
/// that funds it.
#[async_trait]
pub trait FeedbackStore: Send + Sync {
    /// Stores an entry and returns its id. Replaces an earlier entry of the account and keeps its id.
    /// Acknowledged once a power loss cannot undo it. [`StoreError::NotFound`] for an unknown account, or a
    /// poll that has not ended.
    async fn submit_feedback(&self, feedback: &NewFeedback) -> Result<FeedbackId, StoreError>;

    /// Returns the feedback on a poll.
    async fn feedback_on(&self, poll: &PollId) -> Result<PollFeedback, StoreError>;

    /// Returns an account's feedback, oldest first.
    async fn feedback_of(&self, user: UserId) -> Result<Vec<OwnFeedback>, StoreError>;
}
