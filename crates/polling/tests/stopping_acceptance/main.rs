//! The acceptance of the stopping rule: exact error rates of every roster, exact numbers of calls, a grid of simulated
//! polls, and recorded votes.
//!
//! The ignored tests, `data_…`, read data of others from the folders in `EP_STOPPING_DATA` and `EP_VOTES_DATA`:
//!
//! ```sh
//! cargo test --test stopping_acceptance -- --ignored
//! ```
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod efficiency;
mod errors;
#[path = "../stopping/everywhere.rs"]
mod everywhere;
#[path = "../stopping/exact.rs"]
mod exact;
mod grid;
#[path = "../../examples/votes/mod.rs"]
mod recorded;
#[path = "../stopping/simulation.rs"]
mod simulation;
mod urn;
mod votes;

use ep_polling::{Evidence, Rule, Threshold};
use std::fs::File;
use std::sync::Arc;

pub(crate) const LEVELS: [f64; 5] = [0.5, 0.8, 0.9, 0.95, 0.99];

pub(crate) fn rule(threshold: f64) -> Arc<Rule> {
    Rule::for_threshold(Threshold::new(threshold).unwrap())
}

pub(crate) const fn evidence(leader: u32, rival: u32, remaining: u32) -> Evidence {
    Evidence { leader, rival, remaining }
}

/// Opens a file in the folder named by an environment variable.
pub(crate) fn data(variable: &str, file: &str) -> File {
    let folder = std::env::var(variable)
        .unwrap_or_else(|_| panic!("{variable} must name the folder with {file}; or run with --skip data_"));
    let path = std::path::Path::new(&folder).join(file);
    File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
