//! Ensemble Poll: asks many AI models one question. Each model votes for one option, and the poll stops
//! when the confidence threshold is reached.
//!
//! The kernel (`ep-kernel`) defines polls and tools; the catalogue (`ep-tools`) holds the operations. `ep-protocols`
//! serves them to programs, and `ep-pages` to people. This package reads the settings ([`config`]), assembles and runs the
//! service ([`app`]) with its payment rails ([`payments`]), and has the commands ([`cli`]). `docs/architecture.md` gives an
//! overview.

pub mod app;
pub mod cli;
pub mod config;
pub mod payments;
pub mod telemetry;
