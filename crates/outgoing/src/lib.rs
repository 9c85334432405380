//! Outgoing HTTP: clients made in one place, and answers read as far as they may be long.

mod answers;
mod clients;

pub use answers::{AnswerError, read};
pub use clients::{HttpClients, client_builder};
