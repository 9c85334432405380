#![doc = include_str!("../README.md")]

pub mod asking;
pub mod decision;
pub mod entry;
pub mod evaluation;
mod failed_rows;
pub mod files;
pub mod gold;
pub mod journal;
pub mod openings;
pub mod operations;
pub mod options_message;
pub mod proof;
pub mod question;
pub mod registry;
pub mod report;
pub mod review;
pub mod rows;
pub mod settings;

/// Receives a line for a person. It can have texts of others, with control characters.
pub type Note<'n> = &'n mut dyn FnMut(&str);
