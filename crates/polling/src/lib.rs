#![doc = include_str!("../README.md")]

pub mod ballot;
pub mod budget;
pub mod money;
pub mod options;
pub mod order;
pub mod plan;
pub mod poll_id;
pub mod question;
pub mod reputation;
pub mod roster;
#[cfg(feature = "schema")]
mod schema;
pub mod stopping;
pub mod tally;
pub mod text;
pub mod threshold;
pub mod time;
