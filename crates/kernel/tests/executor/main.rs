//! Runs polls with scripted models, on a paused clock.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod budgets;
mod crashes;
mod deadlines;
mod explanations;
mod followers;
mod interruptions;
mod memory;
mod outcomes;
mod queue;
mod scripted;
