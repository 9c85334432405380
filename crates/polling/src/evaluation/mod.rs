#![doc = include_str!("README.md")]

pub mod agreement;
pub mod binomial;
pub mod choice;
pub mod constant;
pub mod draw;
pub mod effective_votes;
mod fraction;
pub mod hypergeometric;
pub mod panel;
pub mod proof;
pub mod report;
pub mod risk_coverage;
pub mod sign_test;
pub mod split;
mod votes;
pub mod weights;

pub use fraction::{Fraction, NotAFraction};
pub use votes::{Vote, Votes};
