//! Push notification configs of agent tasks.

use crate::ids::UserId;
use crate::row::from_row;
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

from_row!(AgentPush { id, task, config, owner, url, version, secrets });
