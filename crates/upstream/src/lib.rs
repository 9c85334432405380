//! Everything between a poll and OpenAI-compatible servers.
//!
//! [`Upstream`] is one such server. Its model list is fetched and cached, and presets select rosters from
//! it. Each member of a roster is asked for its vote through a forced tool call; where a model or server
//! does not support one, the request falls back to weaker forms. [`Models`](ep_kernel::ports::Models) says
//! what a poll relies on. [`Demo`] has sixty simulated models in process, [`NotConfigured`] has none.
//!
//! Read `voting` first: one vote from beginning to end. It uses `chat` (requests and responses), `fallback`
//! (which format each model supports), `parsing` (the vote in an answer), `rate_limit` and `registry`.

mod chat;
mod config;
mod demo;
pub mod detect;
mod endpoint;
mod fallback;
mod not_configured;
mod parsing;
mod presets;
mod rate_limit;
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
