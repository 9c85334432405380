//! Ensemble Poll: asks many AI models one question. Each model votes for one option, and the poll stops
//! when the confidence threshold is reached.
//!
//! The kernel (`ep-kernel`) defines polls and tools; the catalogue (`ep-tools`) holds the
//! operations. This package holds the surfaces ([`surface`]), the documents rendered from them
//! ([`documents`]) and the wiring. `docs/architecture.md` gives an overview.

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
