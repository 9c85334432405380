//! Feedback of accounts on polls.

use std::sync::Arc;

use crate::fault::Fault;
use crate::ports::{Clock, Entropy};
use ep_polling::poll_id::PollId;
use ep_store::{FeedbackEntry, FeedbackId, NewFeedback, OwnFeedback, PollFeedback, Store, UserId};

/// Stores and returns feedback.
pub struct Feedback {
    store: Store,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
}

impl Feedback {
    /// Creates the service on this store.
    pub fn new(store: Store, clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> Self {
        Self { store, clock, entropy }
    }

    /// Stores an account's feedback on an ended poll, and replaces earlier feedback of the account.
    pub async fn submit(
        &self,
        user: UserId,
        poll: &PollId,
        outcome_correct: Option<bool>,
        confidence: Option<f64>,
        notes: Option<String>,
    ) -> Result<FeedbackId, Fault> {
        let created_at = self.clock.now();
        let entry = FeedbackEntry { outcome_correct, confidence, notes, created_at };
        let id = FeedbackId::from_random(self.entropy.bytes());
        Ok(self.store.submit_feedback(&NewFeedback { id, poll: poll.clone(), user, entry }).await?)
    }

    /// Returns an account's feedback, oldest first.
    pub async fn of(&self, user: UserId) -> Result<Vec<OwnFeedback>, Fault> {
        Ok(self.store.feedback_of(user).await?)
    }

    /// Returns the feedback on a poll.
    pub async fn on(&self, poll: &PollId) -> Result<PollFeedback, Fault> {
        Ok(self.store.feedback_on(poll).await?)
    }
}
