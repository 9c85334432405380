//! Outgoing HTTP: clients made in one place, answers read as far as they may be long, nodes of chains, and URLs that
//! callers name, of which only public ones are called.

mod answers;
mod clients;
mod node;
mod targets;
mod webhooks;

pub use answers::{AnswerError, read};
pub use clients::{HttpClients, client_builder};
pub use node::{Node, NodeError, quantity};
pub use targets::{PublicTargets, TargetError};
pub use webhooks::HttpWebhooks;
