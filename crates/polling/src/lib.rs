//! What a poll is: a question, its options, the roster that votes, the ballots, the tally, when to stop,
//! and what it costs.
//!
//! Pure functions and values: no I/O, no async runtime, no clock and no randomness of their own. Callers
//! hand in the time, the seed and the answers.

pub mod ballot;
pub mod budget;
pub mod money;
pub mod options;
pub mod order;
pub mod plan;
pub mod poll_id;
pub mod question;
pub mod roster;
#[cfg(feature = "schema")]
mod schema;
pub mod stopping;
pub mod tally;
pub mod text;
pub mod threshold;
pub mod time;
