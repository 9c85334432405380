//! The polling domain: a question, its options, the roster that votes, the tally, and when to stop.
//!
//! **Invariant:** nothing here knows HTTP, SQL or JSON values. Voters, clock, randomness and the place
//! where ballots are recorded are handed in (see [`run`]).

pub mod ballot;
pub mod budget;
pub mod options;
pub mod order;
pub mod plan;
pub mod poll_id;
pub mod question;
pub mod roster;
pub mod run;
pub mod stopping;
pub mod tally;
pub mod text;
pub mod threshold;
