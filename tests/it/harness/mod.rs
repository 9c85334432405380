//! Boots the service like `ep serve` and calls it as a client.

mod client;
mod counterparts;
mod service;
mod stdio;

pub use client::{Client, MCP_VERSION, Reply, by_rest, example, question, without_durations};
pub use counterparts::{
    AgentClient, Chain, Facilitator, IdentityProvider, OAuthClient, Payer, Stripe, Wallet, WalletLibraries,
    WebhookReceiver, node,
};
pub use service::{Engine, Service, Setup, configured, free_port};
pub use stdio::StdioServer;
