//! Votes from OpenAI-compatible servers.
//!
//! [`Upstream`] is one such server. It fetches and caches the model list, and presets select rosters from it.
//! A forced tool call asks each roster member for its vote. If a model or server does not support tool calls,
//! the request falls back to weaker forms. Decision models, which do not chat, are asked through decision APIs.
//! [`Models`](ep_kernel::ports::Models) documents the guarantees for polls. [`Demo`] has sixty in-process simulated models, [`NotConfigured`] has none.
//!
//! Read `voting` first: it follows one vote from start to finish. It uses `calls` (the time and cost of requests), `chat`
//! (requests and responses), `fallback` (the format for each model), `parsing` (the vote in a response), `rate_limit`,
//! `transport` and `registry`. `decisions` does the same for decision models.

mod availability;
mod calls;
mod chat;
mod config;
mod decision_rules;
mod decisions;
mod demo;
pub mod detect;
mod endpoint;
mod fallback;
mod fallback_level;
mod not_configured;
mod parsing;
mod pattern;
mod presets;
mod rate_limit;
mod registry;
mod request_profile;
mod stored_profiles;
#[cfg(feature = "testing")]
pub mod testing;
mod transport;
mod upstream;
mod voting;
mod windows;
mod writing;

pub use config::{FreeLimit, SetupError, UpstreamConfig};
pub use decision_rules::{DecisionRule, DecisionRuleError, Dialect};
pub use demo::{Demo, DemoConfig};
pub use not_configured::NotConfigured;
pub use presets::BUILT_IN as BUILT_IN_PRESETS;
pub use upstream::Upstream;
