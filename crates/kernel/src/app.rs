//! The assembled service.

use std::sync::Arc;

use crate::accounts::Accounts;
use crate::ctx::ToolPorts;
use crate::guard::Guard;
use crate::idempotency::Idempotency;
use crate::ports::WebhookSender;
use crate::sealing::Sealer;
use crate::sign_in::SignUps;
use crate::tasks::Tasks;

/// The service: its ports, its guard and its background work.
pub struct App {
    /// The ports of operations.
    pub ports: Arc<ToolPorts>,
    /// Identifies callers, checks access and counts requests.
    pub guard: Guard,
    /// Push notifications about tasks of agents.
    pub agent_pushes: Pushes,
    /// Replies to idempotent requests.
    pub idempotency: Idempotency,
    /// Encrypts the state that clients return with the response to an elicitation.
    pub request_states: Sealer,
    /// Finds or creates accounts at sign-in.
    pub sign_ups: Arc<SignUps>,
    /// Users and their money.
    pub accounts: Arc<Accounts>,
    /// Background work.
    pub tasks: Tasks,
}

/// Dependencies of push notifications to agents.
pub struct Pushes {
    /// Validates and calls push URLs.
    pub sender: Arc<dyn WebhookSender>,
    /// Encrypts the credentials of push notifications.
    pub sealer: Sealer,
}
