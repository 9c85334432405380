//! The money of accounts.

pub(crate) mod holds;
mod records;
pub(crate) mod transactions;
pub(crate) mod transfers;

pub use self::records::{Audit, Balance, CreditOutcome};
