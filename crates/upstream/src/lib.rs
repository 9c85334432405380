//! Everything between a poll and OpenAI-compatible servers.
//!
//! [`Upstream`] is one such server: its model list is fetched, kept and queried by presets, and each
//! member of a roster is asked for its vote through a forced tool call, stepping down where a model or
//! server does not obey one ([`Models`](ep_kernel::ports::Models) says what a poll relies on).
//! [`Demo`] plays sixty simulated models in process, [`NotConfigured`] none at all.
//!
//! Read `voting` first: one vote from beginning to end. It rests on `chat` (the wire), `ladder` (how far
//! each model obeys), `parsing` (what an answer says), `pacer` (requests per minute) and `registry`.

mod chat;
mod client;
mod config;
mod demo;
pub mod detect;
mod ladder;
mod not_configured;
mod pacer;
mod parsing;
mod presets;
mod registry;
#[cfg(feature = "testing")]
pub mod testing;
mod upstream;
mod voting;

pub use config::{FreeLimit, SetupError, UpstreamConfig};
pub use demo::{Demo, DemoConfig};
pub use not_configured::NotConfigured;
pub use presets::BUILT_IN as BUILT_IN_PRESETS;
pub use upstream::Upstream;
