//! Sums over the ballots of ended polls, and the minutes in which the service ran.

mod ended_polls;
pub(crate) mod feedback;
mod records;
pub(crate) mod sql;
pub(crate) mod transactions;

pub use self::feedback::{FeedbackEntry, MAX_LISTED_FEEDBACK, NewFeedback, OwnFeedback, PollFeedback};
pub use self::records::{Heartbeats, minute};
