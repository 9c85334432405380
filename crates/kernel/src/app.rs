//! The running service, put together.

use std::sync::Arc;

use crate::accounts::Accounts;
use crate::ctx::ToolPorts;
use crate::guard::Guard;
use crate::idempotency::Idempotency;
use crate::ports::{AgentPushes, AgentTasks, Entropy, WebhookSender};
use crate::sealing::Sealer;
use crate::sign_in::SignUps;
use crate::tasks::Tasks;

/// The service: its ports, its guard and its background work.
pub struct App {
    /// What operations may reach.
    pub ports: Arc<ToolPorts>,
    /// Identifies callers, checks access and counts requests.
    pub guard: Guard,
    /// Tasks of agents.
    pub agent_tasks: Arc<dyn AgentTasks>,
    /// Where agents hear of the ends of their tasks.
    pub agent_pushes: Pushes,
    /// Replies to idempotent requests.
    pub idempotency: Idempotency,
    /// Encrypts what clients send back when they answer a question of ours.
    pub request_states: Sealer,
    /// Finds or makes the accounts of those who sign in.
    pub sign_ups: Arc<SignUps>,
    /// Users and their money.
    pub accounts: Arc<Accounts>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
    /// Background work.
    pub tasks: Tasks,
}

/// What telling agents of the ends of their tasks needs.
pub struct Pushes {
    /// The places.
    pub store: Arc<dyn AgentPushes>,
    /// Checks and calls them.
    pub sender: Arc<dyn WebhookSender>,
    /// Encrypts what proves the sender to them.
    pub sealer: Sealer,
}
