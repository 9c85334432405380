//! Boots the service as `ep serve` does, and calls it as its users do.

mod client;
mod service;
mod sessions;

pub use client::{Client, Reply, by_rest, example, question, without_durations};
pub use service::{Engine, Service, Setup, configured};
pub use sessions::NamedSessions;
