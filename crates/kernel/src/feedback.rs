//! What accounts say of polls.

use std::sync::Arc;

use crate::caller::{FeedbackId, UserId};
use crate::fault::Fault;
use crate::ports::{Clock, Entropy, FeedbackEntry, FeedbackStore, NewFeedback, OwnFeedback, PollFeedback};
use ep_polling::poll_id::PollId;

/// Takes and gives feedback.
pub struct Feedback {
    store: Arc<dyn FeedbackStore>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
}

impl Feedback {
    /// With this store.
    pub fn new(store: Arc<dyn FeedbackStore>, clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> Self {
        Self { store, clock, entropy }
    }

    /// Stores what an account says of a poll that has ended, in the place of what it has said before.
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

    /// What an account has said, oldest first.
    pub async fn of(&self, user: UserId) -> Result<Vec<OwnFeedback>, Fault> {
        Ok(self.store.feedback_of(user).await?)
    }

    /// What accounts say of a poll.
    pub async fn on(&self, poll: &PollId) -> Result<PollFeedback, Fault> {
        Ok(self.store.feedback_on(poll).await?)
    }
}
