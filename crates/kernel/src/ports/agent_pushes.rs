//! Where agents want to hear of the ends of their tasks.

use std::time::Duration;

use async_trait::async_trait;

use super::{Attempted, StoreError};
use crate::caller::UserId;
use crate::webhook_url::WebhookUrl;

/// The most places at which the end of one task is told.
pub const MAX_PUSHES: u32 = 10;

/// A place at which an agent wants to hear of the end of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentPush {
    /// Its own id.
    pub id: String,
    /// The task.
    pub task: String,
    /// The id that the agent knows it by, within the task.
    pub config: String,
    /// The account.
    pub owner: UserId,
    /// Where to tell it.
    pub url: WebhookUrl,
    /// The version of the protocol in which it is told.
    pub version: String,
    /// What proves the sender to the receiver, encrypted.
    pub secrets: String,
}

/// Keeps such places, and who has been told.
#[async_trait]
pub trait AgentPushes: Send + Sync {
    /// Sets a place of a task of its owner; one of the same id is replaced, and told anew. `false` if the task has
    /// [`MAX_PUSHES`] others, or there is none.
    async fn set(&self, push: &AgentPush) -> Result<bool, StoreError>;

    /// The places of a task of this owner, by their ids.
    async fn of_task(&self, owner: UserId, task: &str) -> Result<Vec<AgentPush>, StoreError>;

    /// Forgets a place.
    async fn delete(&self, owner: UserId, task: &str, config: &str) -> Result<(), StoreError>;

    /// Takes up to `limit` places of tasks that have ended whose time has come, up to `per_account` of each account but
    /// those that are `busy`, and counts an attempt for each: gives them with the number of attempts. No one else is
    /// given them until `lasts` has passed.
    async fn due_pushes(
        &self,
        limit: u32,
        per_account: u32,
        busy: &[UserId],
        lasts: Duration,
    ) -> Result<Vec<(AgentPush, u32)>, StoreError>;

    /// Stores what became of an attempt.
    async fn push_attempted(&self, id: &str, attempted: &Attempted) -> Result<(), StoreError>;
}
