//! The stopping rule through its public interface: reference values, invariants, exact error rates and
//! simulated polls. Tests that take longer are in `stopping_acceptance`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod decisions;
mod digest;
mod everywhere;
mod exact;
mod guarantee;
mod invariants;
mod pass;
mod reference;
mod responses;
mod simulation;
mod unknown;
mod waves;

use ep_polling::{Evidence, Rule, Threshold};
use std::sync::Arc;

/// The thresholds of the reference tables.
pub(crate) const LEVELS: [f64; 5] = [0.5, 0.8, 0.9, 0.95, 0.99];

pub(crate) fn rule(threshold: f64) -> Arc<Rule> {
    Rule::for_threshold(Threshold::new(threshold).unwrap())
}

pub(crate) const fn evidence(leader: u32, rival: u32, remaining: u32) -> Evidence {
    Evidence { leader, rival, remaining }
}
