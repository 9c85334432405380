//! The contract of the handles, tested on both engines.
//!
//! Every module lists its tests once with `on_both_engines!`; each test gets a separate database.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "all spawned tasks are awaited")]

#[macro_use]
extern crate ep_store;

mod account_data;
mod agent_pushes;
mod agent_tasks;
mod await_points;
mod backup;
mod ballots;
mod batch_money;
mod batches;
mod changes;
mod checkouts;
mod connect;
mod constraints;
mod crash;
mod credits;
mod deposits;
mod erased_batches;
mod evaluations;
mod file_storage;
mod health;
mod history;
mod holds;
mod idempotency;
mod key_money;
mod keys;
mod leases;
mod ledger_model;
mod limiter;
mod lists;
mod panels;
mod polls;
mod random_changes;
mod reputation;
mod rosters;
mod sessions;
mod upstream_cache;
mod users;
mod webhooks;
