//! When a poll may stop, and how many members to ask at once: the **Bridge rule**.
//!
//! A roster of N members is asked in a uniformly random order drawn before the first call. Each member has one
//! fixed answer, an option or none. The poll's outcome is the option with strictly the most votes once everybody
//! has answered. The rule stops earlier, when it is unlikely enough that the present leader is not that outcome.
//! Only the order is assumed to be random, so the guarantee holds for every possible set of answers: correlated
//! models, failures, near ties, any latencies. It is about agreement with the full roster, never about truth.
//!
//! * [`Evidence`] and its [`p_value`]: the confidence, computed exactly (`bridge`, `dead_heat`).
//! * [`Rule`]: the same compared with one threshold, as a table look-up (`rule`).
//! * [`Responses`]: who was asked, what was answered, and the evidence in it (`prefix`).
//! * [`answers_needed`] and [`Pace`]: how many calls to keep in flight (`waves`).
//! * [`decide`]: called after every answer; whether the poll ends, and why (`decision`).
//!
//! ```
//! use ep_polling::stopping::{Pace, Responses, Rule, decide, answers_needed};
//! use ep_polling::threshold::Threshold;
//!
//! let rule = Rule::for_threshold(Threshold::DEFAULT);
//! let mut responses = Responses::new(2, 25);
//! let decision = loop {
//!     if let Some(decision) = decide(&responses, &rule, false) {
//!         break decision;
//!     }
//!     let standing = responses.overall().evidence;
//!     let calls = Pace::Thrifty.in_flight(answers_needed(&rule, standing), standing.remaining);
//!     while responses.in_flight() < calls as usize && responses.launch().is_some() {}
//!     let position = responses.completed(); // In this example all answer in order, and choose the same.
//!     responses.record(position, Some(0));
//! };
//! assert_eq!((responses.launched(), decision.option), (6, Some(0)));
//! assert!(decision.confidence() >= 0.95);
//! ```
//!
//! Nothing here depends on models, prices or clocks.

mod bridge;
mod dead_heat;
mod decision;
mod prefix;
mod rule;
mod waves;

pub use bridge::{Evidence, MAX_ROSTER, confidence, locked, p_value};
pub use decision::{Decision, TerminationReason, decide};
pub use prefix::{HighestConfidence, Prefix, Responses, Standing, Stop};
pub use rule::Rule;
pub use waves::{Pace, answers_needed};
