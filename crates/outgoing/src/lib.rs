//! Outgoing HTTP: the factory of clients, length-limited responses, Ethereum nodes, and requests to URLs
//! named by callers, which must be public.

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
