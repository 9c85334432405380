//! Push notification configs of agent tasks.

use std::time::Duration;

use async_trait::async_trait;

use super::{AttemptOutcome, StoreError};
use crate::ids::UserId;
use crate::webhook_url::WebhookUrl;

/// Maximum number of push notification configs of one task.
pub const MAX_PUSHES: u32 = 10;

/// A push notification config of an agent task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentPush {
    /// Its unique id.
    pub id: String,
    /// The task.
    pub task: String,
    /// The config id chosen by the agent, unique within the task.
    pub config: String,
    /// The account.
    pub owner: UserId,
    /// The push URL.
    pub url: WebhookUrl,
    /// The protocol version of the payload.
    pub version: String,
    /// The credentials that prove the sender to the receiver, encrypted.
    pub secrets: String,
}

/// Stores push notification configs and their delivery state.
#[async_trait]
pub trait AgentPushes: Send + Sync {
    /// Stores a config for a task of its owner. Replaces a config with the same id, which is notified again.
    /// Returns `false` if the task already has [`MAX_PUSHES`] other configs or does not exist.
    async fn set(&self, push: &AgentPush) -> Result<bool, StoreError>;

    /// Returns the configs of a task of this owner, ordered by id.
    async fn of_task(&self, owner: UserId, task: &str) -> Result<Vec<AgentPush>, StoreError>;

    /// Deletes a config.
    async fn delete(&self, owner: UserId, task: &str, config: &str) -> Result<(), StoreError>;

    /// Claims up to `limit` due configs of ended tasks, at most `per_account` per account and none of `busy`
    /// accounts. Counts an attempt for each and returns it with the number of attempts. Nobody else can claim
    /// them until `lasts` has passed.
    async fn due_pushes(
        &self,
        limit: u32,
        per_account: u32,
        busy: &[UserId],
        lasts: Duration,
    ) -> Result<Vec<(AgentPush, u32)>, StoreError>;

    /// Stores the outcome of an attempt.
    async fn push_attempted(&self, id: &str, attempted: &AttemptOutcome) -> Result<(), StoreError>;
}
