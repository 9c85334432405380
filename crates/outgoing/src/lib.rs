//! Outgoing HTTP: clients made in one place, answers read as far as they may be long, and nodes of chains.

mod answers;
mod clients;
mod node;

pub use answers::{AnswerError, read};
pub use clients::{HttpClients, client_builder};
pub use node::{Node, NodeError, quantity};
