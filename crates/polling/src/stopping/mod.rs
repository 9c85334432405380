//! The **Bridge rule**: when a poll may stop, and how many members to ask at once.
//!
//! A roster of N members is asked in a uniformly random order drawn before the first call. Each member has
//! one fixed response: an option, or none. A failed call leaves it unknown. The poll's outcome is the option
//! with strictly the most votes once every member has responded. The rule stops earlier, once the current
//! leader is unlikely to differ from that outcome. Only the order is assumed to be random, so the guarantee
//! holds for every possible set of responses: correlated models, failures of any pattern, near ties, any
//! latencies. It covers agreement with the full roster, not truth.
//!
//! * [`Evidence`] and its [`p_value`]: the confidence, computed exactly (`bridge`, `dead_heat`).
//! * [`Rule`]: the same comparison for one threshold, as a table look-up (`rule`).
//! * [`Responses`]: the members asked, their responses, and the resulting evidence (`prefix`).
//! * [`responses_needed`] and [`Pace`]: the number of calls to keep in flight (`waves`).
//! * [`decide`]: the decision after every response, with its reason (`decision`).
//!
//! The [crate's documentation](crate) shows a complete loop and states the guarantee in full.
//!
//! This module does not depend on models, prices or clocks.

mod bridge;
mod dead_heat;
mod decision;
mod prefix;
mod rule;
mod waves;

pub use bridge::{Evidence, confidence, locked, p_value};
pub use dead_heat::MAX_ROSTER;
pub use decision::{Decision, TerminationReason, decide};
pub use prefix::{FinalResponse, HighestConfidence, Prefix, Responses, Standing, Stop};
pub use rule::Rule;
pub use waves::{Pace, responses_needed};
