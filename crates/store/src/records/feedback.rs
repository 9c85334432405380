//! Feedback of accounts on polls.

use ep_polling::poll_id::PollId;
use ep_polling::time::Timestamp;
use serde::Serialize;

use crate::ids::{FeedbackId, UserId};
use crate::row::from_row;

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

from_row!(FeedbackEntry { outcome_correct, confidence, notes, created_at });
from_row!(OwnFeedback { poll_id, entry });
