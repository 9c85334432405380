//! Services of the kernel on a database of each engine.
//!
//! Every module lists its tests once with `on_both_engines!`; each test gets a separate database.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[macro_use]
extern crate ep_store;

mod accounts;
mod batch_worker;
mod dropped_uploads;
mod interruptions;
