//! One suite for both engines: what the ports promise, each keeps.
//!
//! Every module lists its tests once with `on_both_engines!`; each test gets a database of its own.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[macro_use]
mod site;

mod accounts;
mod ballots;
mod books;
mod connect;
mod crash;
mod holds;
mod idempotency;
mod leases;
mod ledger;
mod limiter;
mod memory;
mod polls;
