//! Outgoing HTTP: the factory of clients, length-limited responses, Ethereum nodes, and requests to URLs
//! named by callers, which must be public.

mod clients;
mod decoding;
mod node;
mod responses;
mod targets;
mod tls;
mod webhooks;

pub use clients::{HttpClients, client_builder};
pub use node::{Node, NodeError, quantity};
pub use responses::{ResponseError, read, read_decoded};
pub use targets::{PublicTargets, TargetError};
pub use webhooks::HttpWebhooks;
