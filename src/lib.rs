//! Ensemble Poll: asks many AI models one question, each votes for one option, and the poll stops as
//! soon as the confidence threshold is reached.
//!
//! The kernel (`ep-kernel`) knows what a poll and a tool are; the catalogue (`ep-tools`) holds the
//! operations; this package holds the surfaces ([`surface`]), the documents rendered from them
//! ([`documents`]) and the wiring. `docs/architecture.md` is the bird's-eye view.

pub mod clock;
pub mod config;
pub mod connections;
pub mod documents;
pub mod limiter;
pub mod pages;
pub mod server;
pub mod site;
pub mod surface;
pub mod telemetry;
mod unread;
pub mod wiring;
