//! When a poll may stop, and how many members to ask at once: the **Bridge rule**.
//!
//! A roster of N members is asked in a uniformly random order drawn before the first call. Each member
//! has one fixed answer, an option or none; the poll's outcome is the option with strictly most votes
//! once everybody has answered. The rule stops earlier when the answers so far bound the probability
//! that this outcome differs from the present leader. The only thing assumed random is the order, so the
//! bound holds for every possible set of answers: correlated models, failures, near ties, any latencies.
//! It speaks of agreement with the full roster, never of truth.
//!
//! * [`bridge`]: the confidence of one piece of [`Evidence`], and the [`Rule`] that compares it with a
//!   threshold. Its mathematics is in `dead_heat`.
//! * [`prefix`]: the [`RollCall`] of a poll whose answers arrive in any order, and the evidence in it.
//! * [`waves`]: how many answers a stop still [`needed`] at least, and the [`Pace`] built on it.
//! * [`decision`]: [`decide`], called after every completion.
//!
//! Nothing here knows of models, prices or clocks; budgets and outcomes are decided by the callers.

pub mod bridge;
mod dead_heat;
pub mod decision;
pub mod prefix;
pub mod rule;
pub mod waves;

pub use bridge::{Evidence, MAX_ROSTER, confidence, locked, p_value};
pub use decision::{Decision, TerminationReason, decide};
pub use prefix::{Prefix, Reported, RollCall, Standing, Stop};
pub use rule::Rule;
pub use waves::{Pace, needed};
