//! What agents sent to open polls.

use async_trait::async_trait;

use super::StoreError;
use crate::caller::UserId;
use ep_polling::poll_id::PollId;

/// Keeps the message with which an agent opened a poll, for protocols whose tasks show it again.
#[async_trait]
pub trait AgentMessages: Send + Sync {
    /// Keeps a message, as JSON, unless the poll has one or does not exist. Acknowledged once a crash of the
    /// process cannot undo it.
    async fn keep(&self, poll: &PollId, message: &str) -> Result<(), StoreError>;

    /// The message kept for a poll of this owner.
    async fn kept(&self, poll: &PollId, owner: UserId) -> Result<Option<String>, StoreError>;
}
