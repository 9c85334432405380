//! The polling domain: a question, its options, the roster that votes, the tally, and when to stop.

pub mod stopping;
pub mod threshold;
