//! When a poll may stop, and how many members to ask at once: the **Bridge rule**.
//!
//! A roster of N members is asked in a uniformly random order drawn before the first call. Each member
//! has one fixed answer, an option or none; the poll's outcome is the option with strictly most votes
//! once everybody has answered. The rule stops earlier when the answers so far bound the probability
//! that this outcome differs from the present leader. The only thing assumed random is the order, so the
//! bound holds for every possible set of answers: correlated models, failures, near ties, any latencies.
//! It speaks of agreement with the full roster, never of truth.
//!
//! * [`Evidence`] and its [`p_value`]: the confidence, computed exactly (`bridge`, `dead_heat`).
//! * [`Rule`]: the same compared with one threshold, at the price of a table look-up (`rule`).
//! * [`Responses`]: who was asked and what arrived, in any order, and the evidence in it (`prefix`).
//! * [`needed`] and [`Pace`]: how many calls to keep in flight (`waves`).
//! * [`decide`]: called after every completion; whether the poll ends, and why (`decision`).
//!
//! ```
//! use ep_polling::stopping::{Pace, Responses, Rule, decide, needed};
//! use ep_polling::threshold::Threshold;
//!
//! let rule = Rule::for_threshold(Threshold::DEFAULT);
//! let mut responses = Responses::new(2, 25);
//! let decision = loop {
//!     if let Some(decision) = decide(&responses, &rule, false) {
//!         break decision;
//!     }
//!     let standing = responses.overall().evidence;
//!     let calls = Pace::Thrifty.in_flight(needed(&rule, standing), standing.remaining);
//!     while responses.in_flight() < calls as usize && responses.launch().is_some() {}
//!     let position = responses.completed(); // Here everybody answers in turn, and alike.
//!     responses.record(position, Some(0));
//! };
//! assert_eq!((responses.launched(), decision.option), (6, Some(0)));
//! assert!(decision.confidence() >= 0.95);
//! ```
//!
//! Nothing here knows of models, prices or clocks; budgets and outcomes are decided by the callers.

mod bridge;
mod dead_heat;
mod decision;
mod prefix;
mod rule;
mod waves;

pub use bridge::{Evidence, MAX_ROSTER, confidence, locked, p_value};
pub use decision::{Decision, TerminationReason, decide};
pub use prefix::{Prefix, Reported, Responses, Standing, Stop};
pub use rule::Rule;
pub use waves::{Pace, needed};
