//! When a poll may stop, and how many members to ask at once: the **Bridge rule**.
//!
//! A roster of N members is asked in a uniformly random order drawn before the first call. Each member has
//! one fixed answer, an option or none; a call that fails leaves it unknown. The poll's outcome is the option
//! with strictly the most votes once everybody has answered. The rule stops earlier, when it is unlikely enough
//! that the present leader is not that outcome. Only the order is assumed to be random, so the guarantee holds
//! for every possible set of answers: correlated models, failures of any pattern, near ties, any latencies. It
//! is about agreement with the full roster, never about truth.
//!
//! * [`Evidence`] and its [`p_value`]: the confidence, computed exactly (`bridge`, `dead_heat`).
//! * [`Rule`]: the same compared with one threshold, as a table look-up (`rule`).
//! * [`Responses`]: who was asked, what was answered, and the evidence in it (`prefix`).
//! * [`answers_needed`] and [`Pace`]: how many calls to keep in flight (`waves`).
//! * [`decide`]: called after every answer; whether the poll ends, and why (`decision`).
//!
//! The [crate's documentation](crate) shows the loop around them, and states the guarantee in full.
//!
//! Nothing here depends on models, prices or clocks.

mod bridge;
mod dead_heat;
mod decision;
mod prefix;
mod rule;
mod waves;

pub use bridge::{Evidence, confidence, locked, p_value};
pub use dead_heat::MAX_ROSTER;
pub use decision::{Decision, TerminationReason, decide};
pub use prefix::{FinalAnswer, HighestConfidence, Prefix, Responses, Standing, Stop};
pub use rule::Rule;
pub use waves::{Pace, answers_needed};
