//! Boots the service like `ep serve` and calls it as a client.
//!
//! # Writing an end-to-end test
//!
//! A test boots a [`Service`], calls its public interfaces with a [`Client`], and compares the responses. This one is from
//! `polls.rs`:
//!
//! ```ignore
//! #[tokio::test]
//! async fn private_results_require_their_owner() {
//!     let service = Setup::demo().boot().await;
//!     let owner = service.user().await;
//!     let poll = owner.poll(json!({ "private": true })).await.expect(200);
//!     let path = format!("/api/results/{}", poll["poll_id"].as_str().unwrap());
//!     let reply = owner.get(&path).await;
//!     assert_eq!(reply.header("cache-control"), "no-store");
//!     reply.expect(200);
//!     service.anonymous().get(&path).await.refused(404);
//!     service.user().await.get(&path).await.refused(404);
//! }
//! ```
//!
//! - **Setup.** [`Setup::default`] has fifty cooperative models, [`Setup::scripted`] models that follow a `Script`, and
//!   [`Setup::demo`] the simulated roster. `with` sets an environment variable, `on` the engine, and `seeded` a clock
//!   and randomness that the test controls. Rate limits are off unless the test sets them.
//! - **Upstream.** A [`Script`](ep_upstream::testing::Script) sets the vote, the cost and the failures of each model.
//!   `service.upstream()` returns the requests that the models got.
//! - **Callers.** `service.user()` is a new account with credit, `service.anonymous()` has no credential, and
//!   `service.cookie(user)` signs a browser in.
//! - **Responses.** `expect(status)` returns the JSON, and `refused(status)` the message of an error in the format of the
//!   interface. Both panic with the response if the status differs.
//! - **Other programs** ([`counterparts`]): facilitators, wallets, identity providers and agents' clients run as
//!   processes in Node and Python.
//! - **State.** `service.app` has the ports, for state that no interface shows. `settled_cost` waits until holds are
//!   settled, and audits the ledger.
//! - **Rules.** A test waits for a state with [`until`], which has a deadline, not for a time, and asserts no duration. Its name is a sentence that it proves.
//!   A new file is a module of `tests/it/main.rs`. `cargo it polls::` runs one module.

mod client;
mod counterparts;
mod service;
mod stdio;

pub use client::{Client, MCP_VERSION, Reply, by_rest, example, question, without_durations};
pub use counterparts::{
    AgentClient, Chain, Facilitator, IdentityProvider, OAuthClient, Payer, Stripe, Wallet, WalletLibraries,
    WebhookReceiver, node,
};
pub use ep_kernel::testing::until;
pub use service::{Engine, Service, Setup, configured, free_port};
pub use stdio::StdioServer;
