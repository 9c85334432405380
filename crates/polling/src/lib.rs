#![doc = include_str!("../README.md")]

pub mod agreement;
pub mod apportion;
pub mod ballot;
pub mod budget;
pub mod calibration;
pub mod choices;
pub mod contested;
pub mod counted;
pub mod dispatch;
pub mod evaluation;
pub mod explainers;
pub mod explanation;
mod foreign_text;
pub mod model_counts;
pub mod money;
pub mod no_answer;
pub mod options;
pub mod order;
pub mod panel;
pub mod plan;
pub mod poll_id;
pub mod probabilities;
pub mod question;
pub mod reputation;
pub mod roster;
pub mod scale;
pub mod scale_result;
#[cfg(feature = "schema")]
pub mod schema;
pub mod stopping;
pub mod tally;
pub mod text;
pub mod threshold;
pub mod tie_rule;
pub mod time;
mod words;
