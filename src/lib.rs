//! Ensemble Poll: asks many AI models one question. Each model votes for one option, and the poll stops
//! when the confidence threshold is reached.
//!
//! The kernel (`ep-kernel`) defines polls and tools; the catalogue (`ep-tools`) holds the operations. This package
//! serves them: [`protocols`] for programs, [`web`] for people, [`payments`] for money, [`documents`] for readers of
//! both. [`app`] assembles the service. `docs/architecture.md` gives an overview.

pub mod app;
pub mod cli;
pub mod config;
pub mod documents;
pub mod http;
pub mod layout;
pub mod payments;
pub mod protocols;
pub mod site;
pub mod telemetry;
pub mod web;
